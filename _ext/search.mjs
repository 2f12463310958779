// Makes the index that the page's search asks, for search.py.
import { createIndex, close } from "pagefind";
import { readFile } from "node:fs/promises";
import { json } from "node:stream/consumers";

const { pages, target } = await json(process.stdin);
const { index } = await createIndex({
  rootSelector: "article",
  // A formula is indexed once, as the screen reader has it; drawings and demos have no prose.
  excludeSelectors: [".headerlink", ".katex-html", "annotation", ".attn-demo", "svg", "summary"],
});
for (const { url, path } of pages) {
  const html = await readFile(path, "utf8");
  const { errors } = await index.addHTMLFile({
    url,
    content: html
      // Sphinx names the section; a result that leads to a section is named by its heading.
      .replace(/(<section)( id="[^"]*")(>(?:\s*<span id="[^"]*"><\/span>)*\s*<h\d)/g, "$1$3$2")
      // Chinese has no spaces, and what has none is found by its beginning only.
      .replace(/(?<=\p{Script=Han})(?=\S)|(?<=\S)(?=\p{Script=Han})/gu, " "),
  });
  if (errors.length) throw new Error(`${url}: ${errors}`);
}
await index.writeFiles({ outputPath: target });
await close();
