// Runs answers in Python, away from the page: a name and code come in, a verdict goes out.
import { loadPyodide } from "../pyodide/pyodide.mjs";

// The page's version of the files, so that none of them is an older one from the browser's store.
const version = location.search;

async function boot() {
  const [python, runner] = await Promise.all([
    loadPyodide({
      lockFileURL: new URL(`../pyodide/pyodide-lock.json${version}`, location).href,
      packages: ["attnkit"],
    }),
    fetch(`runner.py${version}`).then((response) => response.text()),
  ]);
  python.FS.writeFile("runner.py", runner);
  return python.pyimport("runner").run;
}

const booted = boot();

addEventListener("message", async ({ data: { name, code } }) => {
  try {
    const run = await booted;
    postMessage({ started: true });
    postMessage(JSON.parse(run(name, code)));
  } catch (error) {
    postMessage({ broken: String(error) });
  }
});
