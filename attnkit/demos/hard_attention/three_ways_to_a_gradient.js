// Estimates the gradient of an expected loss in three ways and shows how they scatter.
import {
  argmax, choice, clamp, discs, fill, generator, html, mount, plane, set, show, slider, softmax,
  stops, sum, svg, table,
} from "../kit.js";

const WAYS = ["reinforce", "gumbel", "straight_through"];
const SAMPLES = [1, 10, 100, 1000, 10000];
const TEMPERATURES = stops(0.1, 10, 13);
// So many estimates are drawn as dots; the rest only count.
const DOTS = 1000;
const RANGE = [-2, 2];

const WORDS = {
  title: "Three ways to a gradient",
  question:
    "One of three items is drawn, and you learn what it costs. Which estimate of the gradient is " +
    "right on average, and which is calm? Guess, then draw 1, 10, 1000.",
  again: "Draw again",
  stage: "Estimates of the gradient: by score 1 across, by score 2 upwards",
  way: "Way",
  ways: {
    reinforce: "REINFORCE",
    gumbel: "Gumbel-softmax",
    straight_through: "straight-through",
  },
  samples: "Draws",
  samplesSpoken: "{value} draws",
  baseline: "Baseline (REINFORCE)",
  baselines: { off: "none", on: "expected loss" },
  temperature: "Temperature (the other two)",
  temperatureSpoken: "temperature {value}",
  legend:
    "Cross: the exact gradient. Diamond: the mean of the draws. REINFORCE has one estimate for " +
    "each item: a disc, its area the share of the draws. The other two give a cloud; dots on the " +
    "frame lie beyond it.",
  sentence: "{n} draws of {way}: the mean is {error} off, and they scatter by {spread}.",
  sentenceOfOne: "1 draw of {way}: it is {error} off the exact gradient.",
  readings: "All three, on the same draws",
  head: ["way", "error of the mean", "spread"],
  itemTable: "Items",
  itemHead: ["item", "score", "value", "weight", "loss", "exact gradient"],
  meanTable: "Mean of the estimates",
  meanHead: ["way", "by score 1", "by score 2", "by score 3"],
  settings: "Settings",
  settingsHead: ["what", "value"],
  setting: {
    target: "Target", temperature: "Temperature", baseline: "Baseline", samples: "Draws",
  },
  answers: [
    "REINFORCE is right on average: with more draws its mean closes in on the cross, whatever the " +
      "baseline. But each single estimate is far off, because it takes one loss for the whole " +
      "story. Subtracting the expected loss costs nothing, moves no mean, and pulls the discs in.",
    "Gumbel-softmax is calm at a high temperature, and wrong: its mean stops beside the cross, " +
      "however many you draw, because it differentiates a mixture that is never read. Turn the " +
      "temperature down: the mean comes nearer and the cloud spreads. You trade bias for variance.",
    "Straight-through reads one real item forward and borrows the soft gradient backward. Here it " +
      "is biased like Gumbel-softmax and scatters more. What it buys is something else: the rest " +
      "of a network only ever sees items that exist.",
  ],
};

// The uniform numbers of all draws, three for each.
export function noise({ samples, seed }) {
  const { uniform } = generator(seed);
  return Array.from({ length: samples }, () => [uniform(), uniform(), uniform()]);
}

// How a loss with these slopes by the weights answers to the scores behind a softmax.
function through(weights, slopes, temperature) {
  const mean = sum(weights.map((w, n) => w * slopes[n]));
  return weights.map((w, n) => (w * (slopes[n] - mean)) / temperature);
}

// One estimate of each way from one draw.
function estimate(u, { scores, items, target, temperature }, { weights, losses, baseline }) {
  const noisy = scores.map((s, n) => s - Math.log(-Math.log(u[n])));
  const z = argmax(noisy);
  const soft = softmax(noisy.map((s) => s / temperature));
  const read = sum(soft.map((w, n) => w * items[n]));
  const slopes = (value) => items.map((x) => 2 * (value - target) * x);
  return {
    z,
    reinforce: weights.map((w, n) => (losses[z] - baseline) * ((n === z) - w)),
    gumbel: through(soft, slopes(read), temperature),
    straight_through: through(soft, slopes(items[z]), temperature),
  };
}

const distance = (one, other) => Math.hypot(...one.map((value, n) => value - other[n]));

function summary(estimates, exact) {
  const count = estimates.length;
  const mean = exact.map((_, n) => sum(estimates.map((one) => one[n])) / count);
  const square = sum(estimates.map((one) => distance(one, mean) ** 2)) / count;
  return { mean, error: distance(mean, exact), spread: Math.sqrt(square) };
}

export function compute(state) {
  const weights = softmax(state.scores);
  const losses = state.items.map((x) => 1 + (x - state.target) ** 2);
  const expected = sum(weights.map((w, n) => w * losses[n]));
  const exact = through(weights, losses, 1);
  const known = { weights, losses, baseline: state.baseline ? expected : 0 };
  const drawn = noise(state).map((u) => estimate(u, state, known));
  return {
    weights,
    losses,
    expected,
    exact,
    shares: weights.map((_, n) => drawn.filter(({ z }) => z === n).length / drawn.length),
    // What REINFORCE says of each item.
    of_item: weights.map((_, z) =>
      weights.map((w, n) => (losses[z] - known.baseline) * ((n === z) - w)),
    ),
    dots: drawn.slice(0, DOTS).map((one) => one[state.way]),
    ways: Object.fromEntries(
      WAYS.map((way) => [way, summary(drawn.map((one) => one[way]), exact)]),
    ),
  };
}

function build({ stage, side, change }) {
  const picture = plane({
    label: WORDS.stage, width: 400, height: 400, margin: 20, x: RANGE, y: RANGE,
  });
  set(picture.node, { role: "img" });
  const [low, high] = RANGE;
  for (const axis of [[[low, 0], [high, 0]], [[0, low], [0, high]]]) {
    picture.node.append(svg("path", { class: "attn-axis", d: picture.path(axis) }));
  }
  const frame = [[low, low], [high, low], [high, high], [low, high], [low, low]];
  const cloud = svg("path", { class: "attn-cloud" });
  const spots = discs(picture);
  const exact = svg("path", { class: "attn-exact", d: "M-9 -9L9 9M-9 9L9 -9" });
  const mean = svg("g", { class: "attn-read" }, svg("path", { d: "M0 -11L11 0L0 11L-11 0Z" }));
  picture.node.append(
    svg("path", { class: "attn-grid", d: picture.path(frame) }),
    spots.back, cloud, mean, exact, spots.front,
  );
  stage.append(picture.node);

  const way = choice({ label: WORDS.way, options: WORDS.ways, change: (way) => change({ way }) });
  const samples = slider({
    label: WORDS.samples,
    values: SAMPLES,
    spoken: WORDS.samplesSpoken,
    change: (samples) => change({ samples }),
  });
  const baseline = choice({
    label: WORDS.baseline,
    options: WORDS.baselines,
    change: (value) => change({ baseline: value === "on" }),
  });
  const temperature = slider({
    label: WORDS.temperature,
    values: TEMPERATURES,
    spoken: WORDS.temperatureSpoken,
    change: (temperature) => change({ temperature }),
  });
  const readings = html("div", { class: "attn-readings" });
  side.append(way.node, samples.node, baseline.node, temperature.node, readings);

  const at = (gradient) => picture.at([clamp(gradient[0], RANGE), clamp(gradient[1], RANGE)]);

  return (now) => {
    const result = compute(now);
    const shown = result.ways[now.way];
    const single = now.way === "reinforce";
    const drawn = result.shares.map((share, n) => [share, n]).filter(([share]) => share > 0);
    spots.show(
      single ? drawn.map(([, n]) => result.of_item[n].slice(0, 2)) : [],
      single ? drawn.map(([share]) => share) : [],
    );
    set(cloud, { d: single ? "" : result.dots.map((dot) => `M${at(dot).join(" ")}h0`).join("") });
    set(exact, { transform: `translate(${at(result.exact)})` });
    set(mean, { transform: `translate(${at(shown.mean)})` });
    way.show(now.way);
    samples.show(now.samples);
    baseline.show(now.baseline ? "on" : "off");
    temperature.show(now.temperature);
    readings.replaceChildren(table(all(result, 3)));
    return {
      sentence: fill(now.samples > 1 ? WORDS.sentence : WORDS.sentenceOfOne, {
        n: now.samples,
        way: WORDS.ways[now.way],
        error: show(shown.error, 3),
        spread: show(shown.spread, 3),
      }),
      tables: () => [all(result, 4), means(result), items(now, result), settings(now, result)],
    };
  };
}

const all = ({ ways }, digits) => ({
  caption: WORDS.readings,
  head: WORDS.head,
  rows: WAYS.map((way) => [
    WORDS.ways[way], show(ways[way].error, digits), show(ways[way].spread, digits),
  ]),
});

const means = ({ ways }) => ({
  caption: WORDS.meanTable,
  head: WORDS.meanHead,
  rows: WAYS.map((way) => [WORDS.ways[way], ...ways[way].mean.map((value) => show(value, 4))]),
});

const items = ({ scores, items }, { weights, losses, exact }) => ({
  caption: WORDS.itemTable,
  head: WORDS.itemHead,
  rows: items.map((value, n) => [
    String(n + 1),
    ...[scores[n], value, weights[n], losses[n], exact[n]].map((number) => show(number, 4)),
  ]),
});

const settings = ({ target, temperature, baseline, samples }, { expected }) => ({
  caption: WORDS.settings,
  head: WORDS.settingsHead,
  rows: [
    [WORDS.setting.target, show(target, 4)],
    [WORDS.setting.temperature, String(temperature)],
    [WORDS.setting.baseline, show(baseline ? expected : 0, 4)],
    [WORDS.setting.samples, String(samples)],
  ],
});

export default {
  render: (context) =>
    mount(context, {
      words: WORDS,
      traits: [
        "scores", "items", "target", "way", "samples", "baseline", "temperature", "seed",
      ],
      another: (_, { seed }) => ({ seed: seed + 1 }),
      build,
    }),
};
