// One Python for the whole page, in a worker: started at the first run, ended if a run does not end.

const LIMIT = 10_000; // milliseconds
const script = document.currentScript.src;

let worker;
let turn = Promise.resolve();

// Answers run one after the other. The outcome is a verdict, or one of stopped, broken, notLoaded.
export function run(name, code, progress) {
  turn = turn
    .then(() => once(name, code, progress))
    .catch((error) => ({ notLoaded: error.message }));
  return turn;
}

function once(name, code, progress) {
  return new Promise((resolve) => {
    let timer;
    const finish = (outcome) => {
      clearTimeout(timer);
      resolve(outcome);
    };
    const fail = (outcome) => {
      worker.terminate();
      worker = undefined;
      finish(outcome);
    };
    progress(worker ? "running" : "loading");
    worker ??= new Worker(new URL(`worker.js?${PYTHON.version}`, script), { type: "module" });
    worker.onerror = (event) => fail({ notLoaded: event.message ?? "a file is missing" });
    worker.onmessage = ({ data }) => {
      if (data.started) {
        progress("running");
        timer = setTimeout(() => fail({ stopped: LIMIT / 1000 }), LIMIT);
      } else if (data.broken) {
        fail(timer ? { ended: data.broken } : { notLoaded: data.broken });
      } else {
        finish({ verdict: data });
      }
    };
    worker.postMessage({ name, code });
  });
}
