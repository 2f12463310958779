// Shows what the dimension does to softmax weights, and what dividing by its root cures.
import {
  choice, entropy, fill, generator, html, mount, plane, set, show, slider, softmax, sum, svg, table,
} from "../kit.js";

const KEYS = 16;
const DRAWS = 500;
const NOISE = 0.5;
const DIMENSIONS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

const WORDS = {
  title: "Dimension and saturation",
  question:
    "A query meets 16 random keys. What happens to the weights at d = 1024? Guess, move d from 4 " +
    "to 1024, then divide by √d and do it again. Does the division always help?",
  again: "Draw again",
  stage: "The 16 weights in falling order",
  dimension: "Dimension d",
  dimensionSpoken: "d = {value}",
  score: "Score",
  scores: { raw: "q·k", scaled: "q·k/√d" },
  query: "Query",
  queries: { independent: "independent", aligned: "a key plus noise" },
  legend:
    "Bars: the weights of this draw, largest first. Outlined marks: their average over 500 draws. " +
    "Each key has d independent standard normal entries; so has the query, unless it is one of " +
    "the keys plus noise of half that size.",
  sentence:
    "At d = {d} the largest weight is {top} in this draw and {mean} on average.",
  measures: {
    variance: "score variance",
    top: "largest score",
    entropy: "entropy ≤ 2.77",
    jacobian: "Jacobian norm",
  },
  head: ["measure", "this draw", "average"],
  measured: "What the scores give",
  table: "Weights in falling order",
  weight: ["rank", "score", "weight", "average weight"],
  answers: [
    "Without the division the variance of the scores is d, so at d = 1024 they scatter by some 32: " +
      "one key takes nearly everything, the entropy goes to zero, and so does the Jacobian of the " +
      "softmax. No gradient comes back through it; that is what saturation means.",
    "With the division the variance is 1 whatever d is, and little changes along the slider. But " +
      "the trouble is saturation, not d itself: at d = 4 the raw Jacobian is on average a little " +
      "larger than the scaled one.",
    "If the query is one key plus noise, that key's score grows like d, and like √d after the " +
      "division. The weights saturate all the same. Dividing by √d is right for vectors that know " +
      "nothing of each other; of trained ones it promises nothing.",
  ],
};

// The vectors of one draw.
export function draw({ dimension, aligned, seed }) {
  const { normal } = generator(seed);
  const vector = () => Float64Array.from({ length: dimension }, normal);
  const keys = Array.from({ length: KEYS }, vector);
  const query = aligned ? keys[0].map((value) => value + NOISE * normal()) : vector();
  return { query, keys };
}

// Frobenius norm of diag(a) - a aᵀ, entry by entry: the closed form in the powers of a loses every
// digit once one weight is nearly 1.
function jacobianNorm(weights) {
  let total = 0;
  for (let i = 0; i < weights.length; i++) {
    total += (weights[i] * (1 - weights[i])) ** 2;
    for (let j = 0; j < i; j++) total += 2 * (weights[i] * weights[j]) ** 2;
  }
  return Math.sqrt(total);
}

// What a row of scores gives, in falling order.
export function measure(raw, { dimension, scaled }) {
  const scores = [...raw].sort((a, b) => b - a).map((s) => (scaled ? s / Math.sqrt(dimension) : s));
  const weights = softmax(scores);
  const mean = sum(scores) / scores.length;
  return {
    scores,
    weights,
    variance: sum(scores.map((s) => (s - mean) ** 2)) / (scores.length - 1),
    top: scores[0],
    entropy: entropy(weights),
    jacobian: jacobianNorm(weights),
  };
}

// The scores of one more draw. Given the query, its scores with independent normal keys are
// independent normal numbers times the query's length, which spares drawing those keys.
function drawScores({ dimension, aligned }, normal) {
  let square = 0;
  let match = 0;
  for (let i = 0; i < dimension; i++) {
    const key = normal();
    const entry = aligned ? key + NOISE * normal() : key;
    square += entry * entry;
    match += entry * key;
  }
  const scores = Array.from({ length: KEYS }, () => Math.sqrt(square) * normal());
  if (aligned) scores[0] = match;
  return scores;
}

function averageMeasures(state) {
  const { normal } = generator(state.dimension);
  const many = Array.from({ length: DRAWS }, () => measure(drawScores(state, normal), state));
  const mean = (value) => sum(many.map(value)) / DRAWS;
  return {
    variance: mean((one) => one.variance),
    top: mean((one) => one.top),
    entropy: mean((one) => one.entropy),
    jacobian: mean((one) => one.jacobian),
    weights: many[0].weights.map((_, i) => mean((one) => one.weights[i])),
  };
}

// They are the same at every draw, and take longer than all the rest.
const known = new Map();
export function averages({ dimension, scaled, aligned }) {
  const name = [dimension, scaled, aligned].join();
  if (!known.has(name)) known.set(name, averageMeasures({ dimension, scaled, aligned }));
  return known.get(name);
}

export function compute(state) {
  const { query, keys } = draw(state);
  const scores = keys.map((key) => sum(key.map((value, i) => value * query[i])));
  return { draw: measure(scores, state), average: averages(state) };
}

function column() {
  const bar = svg("rect", { class: "attn-column" });
  const mean = svg("rect", { class: "attn-mean", height: 4 });
  return { node: svg("g", {}, bar, mean), bar, mean };
}

function build({ stage, side, change }) {
  const picture = plane({
    label: WORDS.stage, width: 400, height: 300, margin: 32, x: [0, KEYS], y: [0, 1],
  });
  set(picture.node, { role: "img" });
  for (const level of [0, 0.5, 1]) {
    const [px, py] = picture.at([0, level]);
    picture.node.append(
      svg("path", {
        class: level ? "attn-grid" : "attn-axis",
        d: picture.path([[0, level], [KEYS, level]]),
      }),
      svg("text", { class: "attn-tick", x: px - 18, y: py + 4 }, show(level, 1)),
    );
  }
  const columns = Array.from({ length: KEYS }, column);
  const largest = svg("text", { class: "attn-number" });
  picture.node.append(...columns.map(({ node }) => node), largest);
  stage.append(picture.node);

  const dimension = slider({
    label: WORDS.dimension,
    values: DIMENSIONS,
    spoken: WORDS.dimensionSpoken,
    change: (value) => change({ dimension: value }),
  });
  const score = choice({
    label: WORDS.score,
    options: WORDS.scores,
    change: (value) => change({ scaled: value === "scaled" }),
  });
  const query = choice({
    label: WORDS.query,
    options: WORDS.queries,
    change: (value) => change({ aligned: value === "aligned" }),
  });
  const readings = html("div", { class: "attn-readings" });
  side.append(dimension.node, score.node, query.node, readings);

  return (now) => {
    const result = compute(now);
    columns.forEach(({ bar, mean }, i) => {
      const weight = result.draw.weights[i];
      const [, level] = picture.at([i, result.average.weights[i]]);
      const [left, top] = picture.at([i + 0.12, weight]);
      const [right, bottom] = picture.at([i + 0.88, 0]);
      set(bar, { x: left, y: top, width: right - left, height: bottom - top });
      set(mean, { x: left - 2, y: level - 2, width: right - left + 4 });
    });
    const [across, top] = picture.at([0.5, result.draw.weights[0]]);
    set(largest, { x: across, y: top - 6 });
    largest.textContent = show(result.draw.weights[0]);
    dimension.show(now.dimension);
    score.show(now.scaled ? "scaled" : "raw");
    query.show(now.aligned ? "aligned" : "independent");
    readings.replaceChildren(table(measures(result, 2)));
    return {
      sentence: fill(WORDS.sentence, {
        d: now.dimension,
        top: show(result.draw.weights[0]),
        mean: show(result.average.weights[0]),
      }),
      tables: () => [measures(result, 4), weights(result)],
    };
  };
}

const measures = ({ draw, average }, digits) => ({
  caption: WORDS.measured,
  head: WORDS.head,
  rows: Object.entries(WORDS.measures).map(([name, label]) => [
    label, show(draw[name], digits), show(average[name], digits),
  ]),
});

const weights = ({ draw, average }) => ({
  caption: WORDS.table,
  head: WORDS.weight,
  rows: draw.weights.map((weight, i) => [
    String(i + 1), show(draw.scores[i], 4), show(weight, 4), show(average.weights[i], 4),
  ]),
});

export default {
  render: (context) =>
    mount(context, {
      words: WORDS,
      traits: ["dimension", "scaled", "aligned", "seed"],
      another: (_, { seed }) => ({ seed: seed + 1 }),
      build,
    }),
};
