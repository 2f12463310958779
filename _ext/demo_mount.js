// Brings the widgets of a page to life without a kernel: each has its own module, and a model that
// is no more than the state saved with the page.

const saved = (name) => {
  const type = `application/vnd.jupyter.widget-${name}+json`;
  return [...document.querySelectorAll(`script[type="${type}"]`)];
};

class Model extends EventTarget {
  constructor(state) {
    super();
    this.state = state;
  }
  get(name) {
    return this.state[name];
  }
  set(name, value) {
    this.state[name] = value;
    this.dispatchEvent(new Event(`change:${name}`));
  }
  on(name, listener) {
    this.addEventListener(name, listener);
  }
  off(name, listener) {
    this.removeEventListener(name, listener);
  }
  save_changes() {}
}

async function load(source) {
  const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const module = await import(address);
  URL.revokeObjectURL(address);
  return module.default;
}

const states = Object.assign({}, ...saved("state").map((script) => JSON.parse(script.text).state));
const models = {};
const waiting = new Map();

const near = new IntersectionObserver(
  (entries) => entries.filter((entry) => entry.isIntersecting).forEach(({ target }) => show(target)),
  { rootMargin: "300px" },
);

function show(el) {
  near.unobserve(el);
  waiting.get(el)?.();
  waiting.delete(el);
}

// Loaded at once but drawn when near: a page that is printed has no time to load.
saved("view").forEach(async (script) => {
  const { model_id: id } = JSON.parse(script.text);
  const { _esm, ...state } = states[id].state;
  const el = script.previousElementSibling;
  const model = (models[id] ??= new Model(state));
  const widget = await load(_esm);
  waiting.set(el, () => widget.render({ model, el }));
  near.observe(el);
});

// What is printed is the whole page, seen or not.
addEventListener("beforeprint", () => [...waiting.keys()].forEach(show));
