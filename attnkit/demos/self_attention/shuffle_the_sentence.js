// Shows that self-attention's outputs follow their words, and what makes them depend on places.
import {
  choice, clamp, fill, generator, handle, mount, plane, pool, round, set, show, softmax, sum, svg,
} from "../kit.js";

const SIZE = 5;
const FEATURES = 4;

const WORDS = {
  title: "Shuffle the sentence",
  question:
    "If two words swap places, what else changes? Say which of the five outputs will differ, then " +
    "drag a word to another place. Ask again with a causal mask, and again with positions.",
  stage: "Words to drag, and the output of each",
  sentence: ["dog", "bit", "the", "old", "man"],
  word: "Word {name}",
  spoken: "place {x}",
  seen: "A word sees",
  options: { all: "all words", causal: "itself and those before" },
  places: "Positions",
  placed: { none: "none", waves: "waves are added" },
  depth: "Layers",
  depths: { 1: "one", 2: "two" },
  legend:
    "Squares: the words; drag them, or use the arrow keys. Bars: the four numbers of the word's " +
    "output. Outlines: the same before you moved anything. Below: by how much the output differs.",
  before: "The words stand in their order. Drag one to another place.",
  same: "The words have moved, and every output has followed its word: no difference but rounding.",
  differ: "Outputs that differ from what the word had before: {count} of 5, by up to {worst}.",
  table: "Outputs, word by word",
  head: ["word", "place", "now 1", "now 2", "now 3", "now 4", "before 1", "before 2", "before 3",
    "before 4", "differs by"],
  answers: [
    "Without positions and without a mask nothing changes, whatever you do: each output follows its " +
      "word. The layer treats the sentence as a bag. A second layer makes no difference.",
    "With a causal mask a word's output changes if other words have come to stand before it. Leave " +
      "the last word in its place and shuffle the rest: with one layer the last output stays as it " +
      "was, since it still averages over the same bag. With two layers it changes.",
    "With positions the same word is another vector at another place, so everything depends on " +
      "order, in both layers and for every word.",
  ],
};

// The words' vectors.
export function draw({ seed }) {
  const { normal } = generator(seed);
  const vector = () => Array.from({ length: FEATURES }, () => round(normal(), 1));
  return Array.from({ length: SIZE }, vector);
}

const wave = (place, column) => {
  const angle = place / 10000 ** ((2 * Math.floor(column / 2)) / FEATURES);
  return column % 2 ? Math.cos(angle) : Math.sin(angle);
};

const dot = (one, other) => sum(one.map((value, i) => value * other[i]));

// Each layer adds what a word reads to what it is; no projections.
function outputs(vectors, { positions, causal, layers }) {
  let X = vectors.map((vector, place) =>
    vector.map((value, column) => value + (positions ? wave(place, column) : 0)),
  );
  for (let layer = 0; layer < layers; layer++) {
    const Z = X;
    X = Z.map((asks, m) => {
      const seen = causal ? Z.slice(0, m + 1) : Z;
      const weights = softmax(seen.map((asked) => dot(asks, asked) / Math.sqrt(FEATURES)));
      return asks.map((value, d) => value + sum(seen.map((asked, n) => weights[n] * asked[d])));
    });
  }
  return X;
}

// Both by word, not by place: what each word has now, and what it had in the sentence as it was.
export function compute(state) {
  const X = draw(state);
  const before = outputs(X, state);
  const moved = outputs(state.order.map((word) => X[word]), state);
  const now = X.map((_, word) => moved[state.order.indexOf(word)]);
  const differences = now.map((output, word) =>
    Math.max(...output.map((value, d) => Math.abs(value - before[word][d]))),
  );
  return { now, before, differences };
}

const ROUNDING = 1e-9;
const TOP = 1.3; // where the words stand
const REACH = 0.85; // how far the longest bar goes up or down

function output() {
  const bars = Array.from({ length: FEATURES }, () => svg("rect", { class: "attn-value" }));
  const edges = Array.from({ length: FEATURES }, () => svg("rect", { class: "attn-axis" }));
  const name = svg("text", { class: "attn-number" });
  const difference = svg("text", { class: "attn-number" });
  return { node: svg("g", {}, ...bars, ...edges, name, difference), bars, edges, name, difference };
}

function build({ stage, side, change, state }) {
  const picture = plane({
    label: WORDS.stage, width: 400, height: 330, margin: 36, x: [0.5, SIZE + 0.5], y: [-1.1, 1.5],
  });
  const zero = svg("path", {
    class: "attn-axis", d: picture.path([[0.5, 0], [SIZE + 0.5, 0]]),
  });
  const layer = svg("g", { "aria-hidden": "true" });
  const columns = pool(layer, output)(SIZE);
  const move = (word) => ([x]) => {
    const { order } = state();
    const place = clamp(Math.round(x), [1, SIZE]) - 1;
    if (order[place] === word) return;
    const rest = order.filter((other) => other !== word);
    change({ order: [...rest.slice(0, place), word, ...rest.slice(place)] });
  };
  const handles = WORDS.sentence.map((name, word) =>
    handle(picture, {
      role: "key",
      marker: "square",
      letter: name[0],
      label: fill(WORDS.word, { name }),
      spoken: WORDS.spoken,
      move: move(word),
      step: 1,
    }),
  );
  picture.node.append(zero, layer, ...handles.map(({ node }) => node));
  stage.append(picture.node);

  const seen = choice({
    label: WORDS.seen,
    options: WORDS.options,
    change: (value) => change({ causal: value === "causal" }),
  });
  const places = choice({
    label: WORDS.places,
    options: WORDS.placed,
    change: (value) => change({ positions: value === "waves" }),
  });
  const depth = choice({
    label: WORDS.depth,
    options: WORDS.depths,
    change: (value) => change({ layers: Number(value) }),
  });
  side.append(seen.node, places.node, depth.node);

  return (shown) => {
    const { now, before, differences } = compute(shown);
    const unit = REACH / Math.max(...[...now, ...before].flat().map(Math.abs));
    const bar = (rect, place, d, value) => {
      const left = place + (d - FEATURES / 2) * 0.18;
      const [x, y] = picture.at([left + 0.02, unit * Math.max(value, 0)]);
      const [right, bottom] = picture.at([left + 0.16, unit * Math.min(value, 0)]);
      set(rect, { x, y, width: right - x, height: bottom - y });
    };
    columns.forEach(({ bars, edges, name, difference }, word) => {
      const place = shown.order.indexOf(word) + 1;
      bars.forEach((rect, d) => bar(rect, place, d, now[word][d]));
      edges.forEach((rect, d) => bar(rect, place, d, before[word][d]));
      const [x, y] = picture.at([place, TOP]);
      set(name, { x, y: y + 32 });
      name.textContent = WORDS.sentence[word];
      set(difference, { x, y: picture.at([place, -1.1])[1] + 24 });
      difference.textContent = show(differences[word]);
      handles[word].show([place, TOP]);
      set(handles[word].node, { "aria-valuetext": fill(WORDS.spoken, { x: place }) });
    });
    seen.show(shown.causal ? "causal" : "all");
    places.show(shown.positions ? "waves" : "none");
    depth.show(String(shown.layers));
    const count = differences.filter((difference) => difference > ROUNDING).length;
    const still = shown.order.every((word, place) => word === place);
    const template = still ? WORDS.before : count ? WORDS.differ : WORDS.same;
    return {
      sentence: fill(template, { count, worst: show(Math.max(...differences)) }),
      tables: () => [
        {
          caption: WORDS.table,
          head: WORDS.head,
          rows: WORDS.sentence.map((name, word) => [
            name,
            String(shown.order.indexOf(word) + 1),
            ...[...now[word], ...before[word], differences[word]].map((value) => show(value, 4)),
          ]),
        },
      ],
    };
  };
}

export default {
  render: (context) =>
    mount(context, {
      words: WORDS,
      traits: ["order", "positions", "causal", "layers", "seed"],
      another: (_, { seed }) => ({ seed: seed + 1 }),
      build,
    }),
};
