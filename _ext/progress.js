// Shows which exercises are solved, beside the contents of every page and on the landing page.
import { add, fromText, solved, today, toText } from "./exercise/record.js";
import { save } from "./exercise/save.js";
import { words } from "./exercise/words.js";

const chapters = JSON.parse(document.currentScript.dataset.exercises);
const record = document.querySelector(".progress-record");

// A place for the count in each link of the contents to a chapter with exercises.
const counts = [...document.querySelectorAll(".bd-sidebar-primary a")].flatMap((link) => {
  const [, chapter] = link.pathname.match(/\/chapters\/(\w+)\.html$/) ?? [];
  if (!(chapter in chapters)) return [];
  const count = link.appendChild(document.createElement("span"));
  count.className = "progress-count";
  return [[count, chapters[chapter]]];
});

function show() {
  const done = solved();
  const number = (names) => names.filter((name) => name in done).length;
  for (const [count, names] of counts) {
    count.textContent = ` ${number(names)}/${names.length}`;
    count.appendChild(document.createElement("span")).textContent = ` ${words.solved}`;
  }
  if (!record) return;
  const all = Object.values(chapters).flat();
  record.querySelector(".progress-sum").textContent = words.sum(number(all), all.length);
  for (const item of record.querySelectorAll("[data-exercise]")) {
    const mark = item.dataset.exercise in done ? `✓ ${words.solved}` : "";
    item.querySelector(".progress-mark").textContent = mark;
  }
}

function offerFiles() {
  const [output, input, file] = record.querySelectorAll("button, input");
  const said = record.querySelector(".progress-said");
  output.addEventListener("click", () => save(toText(solved()), words.file));
  input.addEventListener("click", () => file.click());
  file.addEventListener("change", async () => {
    try {
      const names = fromText(await file.files[0].text());
      said.textContent = add(names) ? words.added(Object.keys(names).length) : words.unkept;
    } catch {
      said.textContent = words.foreign(file.files[0].name);
    }
    file.value = "";
    show();
  });
}

document.addEventListener("solved", ({ detail: name }) => {
  add({ [name]: today() });
  show();
});
addEventListener("storage", show); // solved in another tab
show();
if (record) offerFiles();
