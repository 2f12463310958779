// An exercise on the page: its answer is kept, run and checked, and goes into the notebook.
import { fill } from "./notebook.js";
import { run } from "./python.js";
import { save } from "./save.js";
import { get, set } from "./store.js";
import { words } from "./words.js";

const script = document.currentScript.src;

const near = new IntersectionObserver(
  (entries) => entries.filter((entry) => entry.isIntersecting).forEach(({ target }) => edit(target)),
  { rootMargin: "300px" },
);

async function edit(area) {
  near.unobserve(area);
  const { upgrade } = await import(new URL("editor.js", script));
  upgrade(area);
}

function paragraph(text) {
  const element = document.createElement("p");
  element.textContent = text;
  return element;
}

function printout(text) {
  const element = document.createElement("pre");
  element.textContent = text;
  element.tabIndex = 0;
  element.setAttribute("aria-label", words.printed);
  return [paragraph(`${words.printed}:`), element];
}

function desk(box) {
  const name = box.dataset.exercise;
  const [chapter] = name.split(".");
  const part = (kind) => box.querySelector(`.exercise-${kind}`);
  const [area, verdict, notebook] = ["answer", "verdict", "notebook"].map(part);
  const starter = area.value;
  const say = (...what) => verdict.replaceChildren(...what);
  let busy = false;

  const own = get(`answer:${name}`);
  if (own !== null) area.value = own;
  const keep = () => {
    const text = area.value === starter ? null : area.value;
    if (!set(`answer:${name}`, text)) say(paragraph(words.unkept));
  };
  area.addEventListener("input", keep);
  area.addEventListener("change", keep);

  const obstacle = location.protocol === "file:" ? words.fromFile : !PYTHON.size && words.noNumpy;
  part("run").addEventListener("click", async () => {
    if (obstacle) return say(paragraph(obstacle));
    if (busy) return;
    busy = true;
    const outcome = await run(name, area.value, (state) =>
      say(paragraph(state === "loading" ? words.loading(Math.ceil(PYTHON.size / 1e6)) : words.running)),
    );
    busy = false;
    if (!outcome.verdict) {
      const [[kind, detail]] = Object.entries(outcome);
      return say(paragraph(words[kind](detail)));
    }
    const { html, passed, printed } = outcome.verdict;
    verdict.innerHTML = html;
    if (printed) verdict.append(...printout(printed));
    if (verdict.scrollWidth > verdict.clientWidth) verdict.tabIndex = 0; // for the arrow keys
    if (passed) document.dispatchEvent(new CustomEvent("solved", { detail: name }));
  });

  part("reset").addEventListener("click", () => {
    if (area.value === starter || !confirm(words.sure)) return;
    area.value = starter;
    area.dispatchEvent(new Event("change"));
    say();
  });

  const tips = [...box.parentElement.querySelectorAll(".exercise-tips details")];
  const next = () => tips.find((tip) => !tip.open);
  part("hint").addEventListener("click", () => {
    const tip = next();
    if (tip) tip.open = true;
  });
  tips.forEach((tip) =>
    tip.addEventListener("toggle", () => part("hint").setAttribute("aria-disabled", !next())),
  );

  notebook.addEventListener("click", async (event) => {
    if (!event.isTrusted) return; // our own click below
    event.preventDefault();
    try {
      const answer = (id) => (`${chapter}.${id}` === name ? area.value : get(`answer:${chapter}.${id}`));
      const blank = await (await fetch(notebook.href)).json();
      const text = JSON.stringify(fill(blank, answer), null, 1);
      save(text, `${chapter}.ipynb`);
    } catch {
      say(paragraph(words.bareNotebook));
      notebook.click();
    }
  });

  if (location.protocol !== "file:") near.observe(area);
}

document.querySelectorAll(".exercise-desk").forEach(desk);
