// Search: the theme opens the dialog; from then on each word typed is looked up in the index.
// A scope of its own: scripts of a page that are no modules share their names.
(() => {
  const dialog = document.getElementById("pst-search-dialog");
  const field = dialog.querySelector("input");
  const list = dialog.querySelector(".search-results");
  const status = dialog.querySelector("[role=status]");
  const words = dialog.querySelector("form").dataset;
  const root = new URL(document.documentElement.dataset.content_root, location.href).href;

  const han = /(?<=\p{Script=Han})(?=\p{Script=Han})/gu;
  const spaced = /(?<=\p{Script=Han}(?:<\/mark>)?) (?=(?:<mark>)?[\p{Script=Han}\p{P}])/gu;

  // The index has a space after each Chinese character; a term in quotes is found as it stands.
  const question = (text) =>
    text.replaceAll(/\p{Script=Han}{2,}/gu, (term) => `"${term.replaceAll(han, " ")}"`);

  // What Pagefind returns is text of our own pages, escaped, with the found words marked.
  function item({ url, title, excerpt }) {
    const [entry, link, text] = ["li", "a", "p"].map((tag) => document.createElement(tag));
    link.href = url;
    link.textContent = title;
    text.innerHTML = excerpt.replaceAll(spaced, "");
    entry.append(link, text);
    return entry;
  }

  // Of a page the three sections that have most of the words, or have them in their heading.
  const weight = ({ weighted_locations: found }) =>
    found.reduce((sum, { balanced_score }) => sum + balanced_score, 0);
  const sections = ({ meta, sub_results }) =>
    sub_results
      .sort((a, b) => weight(b) - weight(a))
      .slice(0, 3)
      .map(({ url, title, excerpt }) => ({
        url,
        title: title === meta.title ? title : `${meta.title}: ${title}`,
        excerpt,
      }));

  let index;
  async function load() {
    index = await import(`${root}pagefind/pagefind.js`);
    await index.options({ baseUrl: root, excerptLength: 20 });
    await index.init();
  }

  let turn = 0;
  async function search() {
    const mine = (turn += 1);
    const late = () => mine !== turn; // the reader typed on
    const text = field.value.trim();
    await new Promise((done) => setTimeout(done, 150));
    if (late()) return;
    const { results } = text ? await index.search(question(text)) : { results: [] };
    const pages = await Promise.all(results.slice(0, 8).map((result) => result.data()));
    if (late()) return;
    list.replaceChildren(...pages.flatMap(sections).map(item));
    status.textContent = text && !pages.length ? words.none : "";
  }

  let loading;
  field.addEventListener("focus", () => {
    loading ??= load().catch(() => {
      status.textContent = words.unserved;
    });
  });
  field.addEventListener("input", () => loading.then(() => index && search()));

  // Enter goes to the first result, the arrows walk through all.
  dialog.querySelector("form").addEventListener("submit", (event) => {
    event.preventDefault();
    list.querySelector("a")?.click();
  });
  dialog.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const stops = [field, ...list.querySelectorAll("a")];
    const here = stops.indexOf(document.activeElement);
    if (!step || here < 0) return;
    event.preventDefault();
    stops[Math.min(Math.max(here + step, 0), stops.length - 1)].focus();
  });
  // A result on this very page moves it under the open dialog.
  list.addEventListener("click", (event) => event.target.closest("a") && dialog.close());
})();
