// Shows what a mask hides, what a row gets that may see nothing, and how padding leaks.
import {
  choice, fill, generator, mount, pool, round, set, show, slider, softmax, sum, svg,
} from "../kit.js";

const LONGEST = 8;

const WORDS = {
  title: "Masks",
  question:
    "A sentence of four words is padded to six places and read causally. Which cells of the table " +
    "must be empty? And what does a row give that may see nothing? Say it, then choose “both”, put " +
    "the padding at the start, and change what hidden scores are filled with.",
  stage: "Table: a row for each word that asks, a column for each word that is asked",
  sentence: ["the", "cat", "sat", "down", "here"],
  pad: "–",
  mask: "Mask: who may be seen",
  masks: {
    none: "everyone",
    padding: "no padding",
    causal: "nothing later (causal)",
    both: "both",
    strict: "both, and not oneself",
    inverted: "both, read the wrong way round",
  },
  fill: "Hidden scores",
  fills: { infinity: "−∞", number: "−1e9", zeros: "−∞, empty rows zero" },
  words: "Words",
  wordsSpoken: "{value} words",
  padding: "Padding",
  paddingSpoken: "{value} padded places",
  side: "Padding stands",
  sides: { end: "at the end", start: "at the start" },
  shown: "Show",
  tables: { weights: "weights", scores: "scores" },
  nan: "NaN",
  infinite: "−∞",
  number: "−1e9",
  hidden: "×",
  noRow: "none",
  legend:
    "Rows: who asks. Columns: who is asked; a dash is padding. The stronger a cell's shade, the " +
    "larger its weight; × is hidden. A dashed frame marks a row that may see nothing.",
  sound:
    "Rows that see nothing: {empty}. Of its weight a row puts {padding} on padding and {later} on " +
    "later places, on average.",
  broken:
    "Rows that see nothing: {empty}. They hold NaN, and NaN in one place soon is everywhere.",
  scores: "Scores, hidden ones filled",
  weights: "Weights",
  head: "asks",
  measures: "Single numbers",
  measure: ["name", "value"],
  empty: "rows that see nothing",
  onPadding: "weight on padding",
  onLater: "weight on later places",
  answers: [
    "Both masks have to allow a cell. The padding takes away columns, causality the triangle above " +
      "the diagonal. With the padding at the end every row still sees something. With the padding " +
      "at the start the first rows see only padding and the future: they are empty.",
    "An empty row has no right answer, so each fill gives its own. −∞ makes zero divided by zero, " +
      "NaN. −1e9 makes all scores alike: the row attends evenly to exactly what it must not see. " +
      "The rule says: zeros. A number as fill looks harmless because it only shows in such rows.",
    "“Not oneself” empties the first row of a sentence even without padding. And the mask read the " +
      "wrong way round raises no error: where there is padding, every row adds to one, all of it on " +
      "padding and on the future.",
  ],
};

const MASKS = {
  none: () => true,
  padding: (m, n, real) => real[n],
  causal: (m, n) => n <= m,
  both: (m, n, real) => real[n] && n <= m,
  strict: (m, n, real) => real[n] && n < m,
  inverted: (m, n, real) => !(real[n] && n <= m),
};

const FILLS = { infinity: -Infinity, number: -1e9, zeros: -Infinity };

// The scores of a draw; a longer sentence keeps those of the shorter one.
export function draw({ seed }) {
  const { normal } = generator(seed);
  const row = () => Array.from({ length: LONGEST }, () => round(normal(), 1));
  return Array.from({ length: LONGEST }, row);
}

export function compute({ mask, fill: filling, words, padding, side, seed }) {
  const size = words + padding;
  const places = Array.from({ length: size }, (_, n) => n);
  const real = places.map((n) => (side === "end" ? n < words : n >= padding));
  const drawn = draw({ seed });
  const visible = places.map((m) => places.map((n) => MASKS[mask](m, n, real)));
  const scores = visible.map((row, m) =>
    row.map((may, n) => (may ? drawn[m][n] : FILLS[filling])),
  );
  const empty = places.filter((m) => !visible[m].some(Boolean));
  const weights = scores.map((row, m) =>
    filling === "zeros" && empty.includes(m) ? row.map(() => 0) : softmax(row),
  );
  const share = (counts) =>
    sum(weights.map((row, m) => sum(row.filter((_, n) => counts(m, n))))) / size;
  return {
    real,
    visible,
    scores,
    weights,
    empty,
    onPadding: share((m, n) => !real[n]),
    onLater: share((m, n) => n > m),
  };
}

const number = (value, digits) => {
  if (Number.isNaN(value)) return WORDS.nan;
  if (value === -Infinity) return WORDS.infinite;
  return value < -1e6 ? WORDS.number : show(value, digits);
};

const EXTENT = 400;
const LEFT = 52;
const TOP = 28;
const WIDEST = 58;

function build({ stage, side, change }) {
  const table = svg("g");
  const picture = svg("svg", {
    viewBox: `0 0 ${EXTENT} ${TOP + EXTENT - LEFT}`, role: "img", "aria-label": WORDS.stage,
  }, table);
  stage.append(picture);
  const cells = pool(table, () => {
    const shade = svg("rect", { class: "attn-column" });
    const edge = svg("rect", { class: "attn-grid" });
    const text = svg("text", { class: "attn-number" });
    return { node: svg("g", {}, shade, edge, text), shade, edge, text };
  });
  const frames = pool(table, () => svg("rect", { class: "attn-equal" }));
  const askers = pool(table, () => svg("text", { class: "attn-query", "text-anchor": "end" }));
  const asked = pool(table, () => svg("text", { class: "attn-key", "text-anchor": "middle" }));

  const pick = (trait, label, options) =>
    choice({ label, options, change: (value) => change({ [trait]: value }) });
  const range = (low, high) => Array.from({ length: high - low + 1 }, (_, i) => low + i);
  const count = (trait, label, spoken, values) =>
    slider({ label, values, spoken, change: (value) => change({ [trait]: value }) });
  const inputs = {
    words: count("words", WORDS.words, WORDS.wordsSpoken, range(2, 5)),
    padding: count("padding", WORDS.padding, WORDS.paddingSpoken, range(0, 3)),
    side: pick("side", WORDS.side, WORDS.sides),
    mask: pick("mask", WORDS.mask, WORDS.masks),
    fill: pick("fill", WORDS.fill, WORDS.fills),
    shown: pick("shown", WORDS.shown, WORDS.tables),
  };
  side.append(...Object.values(inputs).map(({ node }) => node));

  return (now) => {
    const result = compute(now);
    const size = result.real.length;
    const side = Math.min(WIDEST, (EXTENT - LEFT) / size);
    const first = now.side === "end" ? 0 : now.padding;
    const names = result.real.map((real, n) => (real ? WORDS.sentence[n - first] : WORDS.pad));
    cells(size * size).forEach(({ shade, edge, text }, i) => {
      const [m, n] = [Math.floor(i / size), i % size];
      const place = { x: LEFT + n * side, y: TOP + m * side, width: side, height: side };
      const weight = result.weights[m][n];
      set(shade, { ...place, "fill-opacity": 0.4 * (weight || 0) });
      set(edge, place);
      set(text, { x: place.x + side / 2, y: place.y + side / 2 + 5 });
      text.textContent =
        now.shown === "scores" ? number(result.scores[m][n], 1)
        : weight === 0 && !result.visible[m][n] ? WORDS.hidden
        : number(weight, 2);
    });
    frames(result.empty.length).forEach((frame, i) => {
      const y = TOP + result.empty[i] * side + 1.5;
      set(frame, { x: LEFT + 1.5, y, width: size * side - 3, height: side - 3 });
    });
    askers(size).forEach((text, m) => {
      set(text, { x: LEFT - 8, y: TOP + (m + 0.5) * side + 5, "font-size": 14 });
      text.textContent = names[m];
    });
    asked(size).forEach((text, n) => {
      set(text, { x: LEFT + (n + 0.5) * side, y: TOP - 10, "font-size": 14 });
      text.textContent = names[n];
    });
    for (const [trait, input] of Object.entries(inputs)) input.show(now[trait]);
    const template = Number.isNaN(result.onPadding) ? WORDS.broken : WORDS.sound;
    return {
      sentence: fill(template, {
        empty: result.empty.map((m) => m + 1).join(", ") || WORDS.noRow,
        padding: show(result.onPadding),
        later: show(result.onLater),
      }),
      tables: () => [
        ...["scores", "weights"].map((name) => ({
          caption: WORDS[name],
          head: [WORDS.head, ...names],
          rows: result[name].map((row, m) => [
            `${m + 1} ${names[m]}`, ...row.map((value) => number(value, 4)),
          ]),
        })),
        {
          caption: WORDS.measures,
          head: WORDS.measure,
          rows: [
            [WORDS.empty, String(result.empty.length)],
            [WORDS.onPadding, number(result.onPadding, 4)],
            [WORDS.onLater, number(result.onLater, 4)],
          ],
        },
      ],
    };
  };
}

export default {
  render: (context) =>
    mount(context, {
      words: WORDS,
      traits: ["mask", "fill", "words", "padding", "side", "shown", "seed"],
      another: (_, { seed }) => ({ seed: seed + 1 }),
      build,
    }),
};
