// Brings the widgets of a page to life without a kernel: each has its own module, and a model that
// is no more than the state saved with the page.

const blocks = (name) => [
  ...document.querySelectorAll(`script[type="application/vnd.jupyter.widget-${name}+json"]`),
];
const place = (view) => view.previousElementSibling;

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

async function mount(view) {
  const { model_id: id } = JSON.parse(view.text);
  const { _esm, ...state } = demoModels[id].state;
  const model = (models[id] ??= new Model(state));
  const widget = await load(_esm);
  waiting.set(place(view), () => widget.render({ model, el: place(view) }));
  near.observe(place(view));
}

// Loaded once the text is there, but drawn when near: a page that is printed has no time to load.
addEventListener("load", () => {
  const [{ dataset }] = blocks("state");
  const script = document.createElement("script");
  script.src = dataset.src;
  script.onload = () => blocks("view").forEach(mount);
  script.onerror = () => blocks("view").forEach((view) => place(view).append(dataset.lost));
  document.head.append(script);
});

// What is printed is the whole page, seen or not.
addEventListener("beforeprint", () => [...waiting.keys()].forEach(show));
