// Lets a trained pointer network sort numbers, and shows where each of its steps points.
import {
  argmax, bars, choice, clamp, fill, generator, html, mount, parameters, plus, pool, set, show,
  sigmoid, softmax, stepGrid, stepper, svg, times,
} from "../kit.js";

const MOST = 12;
const LARGEST = 999;

const WORDS = {
  title: "The sorter",
  question:
    "This network points at the numbers, the largest first, and then at the gate. In training it " +
    "saw 3 to 5 numbers at a time. What will happen with more? And what without its mask? Say it, " +
    "then type numbers and step.",
  stage: "Weights of each step (rows) over the numbers and the gate (columns)",
  typed: "2 to 12 numbers up to 999",
  mask: "What has been pointed at is",
  options: { on: "hidden (mask on)", off: "visible (mask off)" },
  back: "Step back",
  forward: "Step forward",
  bars: "Weights of this step over the slots",
  gate: "gate",
  stop: "■",
  needed: "next",
  pointed: "before",
  legend:
    "Squares: the numbers, and the gate (■). Diamonds: the output, the place that each step points " +
    "at, counted from 1; ■ is STOP. Each row is one step: the fuller a cell, the larger its weight. " +
    "A crossed cell is hidden. An outlined diamond marks the largest number that is left.",
  before: "Nothing is written yet. Step 1 should point at place {place}, the number {number}.",
  right: "Step {step} points at place {slot}, the number {number} (weight {weight}). That is right.",
  wrong:
    "Step {step} points at place {slot}, the number {number} (weight {weight}). The largest that is " +
    "left is {wanted}, at place {place}.",
  repeated:
    "Step {step} points at place {slot}, the number {number} (weight {weight}), and it has pointed " +
    "there before.",
  late:
    "Step {step} points at place {slot}, the number {number} (weight {weight}). It should have " +
    "stopped.",
  stopped: "Step {step} points at the gate (weight {weight}): STOP. All numbers are written, in order.",
  early: "Step {step} points at the gate (weight {weight}): STOP. The numbers are not sorted.",
  table: "Weights of all steps",
  head: "step: points at",
  answers: [
    "With the mask it sorts nearly all lists of three to five numbers, and most lists of twelve: it " +
      "has learned to point at the largest of those that are left, and this does not depend on how " +
      "many there are. Where it fails it swaps numbers that lie close together, such as 500, 501 " +
      "and 502. It is a network, not an algorithm.",
    "Without the mask it repeats itself: step after step it points at the largest number, and never " +
      "at the gate. While it was trained the mask kept what had been pointed at out of the softmax, " +
      "so nothing ever taught it to score such numbers low. The mask is part of the model.",
    "Type the same number twice. The two have different weights: the network points at states, " +
      "and the state of the second has read the first.",
  ],
};

// ---- the network -------------------------------------------------------------------------

// One step of a long short-term memory; torch keeps the rows of input gate, forget gate, candidate
// and output gate in turn.
function lstm(p, name, input, { hidden, cell }) {
  const of = (kind) => p[`${name}.${kind}_l0`];
  const sums = plus(
    plus(times(of("weight_ih"), input), of("bias_ih")),
    plus(times(of("weight_hh"), hidden), of("bias_hh")),
  );
  const size = hidden.length;
  const kept = cell.map((old, i) => {
    const candidate = Math.tanh(sums[2 * size + i]);
    return sigmoid(sums[size + i]) * old + sigmoid(sums[i]) * candidate;
  });
  return { cell: kept, hidden: kept.map((c, i) => sigmoid(sums[3 * size + i]) * Math.tanh(c)) };
}

// All steps, each with its weights over the slots, the gate first, and the slot it points at.
export function compute({ numbers, masked, network }) {
  const p = parameters(network);
  const slope = p["embed.weight"].map((row) => row[0]);
  const items = numbers.map((number) =>
    plus(slope.map((a) => (a * number) / 1000), p["embed.bias"]),
  );
  const inputs = [p.go, ...items];
  const zeros = new Array(p.stop.length).fill(0);
  let state = { hidden: zeros, cell: zeros };
  const states = items.map((item) => (state = lstm(p, "encoder", item, state)).hidden);
  const keys = [p.stop, ...states].map((e) => times(p["of_key.weight"], e));
  const visible = inputs.map(() => true);
  let slot = 0;
  const steps = inputs.map(() => {
    state = lstm(p, "decoder", inputs[slot], state);
    const query = times(p["of_query.weight"], state.hidden);
    const scores = keys.map((key, n) =>
      visible[n] ? times(p["v.weight"], plus(key, query).map(Math.tanh))[0] : -Infinity,
    );
    const step = { weights: softmax(scores), hidden: visible.map((seen) => !seen) };
    slot = argmax(step.weights);
    if (slot === 0) visible.fill(false, 1);
    else if (masked) visible[slot] = false;
    return { ...step, slot };
  });
  const stop = steps.findIndex((step) => step.slot === 0);
  return { steps: stop < 0 ? steps : steps.slice(0, stop + 1) };
}

// Where each step should point: at the largest number that is left by what was `chosen` before it.
// Of equal numbers the one further left comes first, unless the step has chosen another of them.
export function targets(numbers, chosen) {
  const left = numbers.map((_, i) => i + 1).sort((a, b) => numbers[b - 1] - numbers[a - 1]);
  return [...numbers, 0].map((_, m) => {
    if (!left.length) return 0;
    const equal = left.filter((slot) => numbers[slot - 1] === numbers[left[0] - 1]);
    const target = equal.includes(chosen[m]) ? chosen[m] : equal[0];
    const taken = left.indexOf(m < chosen.length ? chosen[m] : target);
    if (taken >= 0) left.splice(taken, 1);
    return target;
  });
}

// ---- the picture -------------------------------------------------------------------------

// The gate is slot 0 and stands behind the last number.
const column = (slot, slots) => (slot + slots - 1) % slots;
const turned = (row) => [...row.slice(1), row[0]];

function build({ stage, side, change, state }) {
  const picture = stepGrid({ label: WORDS.stage });
  stage.append(picture.node);
  const crosses = pool(picture.between, () => svg("path", { class: "attn-axis" }));

  const text = html("input", { type: "text", autocomplete: "off", spellcheck: "false" });
  set(text, { style: "letter-spacing: 0" }); // many numbers in a narrow box
  text.addEventListener("input", () => {
    const numbers = (text.value.match(/\d+/g) ?? []).map(Number);
    const fits = numbers.every((number) => number <= LARGEST);
    if (fits && numbers.length >= 2 && numbers.length <= MOST) {
      change({ numbers, step: Math.min(state().step, numbers.length + 1) });
    }
  });
  // What is half typed is left alone, and what was taken is shown afterwards.
  text.addEventListener("blur", () => (text.value = state().numbers.join(" ")));
  const typed = html("label", { class: "attn-field" }, WORDS.typed, text);
  const mask = choice({
    label: WORDS.mask,
    options: WORDS.options,
    change: (value) => change({ masked: value === "on" }),
  });
  const move = (by) => {
    const last = compute(state()).steps.length;
    change({ step: clamp(Math.min(state().step, last) + by, [0, last]) });
  };
  const buttons = stepper({ back: WORDS.back, forward: WORDS.forward, move });
  const list = bars(WORDS.bars);
  set(list.node, { style: "min-height: 20rem; align-content: start" }); // room for thirteen
  side.append(typed, buttons, mask.node, list.node);

  return (now) => {
    const { numbers } = now;
    const { steps } = compute(now);
    const names = [WORDS.stop, ...numbers.map(String)];
    const slots = names.length;
    const done = steps.slice(0, now.step);
    const wanted = targets(numbers, done.map(({ slot }) => slot));
    const step = done.length;
    const current = done.at(-1);
    const cell = picture.show({
      columns: turned(names),
      rows: done.map(({ slot }) => (slot ? String(slot) : WORDS.stop)),
      weights: done.map(({ weights }) => turned(weights)),
      wanted: done.map((_, row) => column(wanted[row], slots)),
    });
    const hidden = done.flatMap(({ hidden }) => turned(hidden)).flatMap((is, i) => (is ? [i] : []));
    crosses(hidden.length).forEach((cross, i) => {
      const [row, n] = [Math.floor(hidden[i] / slots), hidden[i] % slots];
      const [x, y, arm] = [(n + 0.5) * cell, (row + 0.5) * cell, 0.3 * cell];
      const d = `M${x - arm} ${y - arm}l${2 * arm} ${2 * arm}m0 ${-2 * arm}l${-2 * arm} ${2 * arm}`;
      set(cross, { d });
    });
    if (document.activeElement !== text) text.value = numbers.join(" ");
    mask.show(now.masked ? "on" : "off");
    const before = done.slice(0, -1).map(({ slot }) => slot);
    const notes = {};
    for (const slot of before) notes[column(slot, slots)] = WORDS.pointed;
    const place = wanted[Math.max(step - 1, 0)];
    notes[column(place, slots)] = WORDS.needed;
    const weights = current?.weights ?? names.map(() => 0);
    list.show(turned(names), turned(weights), notes);
    return {
      sentence: sentence({ step, current, before, wanted, numbers, done }),
      tables: () => [sheet(numbers, steps)],
    };
  };
}

function sentence({ step, current, before, wanted, numbers, done }) {
  const number = (slot) => numbers[slot - 1];
  if (!current) return fill(WORDS.before, { place: wanted[0], number: number(wanted[0]) });
  const { slot, weights } = current;
  const said = { step, slot, number: number(slot), weight: show(weights[slot]) };
  const place = wanted[step - 1];
  if (slot === 0) {
    const right = done.every((one, i) => one.slot === wanted[i]);
    return fill(right ? WORDS.stopped : WORDS.early, said);
  }
  if (before.includes(slot)) return fill(WORDS.repeated, said);
  if (slot === place) return fill(WORDS.right, said);
  if (place === 0) return fill(WORDS.late, said);
  return fill(WORDS.wrong, { ...said, place, wanted: number(place) });
}

const sheet = (numbers, steps) => ({
  caption: WORDS.table,
  head: [WORDS.head, ...numbers.map(String), WORDS.gate],
  rows: steps.map(({ weights, slot }, m) => [
    `${m + 1}: ${slot || WORDS.gate}`,
    ...turned(weights).map((weight) => show(weight, 4)),
  ]),
});

function another(seed) {
  const { uniform } = generator(seed);
  const below = (limit) => Math.floor(limit * uniform());
  const length = 3 + below(MOST - 2);
  return { numbers: Array.from({ length }, () => below(LARGEST + 1)), step: 0 };
}

export default {
  render: (context) =>
    mount(context, {
      words: WORDS,
      traits: ["numbers", "step", "masked", "network"],
      another,
      build,
    }),
};
