// Joins stylesheets, drops the rules no page uses and writes the rest small, for slim.py.
import { build, transform } from "esbuild";
import { PurgeCSS } from "purgecss";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { json } from "node:stream/consumers";

const { theirs, ours, content, whole, used } = await json(process.stdin);

// The text of the sheets in one; the fonts they name are written into a folder beside it.
async function join(sheets) {
  const { outputFiles } = await build({
    stdin: {
      contents: sheets.map((sheet) => `@import "./${sheet}";`).join(""),
      resolveDir: dirname(used),
      loader: "css",
    },
    bundle: true,
    write: false,
    outdir: dirname(used),
    assetNames: "fonts/[name]",
    // Every browser that can show the book reads woff2.
    loader: { ".woff2": "file", ".ttf": "empty", ".svg": "dataurl", ".png": "dataurl" },
  });
  const fonts = outputFiles.filter(({ path }) => !path.endsWith(".css"));
  for (const { path, contents } of fonts) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, contents);
  }
  return outputFiles.find((file) => !fonts.includes(file)).text;
}

const [raw, own] = [await join(theirs), await join(ours)];
await writeFile(whole, raw + own);
// Of our own rules each has a use, some only once a script has run.
const [{ css }] = await new PurgeCSS().purge({ content, css: [{ raw }], keyframes: true });
await writeFile(used, (await transform(css + own, { loader: "css", minify: true })).code);
