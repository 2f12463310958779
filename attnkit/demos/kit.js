// What all demos share: seeded numbers, the box with its controls, and things to drag.

// ---- numbers -----------------------------------------------------------------------------

export const sum = (values) => values.reduce((total, value) => total + value, 0);

export function softmax(scores) {
  const top = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - top));
  const total = sum(powers);
  return powers.map((power) => power / total);
}

export const entropy = (weights) => -sum(weights.map((w) => (w > 0 ? w * Math.log(w) : 0)));

export const argmax = (values) => values.indexOf(Math.max(...values));

// A seed always gives the same numbers (mulberry32), so that an example can be shown again.
export function generator(seed) {
  let state = seed >>> 0;
  let spare = null;
  const uniform = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const normal = () => {
    if (spare !== null) {
      const value = spare;
      spare = null;
      return value;
    }
    const radius = Math.sqrt(-2 * Math.log(1 - uniform()));
    const angle = 2 * Math.PI * uniform();
    spare = radius * Math.sin(angle);
    return radius * Math.cos(angle);
  };
  return { uniform, normal };
}

export const clamp = (value, [low, high]) => Math.min(high, Math.max(low, value));
export const round = (value, digits = 2) => Number(value.toFixed(digits));
export const show = (value, digits = 2) => round(value, digits).toFixed(digits).replace("-", "−");
export const showPoint = (point) => `(${point.map((value) => show(value)).join(", ")})`;

// Whole sentences with {places}, so that a translation can order them as it needs.
export const fill = (template, values) => template.replace(/\{(\w+)\}/g, (_, name) => values[name]);

const SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉";
export const indexed = (letter, index) =>
  letter + [...String(index + 1)].map((digit) => SUBSCRIPTS[digit]).join("");

// ---- trained models ----------------------------------------------------------------------

function half(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

// A matrix as its rows, a vector as one row.
function unpack({ shape, float16 }) {
  const bytes = atob(float16);
  const numbers = Float64Array.from({ length: bytes.length / 2 }, (_, i) =>
    half(bytes.charCodeAt(2 * i) | (bytes.charCodeAt(2 * i + 1) << 8)),
  );
  if (shape.length === 1) return numbers;
  const [rows, columns] = shape;
  return Array.from({ length: rows }, (_, i) => numbers.subarray(i * columns, (i + 1) * columns));
}

const unpacked = new WeakMap();
export function parameters(packed) {
  if (!unpacked.has(packed)) {
    const named = Object.entries(packed).map(([name, tensor]) => [name, unpack(tensor)]);
    unpacked.set(packed, Object.fromEntries(named));
  }
  return unpacked.get(packed);
}

export const times = (matrix, vector) =>
  Array.from(matrix, (row) => row.reduce((total, value, i) => total + value * vector[i], 0));
export const plus = (one, other) => Array.from(one, (value, i) => value + other[i]);
export const sigmoid = (value) => 1 / (1 + Math.exp(-value));

// ---- elements ----------------------------------------------------------------------------

export function set(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

export function html(tag, attributes = {}, ...children) {
  const node = set(document.createElement(tag), attributes);
  node.append(...children);
  return node;
}

export function svg(tag, attributes = {}, ...children) {
  const node = set(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes);
  node.append(...children);
  return node;
}

// As many nodes as asked for, the old ones kept: a handle must not lose focus while it moves.
export function pool(parent, make) {
  const kept = [];
  return (count) => {
    while (kept.length < count) {
      const made = make(kept.length);
      kept.push(made);
      parent.append(made.node ?? made);
    }
    while (kept.length > count) {
      const gone = kept.pop();
      (gone.node ?? gone).remove();
    }
    return kept;
  };
}

export const table = ({ caption, head, rows }) =>
  html(
    "table",
    {},
    html("caption", {}, caption),
    html("thead", {}, html("tr", {}, ...head.map((cell) => html("th", { scope: "col" }, cell)))),
    html(
      "tbody",
      {},
      ...rows.map(([first, ...rest]) =>
        html("tr", {}, html("th", { scope: "row" }, first), ...rest.map((c) => html("td", {}, c))),
      ),
    ),
  );

// ---- native inputs -----------------------------------------------------------------------

const field = (label, ...children) => html("label", { class: "attn-field" }, label, ...children);

// `values` is what the stops of the slider mean; the state only ever takes these on.
export function slider({ label, values, spoken, change }) {
  const input = html("input", { type: "range", min: 0, max: values.length - 1, step: 1 });
  const shown = html("span", { class: "attn-amount" });
  input.addEventListener("input", () => change(values[input.value]));
  return {
    node: field(label, shown, input),
    show(value) {
      const distances = values.map((stop) => Math.abs(stop - value));
      input.value = distances.indexOf(Math.min(...distances));
      shown.textContent = String(value).replace("-", "−");
      input.setAttribute("aria-valuetext", fill(spoken, { value }));
    },
  };
}

// Stops at equal ratios, with two digits each: what is shown is exactly what is computed with.
export const stops = (low, high, count) =>
  Array.from({ length: count }, (_, i) =>
    Number((low * (high / low) ** (i / (count - 1))).toPrecision(2)),
  );

export function choice({ label, options, change }) {
  // Radio buttons of one name exclude each other all over the page, whatever module made them.
  const name = `attn-${Math.random().toString(36).slice(2)}`;
  const inputs = Object.fromEntries(
    Object.keys(options).map((value) => [value, html("input", { type: "radio", name, value })]),
  );
  const node = html("fieldset", { class: "attn-choice" }, html("legend", {}, label));
  for (const [value, input] of Object.entries(inputs)) {
    input.addEventListener("change", () => change(value));
    node.append(html("label", {}, input, options[value]));
  }
  return { node, show: (value) => (inputs[value].checked = true) };
}

// Two buttons that step back and forward, and the arrow keys on them; `move` takes -1 or 1.
export function stepper({ back, forward, move }) {
  const button = (label, by) => {
    const node = html("button", { type: "button" }, label);
    node.addEventListener("click", () => move(by));
    return node;
  };
  const node = html("div", { class: "attn-buttons" }, button(back, -1), button(forward, 1));
  node.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by) return;
    move(by);
    event.preventDefault();
  });
  return node;
}

// ---- pictures ----------------------------------------------------------------------------

// A drawing whose data coordinates run over `x` and `y`.
export function plane({ label, width, height, margin, x, y }) {
  const viewBox = `0 0 ${width} ${height}`;
  const node = svg("svg", { viewBox, role: "group", "aria-label": label });
  const across = (width - 2 * margin) / (x[1] - x[0]);
  const up = (height - 2 * margin) / (y[1] - y[0]);
  const at = ([a, b]) => [margin + (a - x[0]) * across, height - margin - (b - y[0]) * up];
  return {
    node,
    at,
    x,
    y,
    across,
    path: (points) => points.map((point, i) => (i ? "L" : "M") + at(point).join(" ")).join(""),
    within: ([a, b]) => [clamp(round(a), x), clamp(round(b), y)],
    under(event) {
      const { x: px, y: py } = new DOMPoint(event.clientX, event.clientY).matrixTransform(
        node.getScreenCTM().inverse(),
      );
      return [x[0] + (px - margin) / across, y[0] + (height - margin - py) / up];
    },
  };
}

const MARKERS = {
  round: () => svg("circle", { r: 12 }),
  square: () => svg("rect", { x: -12, y: -12, width: 24, height: 24 }),
  diamond: () => svg("path", { d: "M0 -15L15 0L0 15L-15 0Z" }),
};

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowDown: [0, -1], ArrowUp: [0, 1] };

// Something to drag that is a slider for the keyboard; Shift takes steps five times as long.
export function handle(picture, { role, marker, letter, label, spoken, move, step = 0.1 }) {
  const node = svg(
    "g",
    {
      class: `attn-handle attn-${role}`,
      role: "slider",
      tabindex: 0,
      "aria-label": label,
      "aria-valuemin": picture.x[0],
      "aria-valuemax": picture.x[1],
    },
    svg("circle", { class: "attn-reach", r: 24 }),
    svg("circle", { class: "attn-ring", r: 20 }),
    MARKERS[marker](),
    svg("text", { class: "attn-letter", y: 5 }, letter),
  );
  let place = [0, 0];
  let grip = null;
  node.addEventListener("pointerdown", (event) => {
    const [a, b] = picture.under(event);
    grip = [place[0] - a, place[1] - b];
    node.setPointerCapture(event.pointerId);
    node.focus({ preventScroll: true });
    event.preventDefault();
  });
  // Browsers do not heed touch-action inside a drawing; without this a finger scrolls the page.
  node.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });
  node.addEventListener("pointermove", (event) => {
    if (!grip) return;
    const [a, b] = picture.under(event);
    move(picture.within([a + grip[0], b + grip[1]]));
  });
  for (const end of ["pointerup", "pointercancel"]) {
    node.addEventListener(end, () => (grip = null));
  }
  node.addEventListener("keydown", (event) => {
    const arrow = ARROWS[event.key];
    if (!arrow) return;
    const stride = step * (event.shiftKey ? 5 : 1);
    move(picture.within([place[0] + arrow[0] * stride, place[1] + arrow[1] * stride]));
    event.preventDefault();
  });
  return {
    node,
    show(point) {
      place = point;
      set(node, {
        transform: `translate(${picture.at(point)})`,
        "aria-valuenow": round(point[0]),
        "aria-valuetext": fill(spoken, { x: show(point[0]), y: show(point[1]) }),
      });
    },
  };
}

// Weights on points: the areas of discs for the back of a picture, their numbers for its front. A
// number that would round to 0 is left out.
export function discs(picture) {
  const back = svg("g", { "aria-hidden": "true" });
  const front = svg("g", { "aria-hidden": "true" });
  const circles = pool(back, () => svg("circle", { class: "attn-disc" }));
  const numbers = pool(front, () => svg("text", { class: "attn-number" }));
  return {
    back,
    front,
    show(points, weights) {
      const places = points.map(picture.at);
      circles(points.length).forEach((circle, i) => {
        const [px, py] = places[i];
        set(circle, { cx: px, cy: py, r: 48 * Math.sqrt(weights[i]) });
      });
      numbers(points.length).forEach((number, i) => {
        const [px, py] = places[i];
        set(number, { x: px, y: py + 29 });
        number.textContent = weights[i] < 0.005 ? "" : show(weights[i]);
      });
    },
  };
}

// Steps that weigh what they look at, as a table: a square above each column, a diamond before each
// row, a frame around the last row; below it is room for a `foot`. There are at most 13 columns; of
// a few the cells are larger.
export function stepGrid({ label, foot = 0 }) {
  const [edge, room, widest] = [40, 352, 44];
  const extent = edge + room + 4;
  const box = (shape) => {
    const letter = svg("text", { class: "attn-letter", y: 5 });
    return { node: svg("g", {}, shape(), letter), letter };
  };
  const square = () => svg("rect", { class: "attn-key", x: -11, y: -11, width: 22, height: 22 });
  const diamond = () => svg("path", { class: "attn-value", d: "M0 -14L14 0L0 14L-14 0Z" });
  // A layer each: cells that are added later must not cover the marks of earlier steps.
  const [shades, between, above] = [svg("g"), svg("g"), svg("g")];
  const cells = svg("g", { transform: `translate(${edge} ${edge})` }, shades, between, above);
  const read = svg("g", { transform: `translate(${edge} ${edge / 2})` });
  const written = svg("g", { transform: `translate(${edge / 2} ${edge})` });
  const outline = svg("rect", { class: "attn-grid", x: edge, y: edge });
  const frame = svg("rect", { class: "attn-equal", x: edge });
  const squares = pool(shades, () => svg("rect", { class: "attn-column" }));
  const marks = pool(above, () =>
    svg("path", { class: "attn-needed", d: "M0 -6L6 0L0 6L-6 0Z" }),
  );
  const sources = pool(read, () => box(square));
  const outputs = pool(written, () => box(diamond));
  const named = ({ node, letter }, transform, name) => {
    set(node, { transform });
    letter.textContent = name;
    set(letter, { style: `font-size: ${name.length > 2 ? 11 : 14}px` });
  };
  return {
    node: svg(
      "svg",
      { viewBox: `0 0 ${extent} ${extent + foot}`, role: "img", "aria-label": label },
      outline, cells, read, written, frame,
    ),
    edge,
    extent,
    between, // the cells and the marks, for what else is to be marked
    // `wanted` is the column that each row should look at. Returns the size of a cell.
    show({ columns, rows, weights, wanted }) {
      const [across, down] = [columns.length, rows.length];
      const cell = Math.min(widest, room / across);
      const centre = (index) => (index + 0.5) * cell;
      squares(down * across).forEach((square, i) => {
        const [row, column] = [Math.floor(i / across), i % across];
        set(square, { x: column * cell, y: row * cell, width: cell, height: cell });
        set(square, { "fill-opacity": weights[row][column] });
      });
      marks(down).forEach((mark, row) => {
        set(mark, { transform: `translate(${centre(wanted[row])} ${centre(row)})` });
      });
      sources(across).forEach((source, i) => {
        const size = Math.min(1, cell / 24);
        named(source, `translate(${centre(i)} 0) scale(${size})`, columns[i]);
      });
      outputs(down).forEach((output, i) => {
        const size = Math.min(1, cell / 28);
        named(output, `translate(0 ${centre(i)}) scale(${size})`, rows[i]);
      });
      set(outline, { width: across * cell, height: across * cell });
      set(frame, { y: edge + Math.max(down - 1, 0) * cell, width: down ? across * cell : 0 });
      set(frame, { height: cell });
      return cell;
    },
  };
}

// Weights as a list of bars; `notes` says a word about some of them.
export function bars(label) {
  const node = html("div", { class: "attn-bars", role: "group", "aria-label": label });
  const rows = pool(node, () => html("div", { class: "attn-bar" }));
  return {
    node,
    show(names, weights, notes) {
      rows(weights.length).forEach((row, i) =>
        row.replaceChildren(
          html("span", {}, names[i]),
          html("span", { class: "attn-track" }, html("i", { style: `width:${100 * weights[i]}%` })),
          html("span", {}, show(weights[i])),
          html("span", { class: "attn-note" }, notes[i] ?? ""),
        ),
      );
    },
  };
}

// ---- the box -----------------------------------------------------------------------------

const CONTROLS = { reset: "Reset", again: "Another example", numbers: "Numbers", answer: "Answer" };

// `build` gets where to draw and how to change the state, and returns a function that draws a
// state and says what the tables show. It runs again whenever a trait changes, by a hand here or
// from Python.
export function mount({ model, el }, { words, traits, another, build }) {
  const said = { ...CONTROLS, ...words };
  const state = () => Object.fromEntries(traits.map((name) => [name, model.get(name)]));
  const first = state();
  const change = (values) => {
    for (const [name, value] of Object.entries(values)) model.set(name, value);
    model.save_changes();
  };
  let seen = 0;

  const stage = html("div");
  const side = html("div", { class: "attn-side" });
  const status = html("p", { class: "attn-status", role: "status" });
  const reset = html("button", { type: "button" }, said.reset);
  const again = html("button", { type: "button" }, said.again);
  // The keyboard reaches the tables, since they may have to be scrolled.
  const sheet = html("div", {
    class: "attn-sheet", role: "group", "aria-label": said.numbers, tabindex: 0,
  });
  const numbers = html("details", {}, html("summary", {}, said.numbers), sheet);
  const answer = html("details", {}, html("summary", {}, said.answer));
  answer.append(...said.answers.map((paragraph) => html("p", {}, paragraph)));
  reset.addEventListener("click", () => change(first));
  again.addEventListener("click", () => change(another(++seen, state())));

  const draw = build({ stage, side, change, state });
  stage.append(html("p", { class: "attn-legend" }, said.legend));
  side.append(status);
  el.classList.add("attn-demo");
  // JupyterLab would otherwise take the arrow keys for moving between cells.
  set(el, { role: "group", "aria-label": said.title, "data-lm-suppress-shortcuts": "true" });
  el.replaceChildren(
    html("p", { class: "attn-title" }, said.title),
    html("p", { class: "attn-question" }, said.question),
    html("div", { class: "attn-columns" }, stage, side),
    html("div", { class: "attn-buttons" }, reset, again),
    numbers,
    answer,
  );

  const update = () => {
    const { sentence, tables } = draw(state());
    status.textContent = sentence;
    if (numbers.open) sheet.replaceChildren(...tables().map(table));
  };
  numbers.addEventListener("toggle", update);
  // Several traits may change at once: draw after the last of them.
  let due = false;
  const later = () => {
    if (due) return;
    due = true;
    queueMicrotask(() => {
      due = false;
      update();
    });
  };
  for (const name of traits) model.on(`change:${name}`, later);
  update();
  return () => traits.forEach((name) => model.off(`change:${name}`, later));
}
