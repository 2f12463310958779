// Counts what attention costs as a text grows: multiplications, and numbers held meanwhile.
import {
  choice, clamp, fill, generator, handle, html, mount, plane, pool, set, show, slider, svg, table,
} from "../kit.js";

const BLOCK = 128; // keys that softmax in blocks holds at once

const WORDS = {
  title: "The cost of length",
  question:
    "At which length does linear attention win over the softmax, and at which do you notice? Say " +
    "two numbers, then drag the length. Then count the projections too, change the number of " +
    "heads, and let the text be written letter by letter.",
  operations: "multiplications",
  memory: "numbers held",
  length: "Length N",
  spoken: "length {length}",
  letter: "N",
  width: "Width of the model D",
  widthSpoken: "width {value}",
  heads: "Heads",
  headsSpoken: "{value} heads",
  task: "The text is",
  tasks: { read: "read at once", written: "written letter by letter" },
  counted: "Count",
  counts: { attention: "attention only", layer: "the layer with its projections" },
  methods: { naive: "naive", online: "in blocks", cached: "cached", linear: "linear" },
  legend:
    "Both axes are logarithmic: where lines have the same slope, costs grow alike. Solid: naive, " +
    "the whole table of weights. Dashes: the same weights in blocks, or with the keys and values " +
    "cached. Dots: linear attention.",
  less:
    "At length {length}, with heads {size} wide, the {rival} way takes {times} times as many " +
    "multiplications as linear attention.",
  more:
    "At length {length}, with heads {size} wide, linear attention takes {times} times as many " +
    "multiplications as the {rival} way.",
  wins:
    " Linear attention takes fewer from length {wins} on, and less than half from length " +
    "{halves} on.",
  costs: "Cost at this length",
  head: ["method", "multiplied", "held"],
  single: "Single numbers",
  value: ["name", "value"],
  winsIn: { operations: "fewer multiplications from", memory: "fewer numbers held from" },
  halvesIn: "half the multiplications from",
  answers: [
    "Softmax attention compares each pair of places, linear attention keeps sums whose size is " +
      "that of one head. So it needs fewer multiplications as soon as the text is longer than a " +
      "head is wide, not the model; when it is written with a cache, than twice that. With more " +
      "heads of the same total width it wins sooner.",
    "You notice it much later. The four projections cost the same for all and grow with the " +
      "square of the width. Count them, and half the cost is reached only when the text is " +
      "longer than twice the model is wide, or four times when it is written with a cache.",
    "In blocks the softmax saves no multiplication, even spends a few on rescaling, but it holds " +
      "a number of weights that grows with the length and not with its square. A cache makes " +
      "writing cheaper by a factor that grows with the length, and pays by holding all keys and " +
      "values. So compare linear attention with the cache: against the naive way it wins by much " +
      "more, but nobody need write that way.",
    "Linear attention holds the same few numbers per head after ten places and after ten " +
      "thousand. That is what it gives up: all that was read must fit into them. It is another " +
      "function, not a faster way to the same result, and the more it has read, the less it can " +
      "tell apart.",
  ],
};

const EXPONENTS = [4, 16];
const METHODS = { read: ["naive", "online", "linear"], written: ["naive", "cached", "linear"] };
const RIVAL = { read: "naive", written: "cached" };

// One attention layer that reads N places, or writes them: multiplications of entries in products
// of vectors, and numbers held at the end beside the layer's inputs and outputs. What exponentials
// and divisions cost is left out; every pair of places counts where all are read at once.
const COSTS = {
  read: {
    naive: ({ N, D, h }) => [2 * N ** 2 * D, h * N ** 2],
    online: ({ N, D, h }) => [2 * N ** 2 * D + N * D * Math.ceil(N / BLOCK), h * N * (BLOCK + 2)],
    linear: ({ N, D, h }) => [N * D * (2 * (D / h) + 1), D * (D / h + 1)],
  },
  written: {
    // Each place reads all before it again, and all of these read each other.
    naive: ({ N, D, h }) => [(D * N * (N + 1) * (2 * N + 1)) / 3, h * N ** 2],
    cached: ({ N, D, h }) => [D * N * (N + 1), 2 * N * D + h * N],
    linear: ({ N, D, h }) => [N * D * (2 * (D / h) + 1), D * (D / h + 1)],
  },
};

// Queries, keys, values and outputs, each a product with a matrix; the naive way projects again
// with each place that it writes.
const projections = ({ N, D }, again) => 4 * D ** 2 * (again ? (N * (N + 1)) / 2 : N);

export function costs({ length, width, heads, task, counted }) {
  const sizes = { N: length, D: width, h: heads };
  return Object.fromEntries(
    METHODS[task].map((name) => {
      const [attention, memory] = COSTS[task][name](sizes);
      const again = task === "written" && name === "naive";
      const rest = counted === "layer" ? projections(sizes, again) : 0;
      return [name, { operations: attention + rest, memory }];
    }),
  );
}

// The smallest length at which so many times the linear cost is less than the rival's.
function from(state, measure, times) {
  const cheap = (length) => {
    const { linear, [RIVAL[state.task]]: rival } = costs({ ...state, length });
    return times * linear[measure] < rival[measure];
  };
  let [low, high] = [0, 2 ** 30];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (cheap(middle)) high = middle;
    else low = middle;
  }
  return high;
}

export const compute = (state) => ({
  costs: costs(state),
  wins: { operations: from(state, "operations", 1), memory: from(state, "memory", 1) },
  halves: from(state, "operations", 2),
});

// ---- the picture -------------------------------------------------------------------------

const WIDTHS = [64, 128, 256, 512, 1024, 2048, 4096];
const HEADS = [1, 2, 4, 8, 16, 32];
const STEP = 0.25; // of the length's exponent
const GRID = Array.from(
  { length: (EXPONENTS[1] - EXPONENTS[0]) / STEP + 1 }, (_, i) => EXPONENTS[0] + i * STEP,
);
const LINES = { naive: "", online: "attn-dashed", cached: "attn-dashed", linear: "attn-dotted" };
const LABEL = 0.075; // of the height, so that two lines' names do not overlap

const whole = (exponent) => Math.round(2 ** exponent);
const short = (value) => {
  const [unit, size] =
    [["P", 1e15], ["T", 1e12], ["G", 1e9], ["M", 1e6], ["k", 1e3]].find(([, s]) => value >= s) ??
    ["", 1];
  return size === 1 ? String(value) : `${Number((value / size).toPrecision(3))} ${unit}`;
};

// A chart of one measure over the length, with its own logarithmic scale.
function chart(measure, height) {
  const picture = plane({
    label: WORDS[measure], width: 400, height, margin: 28,
    x: [EXPONENTS[0] - 0.8, EXPONENTS[1] + 2], y: [0, 1], // room for ticks and names
  });
  const back = svg("g", { "aria-hidden": "true" });
  const [left, top] = picture.at([EXPONENTS[0], 1]);
  const named = { class: "attn-tick attn-start", x: left, y: top - 12 };
  for (const exponent of [4, 8, 12, 16]) {
    const [x, y] = picture.at([exponent, 0]);
    back.append(
      svg("path", { class: "attn-grid", d: picture.path([[exponent, 0], [exponent, 1]]) }),
      svg("text", { class: "attn-tick", x, y: y + 20 }, String(2 ** exponent)),
    );
  }
  const across = (y) => picture.path(EXPONENTS.map((exponent) => [exponent, y]));
  back.append(
    svg("text", named, WORDS[measure]), svg("path", { class: "attn-axis", d: across(0) }),
  );
  const rules = pool(back, () => svg("path", { class: "attn-grid" }));
  const ticks = pool(back, () => svg("text", { class: "attn-tick attn-start" }));
  const now = svg("path", { class: "attn-mark" });
  back.append(now);
  const curves = pool(back, () => svg("path"));
  const names = pool(back, () => svg("text", { class: "attn-tick attn-start" }));
  const dots = pool(back, () => svg("circle", { class: "attn-column", r: 4 }));
  picture.node.append(back);
  return {
    picture,
    show(state) {
      const methods = METHODS[state.task];
      const along = GRID.map((exponent) => costs({ ...state, length: whole(exponent) }));
      const all = along.flatMap((found) => methods.map((name) => Math.log10(found[name][measure])));
      const [low, high] = [Math.floor(Math.min(...all)), Math.ceil(Math.max(...all))];
      const level = (value) => (Math.log10(value) - low) / (high - low);
      const apart = high - low > 6 ? 2 : 1; // decades from one tick to the next
      const count = 1 + Math.floor((high - low) / apart);
      const decades = Array.from({ length: count }, (_, i) => 10 ** (low + i * apart));
      rules(decades.length).forEach((rule, i) => set(rule, { d: across(level(decades[i])) }));
      ticks(decades.length).forEach((tick, i) => {
        set(tick, { x: 0, y: picture.at([0, level(decades[i])])[1] + 4 });
        tick.textContent = short(decades[i]);
      });
      const place = Math.log2(state.length);
      set(now, { d: picture.path([[place, 0], [place, 1]]) });
      const here = costs(state);
      curves(methods.length).forEach((curve, i) => {
        const points = along.map((found, g) => [GRID[g], level(found[methods[i]][measure])]);
        set(curve, { class: `attn-fit ${LINES[methods[i]]}`, d: picture.path(points) });
      });
      dots(methods.length).forEach((dot, i) => {
        const [cx, cy] = picture.at([place, level(here[methods[i]][measure])]);
        set(dot, { cx, cy });
      });
      // From the lowest line upwards, each name as near to its line as the one below allows.
      const ends = methods.map((name) => [level(along.at(-1)[name][measure]), name]);
      let free = 0;
      ends.sort(([a], [b]) => a - b);
      names(methods.length).forEach((text, i) => {
        const [end, name] = ends[i];
        const [x, y] = picture.at([EXPONENTS[1], Math.max(end, free)]);
        free = Math.max(end, free) + LABEL;
        set(text, { x: x + 6, y: y + 4 });
        text.textContent = WORDS.methods[name];
      });
    },
  };
}

function build({ stage, side, change }) {
  const operations = chart("operations", 250);
  const memory = chart("memory", 210);
  const grip = handle(operations.picture, {
    role: "basis",
    marker: "round",
    letter: WORDS.letter,
    label: WORDS.length,
    spoken: WORDS.spoken,
    move: ([x]) => change({ length: whole(clamp(Math.round(x / STEP) * STEP, EXPONENTS)) }),
    step: STEP,
  });
  operations.picture.node.append(grip.node);
  stage.append(operations.picture.node, memory.picture.node);

  const width = slider({
    label: WORDS.width,
    values: WIDTHS,
    spoken: WORDS.widthSpoken,
    change: (value) => change({ width: value }),
  });
  const heads = slider({
    label: WORDS.heads,
    values: HEADS,
    spoken: WORDS.headsSpoken,
    change: (value) => change({ heads: value }),
  });
  const task = choice({
    label: WORDS.task,
    options: WORDS.tasks,
    change: (value) => change({ task: value }),
  });
  const counted = choice({
    label: WORDS.counted,
    options: WORDS.counts,
    change: (value) => change({ counted: value }),
  });
  const readings = html("div", { class: "attn-readings" });
  side.append(width.node, heads.node, task.node, counted.node, readings);

  return (now) => {
    const result = compute(now);
    operations.show(now);
    memory.show(now);
    grip.show([Math.log2(now.length), 0]);
    set(grip.node, {
      "aria-valuemin": 2 ** EXPONENTS[0], "aria-valuemax": 2 ** EXPONENTS[1],
      "aria-valuenow": now.length, "aria-valuetext": fill(WORDS.spoken, { length: now.length }),
    });
    width.show(now.width);
    heads.show(now.heads);
    task.show(now.task);
    counted.show(now.counted);
    readings.replaceChildren(table(spent(result, short)));
    return {
      sentence: sentence(now, result),
      tables: () => [spent(result, String), single(now, result)],
    };
  };
}

function sentence({ length, width, heads, task }, { costs: found, wins, halves }) {
  const rival = RIVAL[task];
  const ratio = found[rival].operations / found.linear.operations;
  const times = Math.max(ratio, 1 / ratio);
  const said = {
    length, rival, size: width / heads, wins: wins.operations, halves,
    times: show(times, times < 10 ? 1 : 0),
  };
  return fill(ratio >= 1 ? WORDS.less : WORDS.more, said) + fill(WORDS.wins, said);
}

const spent = ({ costs: found }, written) => ({
  caption: WORDS.costs,
  head: WORDS.head,
  rows: Object.entries(found).map(([name, { operations, memory }]) => [
    WORDS.methods[name], written(operations), written(memory),
  ]),
});

const single = ({ length, width, heads }, { wins, halves }) => ({
  caption: WORDS.single,
  head: WORDS.value,
  rows: [
    [WORDS.length, length],
    [WORDS.width, width],
    [WORDS.heads, heads],
    [WORDS.winsIn.operations, wins.operations],
    [WORDS.winsIn.memory, wins.memory],
    [WORDS.halvesIn, halves],
  ].map(([name, value]) => [name, String(value)]),
});

function another(seed) {
  const { uniform } = generator(seed);
  const one = (values) => values[Math.floor(values.length * uniform())];
  return { length: whole(one(GRID)), width: one(WIDTHS), heads: one(HEADS) };
}

export default {
  render: (context) =>
    mount(context, {
      words: WORDS,
      traits: ["length", "width", "heads", "task", "counted"],
      another,
      build,
    }),
};
