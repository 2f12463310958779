// Lets a hand change the weights of two readers of opinions, and shows whether their answers change.
import {
  argmax, choice, clamp, fill, generator, handle, html, mount, plane, pool, set, show, sigmoid,
  slider, sum, svg, table,
} from "../kit.js";

const SHUFFLES = 100;
const TOLERANCE = 0.05;

const WORDS = {
  title: "Is this an explanation?",
  question:
    "Two readers, both trained models, say how probably a text is good. Both average the states of " +
    "its words by attention. Change the weights: does the answer change? Of which reader, and by " +
    "which weights? Say it, then choose weights or drag them.",
  stage: "The answer, and for each word its weight, its value and its contribution",
  encoder: "A word’s state comes from",
  encoders: { recurrent: "a recurrent encoder (BiGRU)", per_word: "its word alone (MLP)" },
  kind: "Weights",
  kinds: {
    own: "attention’s own",
    equal: "equal",
    shuffled: "shuffled",
    adversary: "adversarial",
    yours: "yours",
  },
  shuffle: "Which shuffle",
  shuffleSpoken: "shuffle {value} of 100",
  weight: "Weight of word {n}, {word}",
  spoken: "{x}",
  bad: "bad",
  good: "good",
  heads: { weight: "weight", value: "value and contribution" },
  legend:
    "Squares: the weights; drag one, and the others share what is left. Thin strokes: attention’s " +
    "own. Diamonds: values, what the classifier makes of each state, bad to the left, good to the " +
    "right. Green bars: contributions, weight times value. Long green line: their sum. It is the " +
    "answer, at the top as a probability (large diamond); dashed: by attention’s own weights; " +
    "grey: by 100 shuffles of them.",
  own: "The {encoder} reader says {answer}: {p}. Of the words “{word}” contributes most to it.",
  same: "With {weights} the {encoder} reader still says {answer}: {p} (own {own}).",
  turned: "With {weights} the {encoder} reader turns to {answer}: {p} (own {own}).",
  weights: {
    equal: "equal weights",
    shuffled: "shuffled weights",
    adversary: "adversarial weights",
    yours: "your weights",
  },
  readers: { recurrent: "recurrent", per_word: "word" },
  readings: {
    caption: "How probably good is the text?",
    own: "by its own weights",
    now: "by these weights",
    distance: "distance of both (JSD)",
    median: "shuffled: median change",
    turned: "shuffled: turned, of 100",
  },
  table: "Words, {encoder} reader",
  table_head: ["word", "own weight", "weight", "value", "contribution"],
  shuffles: "Good, by each shuffle",
  shuffles_head: ["shuffle", "recurrent", "word"],
  answers: [
    "Watch the diamonds. The answer is a weighted average of the values, so no weights can take it " +
      "past the outermost of them. In the recurrent reader each state has read its neighbours, and " +
      "most values lean to the side of the answer: equal weights and most shuffles leave it where it " +
      "was. In the word reader a value knows its word only, and of the words that are no opinion many " +
      "lean to the wrong side: they get next to no weight, so training had no reason to correct " +
      "them. There the weights decide.",
    "In both readers quite different weights can give nearly the same answer: the adversary takes the " +
      "furthest that change it by 0.05 at most. That they exist does not say that attention is " +
      "arbitrary. Shuffles show what usually happens, the adversary the worst that can happen.",
    "So a weight says where a reader looks, not what it reads there. Look at the contributions: a " +
      "word may have a large weight and lean to the other side, or hardly lean at all. And these " +
      "are states, not words: in the recurrent reader a contribution that stands at one word may " +
      "come from its neighbour.",
  ],
};

// ---- the mathematics ---------------------------------------------------------------------

const weighted = (weights, values) => sum(weights.map((weight, n) => weight * values[n]));

// The Jensen-Shannon divergence with the natural logarithm, at most log 2.
function divergence(p, q) {
  const part = (a, b) => (a > 0 ? a * Math.log((2 * a) / (a + b)) : 0);
  return sum(p.map((a, n) => part(a, q[n]) + part(q[n], a))) / 2;
}

// A seed always gives the same order (Fisher and Yates).
function shuffled(weights, seed) {
  const { uniform } = generator(seed);
  const order = [...weights];
  for (let i = order.length - 1; i > 0; i--) {
    const j = Math.floor((i + 1) * uniform());
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}

// The weights furthest from a model's own of all that change its answer by the tolerance at most.
// The distance is convex, so it is largest in a corner of what is allowed: at one word alone, or at
// two that bring the answer just to a limit.
export function adversary(own, values) {
  const p = sigmoid(weighted(own, values));
  const limits = [p - TOLERANCE, p + TOLERANCE].map((limit) => {
    const within = clamp(limit, [0, 1]);
    return Math.log(within / (1 - within));
  });
  const corners = [];
  const put = (shares) => corners.push(own.map((_, n) => shares[n] ?? 0));
  values.forEach((low, i) => {
    if (limits[0] <= low && low <= limits[1]) put({ [i]: 1 });
    values.forEach((high, j) => {
      for (const limit of limits) {
        const share = (limit - low) / (high - low);
        if (low < limit && limit < high) put({ [i]: 1 - share, [j]: share });
      }
    });
  });
  return corners[argmax(corners.map((corner) => divergence(own, corner)))];
}

// One weight is moved; the others share the rest as they shared it before.
export function moved(weights, which, value) {
  const rest = 1 - weights[which];
  const share = (weight) => (rest > 1e-9 ? weight / rest : 1 / (weights.length - 1));
  return weights.map((weight, n) => (n === which ? value : (1 - value) * share(weight)));
}

export function compute({ text, encoder, kind, shuffle, yours, ...readers }) {
  const [own, values] = readers[encoder].map((texts) => texts[text]);
  const shuffles = Array.from({ length: SHUFFLES }, (_, i) => shuffled(own, i + 1));
  const weights = {
    own: () => own,
    equal: () => own.map(() => 1 / own.length),
    shuffled: () => shuffles[shuffle - 1],
    adversary: () => adversary(own, values),
    yours: () => yours,
  }[kind]();
  const answer = (some) => sigmoid(weighted(some, values));
  const p = answer(own);
  const answers = shuffles.map(answer);
  const changes = answers.map((other) => Math.abs(other - p)).sort((a, b) => a - b);
  return {
    own,
    values,
    weights,
    contributions: weights.map((weight, n) => weight * values[n]),
    score: weighted(weights, values),
    p: answer(weights),
    pOwn: p,
    distance: divergence(own, weights),
    shuffles: answers,
    median: (changes[SHUFFLES / 2 - 1] + changes[SHUFFLES / 2]) / 2,
    turned: answers.filter((other) => other > 0.5 !== p > 0.5).length,
  };
}

// ---- the picture -------------------------------------------------------------------------

const WIDTH = 400;
const ROW = 23;
const TOP = 92;
const LEFT = 84; // where the words end and a weight of 0 stands
const TRACK = 112;
const MIDDLE = 314; // where a value of 0 stands
const REACH = 78;
const STRIP = { left: 58, right: 342, y: 30 };

function build({ stage, side, change, state }) {
  const rows = state().texts[0].length;
  const height = TOP + rows * ROW + 4;
  const picture = plane({
    label: WORDS.stage, width: WIDTH, height, margin: 0,
    x: [-LEFT / TRACK, (WIDTH - LEFT) / TRACK], y: [-rows - 4 / ROW, TOP / ROW],
  });
  const tick = (x, y, text) => svg("text", { class: "attn-tick", x, y }, text);
  const upright = (x, y, arm) => `M${x} ${y - arm}v${2 * arm}`;
  const across = (p) => STRIP.left + p * (STRIP.right - STRIP.left);
  const middle = (i) => TOP + (i + 0.5) * ROW;
  const cloud = svg("path", { class: "attn-cloud", style: "stroke-width: 2px" });
  const before = svg("path", { class: "attn-equal", style: "stroke-width: 2.5px" });
  const sign = svg("path", { d: "M0 -13L13 0L0 13L-13 0Z" });
  const line = svg("path", { class: "attn-curve" });
  const layers = Array.from({ length: 3 }, () => svg("g", { "aria-hidden": "true" }));
  const grips = svg("g");
  picture.node.append(
    svg("path", { class: "attn-axis", d: `M${across(0)} ${STRIP.y}H${across(1)}` }),
    svg("path", { class: "attn-axis", d: upright(across(0.5), STRIP.y, 5) }),
    tick(20, STRIP.y + 4, WORDS.bad),
    tick(WIDTH - 20, STRIP.y + 4, WORDS.good),
    cloud,
    before,
    svg("g", { class: "attn-read" }, sign),
    tick(LEFT + TRACK / 2, TOP - 12, WORDS.heads.weight),
    tick(MIDDLE, TOP - 12, WORDS.heads.value),
    svg("path", { class: "attn-axis", d: `M${MIDDLE} ${TOP}V${height - 4}` }),
    ...layers,
    line,
    grips,
  );
  stage.append(picture.node);
  const names = pool(layers[0], () => svg("text", { class: "attn-number", style: "text-anchor: end" }));
  const bars = pool(layers[0], () => svg("rect", { class: "attn-column", "fill-opacity": 0.35 }));
  const marks = pool(layers[0], () => svg("path", { class: "attn-mark" }));
  const numbers = pool(layers[0], () => svg("text", { class: "attn-number attn-start" }));
  const parts = pool(layers[1], () => svg("rect", { class: "attn-value" }));
  const diamonds = pool(layers[2], () => svg("path", { class: "attn-needed", d: "M0 -6L6 0L0 6L-6 0Z" }));
  const handles = pool(grips, (i) => {
    const made = handle(picture, {
      role: "column",
      marker: "square",
      letter: "",
      label: fill(WORDS.weight, { n: i + 1, word: "" }),
      spoken: WORDS.spoken,
      step: 0.05,
      move: ([x]) =>
        change({ kind: "yours", yours: moved(compute(state()).weights, i, clamp(x, [0, 1])) }),
    });
    // A row is lower than the handles of the kit, so a finger gets more room sideways.
    const [reach, ring, square] = made.node.children;
    set(reach, { r: ROW / 2, transform: "scale(2 1)" });
    set(ring, { r: ROW / 2 - 1 });
    set(square, { x: -4, y: -7, width: 8, height: 14 });
    return made;
  });

  const encoder = choice({
    label: WORDS.encoder, options: WORDS.encoders, change: (value) => change({ encoder: value }),
  });
  // The hand starts from what is seen.
  const kind = choice({
    label: WORDS.kind,
    options: WORDS.kinds,
    change: (value) => change({ kind: value, yours: compute(state()).weights }),
  });
  const which = slider({
    label: WORDS.shuffle,
    values: Array.from({ length: SHUFFLES }, (_, i) => i + 1),
    spoken: WORDS.shuffleSpoken,
    change: (value) => change({ kind: "shuffled", shuffle: value }),
  });
  const readings = html("div", { class: "attn-readings" });
  side.append(encoder.node, kind.node, which.node, readings);

  return (now) => {
    const words = now.texts[now.text];
    const both = Object.fromEntries(
      Object.keys(WORDS.readers).map((name) => [name, compute({ ...now, encoder: name })]),
    );
    const result = both[now.encoder];
    const { own, values, weights, contributions } = result;
    const most = Math.max(...Object.values(both).flatMap((one) => one.values.map(Math.abs)));
    const aside = (value) => MIDDLE + (REACH * value) / most;
    set(cloud, { d: result.shuffles.map((p) => upright(across(p), STRIP.y, 8)).join("") });
    set(before, { d: upright(across(result.pOwn), STRIP.y, 22) });
    set(sign, { transform: `translate(${across(result.p)} ${STRIP.y})` });
    set(line, { d: `M${aside(result.score)} ${TOP}V${height - 4}` });
    names(rows).forEach((name, i) => {
      set(name, { x: LEFT - 8, y: middle(i) + 4 }).textContent = words[i];
    });
    bars(rows).forEach((bar, i) =>
      set(bar, { x: LEFT, y: middle(i) - 5, width: TRACK * weights[i], height: 10 }),
    );
    marks(rows).forEach((mark, i) => set(mark, { d: upright(LEFT + TRACK * own[i], middle(i), 9) }));
    numbers(rows).forEach((number, i) => {
      set(number, { x: LEFT + TRACK * weights[i] + 8, y: middle(i) + 4 });
      number.textContent = weights[i] < 0.005 ? "" : show(weights[i]);
    });
    parts(rows).forEach((part, i) => {
      const ends = [MIDDLE, aside(contributions[i])].sort((a, b) => a - b);
      set(part, { x: ends[0], y: middle(i) - 4, width: ends[1] - ends[0], height: 8 });
    });
    diamonds(rows).forEach((diamond, i) =>
      set(diamond, { transform: `translate(${aside(values[i])} ${middle(i)})` }),
    );
    handles(rows).forEach(({ node, show: place }, i) => {
      place([weights[i], -i - 0.5]);
      set(node, {
        "aria-label": fill(WORDS.weight, { n: i + 1, word: words[i] }),
        "aria-valuemin": 0, "aria-valuemax": 1,
      });
    });
    encoder.show(now.encoder);
    kind.show(now.kind);
    which.show(now.shuffle);
    readings.replaceChildren(table(summary(both)));
    return {
      sentence: sentence(now, words, result),
      tables: () => [detail(now, words, result), everyShuffle(both)],
    };
  };
}

function sentence({ encoder, kind }, words, { p, pOwn, score, contributions }) {
  const verdict = (probability) => WORDS[probability > 0.5 ? "good" : "bad"];
  const said = { encoder: WORDS.readers[encoder], answer: verdict(p) };
  const found = { ...said, weights: WORDS.weights[kind], p: show(p), own: show(pOwn) };
  if (kind === "own") {
    return fill(WORDS.own, { ...found, word: words[argmax(contributions.map((one) => one * score))] });
  }
  return fill(verdict(p) === verdict(pOwn) ? WORDS.same : WORDS.turned, found);
}

function summary(both) {
  const words = WORDS.readings;
  const row = (name, of) => [name, ...Object.values(both).map(of)];
  return {
    caption: words.caption,
    head: ["", ...Object.values(WORDS.readers)],
    rows: [
      row(words.own, ({ pOwn }) => show(pOwn)),
      row(words.now, ({ p }) => show(p)),
      row(words.distance, ({ distance }) => show(distance)),
      row(words.median, ({ median }) => show(median)),
      row(words.turned, ({ turned }) => String(turned)),
    ],
  };
}

const detail = ({ encoder }, words, { own, weights, values, contributions }) => ({
  caption: fill(WORDS.table, { encoder: WORDS.readers[encoder] }),
  head: WORDS.table_head,
  rows: words.map((word, n) => [
    `${n + 1} ${word}`,
    ...[own, weights, values, contributions].map((column) => show(column[n], 4)),
  ]),
});

const everyShuffle = (both) => ({
  caption: WORDS.shuffles,
  head: WORDS.shuffles_head,
  rows: both.recurrent.shuffles.map((_, i) => [
    String(i + 1),
    ...Object.values(both).map(({ shuffles }) => show(shuffles[i], 4)),
  ]),
});

const another = (_, { text, texts, kind }) => ({
  text: (text + 1) % texts.length,
  kind: kind === "yours" ? "own" : kind,
});

export default {
  render: (context) =>
    mount(context, {
      words: WORDS,
      traits: ["texts", "recurrent", "per_word", "text", "encoder", "kind", "shuffle", "yours"],
      another,
      build,
    }),
};
