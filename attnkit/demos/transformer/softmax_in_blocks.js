// Reads scores block by block, and shows what is kept of them until the softmax is done.
import {
  argmax, choice, clamp, fill, generator, handle, html, mount, plane, pool, round, set, show,
  slider, softmax, stepper, sum, svg, table,
} from "../kit.js";

const COUNT = 10;

const WORDS = {
  title: "Softmax without seeing it all",
  question:
    "Ten scores come in blocks, and each block may be read only once. How can you divide by a " +
    "sum that you do not know yet, or subtract a maximum that may come last? Say it, then step " +
    "through the blocks. Then lift the last block, and leave the rescaling out.",
  stage: "Scores in blocks, the weights so far and the read so far",
  scores: "scores",
  score: "Score {n}",
  place: "{y}",
  lifted: "+{lift}",
  weights: "weights so far, add to {sum}",
  read: "read so far",
  back: "Block back",
  forward: "Read next block",
  block: "Scores in a block",
  blockSpoken: "{value} scores in a block",
  lift: "Added to the last block",
  liftSpoken: "{value} added to the scores of the last block",
  rule: "Maximum",
  rules: {
    running: "running, what is kept is rescaled",
    forgetful: "running, nothing is rescaled",
    raw: "not subtracted",
  },
  nan: "NaN",
  infinity: "∞",
  legend:
    "Squares: the scores; drag them. Frames: the blocks, thick the one just read, dashed those " +
    "to come; the ring marks the maximum so far. Outlines: the weights of all ten at once. " +
    "Diamonds: the values; the thick one is the read so far, and the dashed line is its goal.",
  before: "Nothing is read yet. Nothing is known but that {blocks} blocks will come.",
  first: "The first block is read. Its largest score is {top}.",
  raised:
    "Block {step} of {blocks} has a larger score, {top}: what was kept is multiplied by {factor} " +
    "before the block is added.",
  kept: "Block {step} of {blocks} has no larger score: the factor is 1, and the block is added.",
  forgot:
    "Block {step} of {blocks} has a larger score, {top}, but what was kept still counts from the " +
    "old maximum, {old}.",
  raw: "Block {step} of {blocks} is added as it is: e to the power of {top} is {power}.",
  right: " All is read, and the read is {read}, as all at once.",
  wrong: " All is read, and the read is {read}; all at once it is {whole}.",
  measures: "What is kept",
  head: ["name", "so far", "all at once"],
  names: {
    maximum: "maximum t",
    denominator: "denominator ℓ",
    total: "sum o",
    read: "read o / ℓ",
  },
  steps: "After each block",
  step: ["block", "maximum", "factor", "denominator", "sum", "read"],
  items: "Items",
  item: ["item", "score", "value", "weight so far", "weight at once"],
  answers: [
    "You need not know them. Keep three things: the largest score so far, the sum of the powers " +
      "measured from it, and the sum of the values weighted by those powers. When a larger score " +
      "comes, all powers were too large by one common factor, e to the power of old minus new " +
      "maximum. Multiply both sums by it and go on. At the end the result is that of the whole.",
    "Without the rescaling the blocks are measured from different maxima. As long as no later " +
      "block is larger, nobody notices. Lift the last block by 3, and the earlier ones count too " +
      "much.",
    "Without subtracting a maximum it works too, on small scores. Lift the last block by 1000: " +
      "its powers overflow to infinity, and infinity by infinity is no number. The running " +
      "maximum keeps every power at most 1.",
    "The size of the blocks does not matter, not even when the last one is shorter. It sets how " +
      "much must be held at once, and no part of the result.",
  ],
};

const LIMITS = [-4, 4];
const BLOCKS = [1, 2, 3, 5, 10];
const LIFTS = [0, 1, 3, 10, 100, 1000];

// Where the last block begins; it may be shorter.
const lastStart = (block) => block * Math.floor((COUNT - 1) / block);

// What is kept after each block, the powers of all items read included; and the softmax of all.
export function compute({ scores: placed, values, lift, block, rule }) {
  const scores = placed.map((score, n) => (n >= lastStart(block) ? score + lift : score));
  const steps = [];
  let kept = { maximum: rule === "raw" ? 0 : -Infinity, denominator: 0, total: 0, powers: [] };
  for (let start = 0; start < COUNT; start += block) {
    const coming = scores.slice(start, start + block);
    const top = Math.max(...coming);
    const maximum = rule === "raw" ? 0 : Math.max(kept.maximum, top);
    const factor = rule === "running" ? Math.exp(kept.maximum - maximum) : 1;
    const powers = coming.map((score) => Math.exp(score - maximum));
    kept = {
      maximum,
      denominator: kept.denominator * factor + sum(powers),
      total: kept.total * factor + sum(powers.map((power, i) => power * values[start + i])),
      powers: [...kept.powers.map((power) => power * factor), ...powers],
    };
    steps.push({ ...kept, top, factor, read: kept.total / kept.denominator });
  }
  const maximum = Math.max(...scores);
  const denominator = sum(scores.map((score) => Math.exp(score - maximum)));
  const weights = softmax(scores);
  const read = sum(weights.map((weight, n) => weight * values[n]));
  const whole = { maximum, denominator, total: read * denominator, weights, read };
  return { scores, steps, whole };
}

// ---- the picture -------------------------------------------------------------------------

// The scores are drawn to scale; below are the weights, the values, and a line for the read.
const ROOM = 4;
const WEIGHTS = -10.6;
const VALUES = -12;
const READ = -15;
const HIGHEST = 9;

const number = (value, digits = 2) => {
  if (Number.isNaN(value)) return WORDS.nan;
  if (value === Infinity) return WORDS.infinity;
  const size = Math.abs(value);
  const extreme = size >= 1e6 || (size > 0 && size < 10 ** -digits);
  return extreme ? value.toExponential(1).replace("e+", "e") : show(value, digits);
};

// The weights of the items read so far.
const share = (step) => step?.powers.map((power) => power / step.denominator) ?? [];

function item() {
  const bar = svg("rect", { class: "attn-column" });
  const outline = svg("rect", { class: "attn-axis" });
  const amount = svg("text", { class: "attn-number" });
  return { node: svg("g", {}, bar, outline, amount), bar, outline, amount };
}

function diamond() {
  const mark = svg("path", { class: "attn-value", d: "M0 -13L13 0L0 13L-13 0Z" });
  const letter = svg("text", { class: "attn-letter", y: 5 });
  return { node: svg("g", {}, mark, letter), letter };
}

function build({ stage, side, change, state }) {
  const picture = plane({
    label: WORDS.stage, width: 400, height: 470, margin: 22,
    x: [0.4, COUNT + 0.6], y: [READ - 0.5, LIMITS[1] + 1.2],
  });
  const back = svg("g", { "aria-hidden": "true" });
  const [left] = picture.at([picture.x[0], 0]);
  const line = (level, kind) =>
    svg("path", { class: kind, d: picture.path([[picture.x[0], level], [picture.x[1], level]]) });
  const title = (level, text) =>
    svg("text", { class: "attn-tick attn-start", x: left, y: picture.at([0, level])[1] }, text);
  for (const level of [-4, -2, 0, 2, 4]) {
    const y = picture.at([0, level])[1] + 4;
    const tick = svg("text", { class: "attn-tick", x: left - 11, y }, show(level, 0));
    back.append(line(level, level ? "attn-grid" : "attn-axis"), tick);
  }
  const weighed = title(WEIGHTS + ROOM + 0.7, "");
  const lifted = svg("text", { class: "attn-number" });
  back.append(
    title(LIMITS[1] + 1, WORDS.scores), lifted, weighed, line(WEIGHTS, "attn-axis"),
    title(READ + 1.2, WORDS.read), line(READ, "attn-axis"),
  );
  const frames = pool(back, () => svg("rect"));
  const stems = pool(back, () => svg("path", { class: "attn-ray" }))(COUNT);
  const items = pool(back, item)(COUNT);
  const values = pool(back, diamond)(COUNT);
  const along = (value) => picture.at([1 + (value / HIGHEST) * (COUNT - 1), READ]);
  for (const value of [0, 3, 6, 9]) {
    const [x, y] = along(value);
    back.append(svg("text", { class: "attn-tick", x, y: y + 24 }, String(value)));
  }
  const goal = svg("path", { class: "attn-equal" });
  const read = svg("g", { class: "attn-read" }, svg("path", { d: "M0 -11L11 0L0 11L-11 0Z" }));
  const ring = svg("circle", { class: "attn-target", r: 16 });
  back.append(goal, read, ring);
  const handles = Array.from({ length: COUNT }, (_, i) =>
    handle(picture, {
      role: "key",
      marker: "square",
      letter: String(i + 1),
      label: fill(WORDS.score, { n: i + 1 }),
      spoken: WORDS.place,
      move: ([, y]) =>
        change({ scores: state().scores.map((old, n) => (n === i ? clamp(y, LIMITS) : old)) }),
    }),
  );
  picture.node.append(back, ...handles.map(({ node }) => node));
  stage.append(picture.node);

  const last = () => Math.ceil(COUNT / state().block);
  const buttons = stepper({
    back: WORDS.back,
    forward: WORDS.forward,
    move: (by) => change({ step: clamp(Math.min(state().step, last()) + by, [0, last()]) }),
  });
  const block = slider({
    label: WORDS.block,
    values: BLOCKS,
    spoken: WORDS.blockSpoken,
    change: (value) => change({ block: value }),
  });
  const lift = slider({
    label: WORDS.lift,
    values: LIFTS,
    spoken: WORDS.liftSpoken,
    change: (value) => change({ lift: value }),
  });
  const rule = choice({
    label: WORDS.rule,
    options: WORDS.rules,
    change: (value) => change({ rule: value }),
  });
  const readings = html("div", { class: "attn-readings" });
  side.append(buttons, lift.node, block.node, rule.node, readings);

  return (now) => {
    const result = compute(now);
    const { scores, steps, whole } = result;
    const step = Math.min(now.step, steps.length);
    const current = steps[step - 1];
    const weights = share(current);
    const top = picture.at([0, LIMITS[1] + 0.6])[1];
    const bottom = picture.at([0, LIMITS[0] - 0.6])[1];
    frames(steps.length).forEach((frame, i) => {
      const [start, end] = [i * now.block, Math.min((i + 1) * now.block, COUNT)];
      const [x] = picture.at([start + 0.5, 0]);
      const [right] = picture.at([end + 0.5, 0]);
      const kind = i + 1 === step ? "attn-target" : i < step ? "attn-mark" : "attn-equal";
      set(frame, { class: kind, x: x + 2, y: top, width: right - x - 4, height: bottom - top });
    });
    const [middle] = picture.at([(lastStart(now.block) + COUNT + 1) / 2, 0]);
    set(lifted, { x: middle, y: top - 5 });
    lifted.textContent = now.lift ? fill(WORDS.lifted, { lift: now.lift }) : "";
    const holder = argmax(scores.slice(0, weights.length));
    const [ringX, ringY] = picture.at([holder + 1, now.scores[holder] ?? 0]);
    set(ring, { cx: ringX, cy: ringY, visibility: current ? "visible" : "hidden" });
    items.forEach(({ bar, outline, amount }, n) => {
      const upright = (rect, weight) => {
        const [x, y] = picture.at([n + 1, WEIGHTS + ROOM * weight]);
        set(rect, { x: x - 9, y, width: 18, height: picture.at([0, WEIGHTS])[1] - y });
      };
      const weight = weights[n] || 0; // NaN has no height
      upright(bar, weight);
      upright(outline, whole.weights[n]);
      const [x, y] = picture.at([n + 1, WEIGHTS + ROOM * weight]);
      set(amount, { x, y: y - 4 });
      amount.textContent =
        n >= weights.length ? "" : Number.isNaN(weights[n]) ? WORDS.nan : show(weights[n]);
      set(stems[n], { d: picture.path([[n + 1, 0], [n + 1, now.scores[n]]]) });
      set(values[n].node, { transform: `translate(${picture.at([n + 1, VALUES])})` });
      values[n].letter.textContent = String(now.values[n]);
      handles[n].show([n + 1, now.scores[n]]);
      set(handles[n].node, {
        "aria-valuemin": LIMITS[0], "aria-valuemax": LIMITS[1], "aria-valuenow": now.scores[n],
      });
    });
    weighed.textContent = fill(WORDS.weights, { sum: number(sum(weights)) });
    const [goalX, goalY] = along(whole.read);
    set(goal, { d: `M${goalX} ${goalY - 16}V${goalY + 12}` });
    const found = Number.isFinite(current?.read);
    set(read, { visibility: found ? "visible" : "hidden" });
    if (found) set(read, { transform: `translate(${along(current.read)})` });
    block.show(now.block);
    lift.show(now.lift);
    rule.show(now.rule);
    readings.replaceChildren(table(measures(current, whole)));
    return {
      sentence: sentence(now, result, step),
      tables: () => tables(now, result, step),
    };
  };
}

function sentence({ rule }, { steps, whole }, step) {
  const blocks = steps.length;
  if (step === 0) return fill(WORDS.before, { blocks });
  const { top, factor, read } = steps[step - 1];
  const old = steps[step - 2]?.maximum;
  const larger = top > old;
  const template =
    rule === "raw" ? "raw"
    : step === 1 ? "first"
    : !larger ? "kept"
    : rule === "running" ? "raised" : "forgot";
  const said = fill(WORDS[template], {
    step, blocks, top: show(top), factor: number(factor), old: number(old ?? 0),
    power: number(Math.exp(top)),
  });
  if (step < blocks) return said;
  const right = Math.abs(read - whole.read) < 1e-9;
  const end = { read: number(read), whole: number(whole.read) };
  return said + fill(right ? WORDS.right : WORDS.wrong, end);
}

const measures = (current, whole) => ({
  caption: WORDS.measures,
  head: WORDS.head,
  rows: Object.entries(WORDS.names).map(([name, label]) => [
    label, current ? number(current[name]) : "", number(whole[name]),
  ]),
});

const tables = (now, { scores, steps, whole }, step) => [
  {
    caption: WORDS.steps,
    head: WORDS.step,
    rows: steps.slice(0, step).map(({ maximum, factor, denominator, total, read }, i) => [
      String(i + 1),
      ...[maximum, factor, denominator, total, read].map((value) => number(value, 4)),
    ]),
  },
  {
    caption: WORDS.items,
    head: WORDS.item,
    rows: scores.map((score, n) => [
      String(n + 1), number(score, 4), String(now.values[n]),
      number(share(steps[step - 1])[n] ?? 0, 4), number(whole.weights[n], 4),
    ]),
  },
];

function another(seed) {
  const { normal, uniform } = generator(seed);
  const draw = (make) => Array.from({ length: COUNT }, make);
  return {
    scores: draw(() => clamp(round(1.5 * normal(), 1), LIMITS)),
    values: draw(() => Math.floor((HIGHEST + 1) * uniform())),
    step: 0,
  };
}

export default {
  render: (context) =>
    mount(context, {
      words: WORDS,
      traits: ["scores", "values", "lift", "block", "rule", "step"],
      another,
      build,
    }),
};
