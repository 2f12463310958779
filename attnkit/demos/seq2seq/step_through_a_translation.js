// Runs a trained encoder and decoder on digits, and shows where each step of the decoder looks.
import {
  argmax, bars, choice, clamp, fill, generator, html, mount, parameters, plus, pool, set, show,
  sigmoid, softmax, stepGrid, stepper, sum, svg, times,
} from "../kit.js";

const LONGEST = 12;

const WORDS = {
  title: "Step through a translation",
  question:
    "The model has read the digits and writes them backwards. One is written. Which input will " +
    "step 3 look at? Say it, then step forward. Then let the values be embeddings, and ask again.",
  stage: "Weights of each step (rows) over the digits read (columns)",
  digits: "Digits to write backwards",
  values: "Values",
  options: { states: "states", embeddings: "embeddings" },
  back: "Step back",
  forward: "Step forward",
  bars: "Weights of this step over the digits read",
  read: "c",
  needed: "to write",
  legend:
    "Squares: the digits read, from left to right. Diamonds: the digits written, from top to " +
    "bottom. Each row is one step: the fuller a cell, the larger its weight. An outlined diamond " +
    "marks the digit that the step has to write. Below: the context of the step, number by number.",
  before:
    "Nothing is written yet. Step 1 has to write {needed}, which stands at position {place}. " +
    "Where will it look?",
  sentence:
    "Step {step} writes {written}. It looks most at position {peak} (digit {digit}, weight " +
    "{weight}); the digit to write stands at position {place}.",
  table: "Weights of all steps",
  head: "step writes",
  probabilities: "Probability of each digit",
  context: "The context of this step",
  entry: ["entry", "value"],
  answers: [
    "With states as values step 3 looks mostly one place to the right of the digit it writes: at " +
      "the digit that it has just written. The state there has read its neighbours and knows what " +
      "comes next. Most other steps do the same, and the output is right all the same.",
    "With embeddings as values the weights are found in the same way, but what is averaged knows " +
      "only its own digit. Now most steps look at the digit they write. The model is as good; what " +
      "it stores has changed, and with it what its pointing seems to say.",
    "Try twelve equal digits. The weights spread over more places, and yet they walk from the end " +
      "to the start: the states tell positions apart even where the digits do not.",
  ],
};

// ---- the model ---------------------------------------------------------------------------

const dot = (one, other) => one.reduce((total, value, i) => total + value * other[i], 0);

// One step of a gated recurrent unit; torch keeps the rows of reset, update and candidate in turn.
function gru(p, kind, suffix, input, state) {
  const size = state.length;
  const of = (name) => p[`${kind}.${name}${suffix}`];
  const a = plus(times(of("weight_ih"), input), of("bias_ih"));
  const b = plus(times(of("weight_hh"), state), of("bias_hh"));
  return Array.from(state, (old, i) => {
    const reset = sigmoid(a[i] + b[i]);
    const update = sigmoid(a[size + i] + b[size + i]);
    const candidate = Math.tanh(a[2 * size + i] + reset * b[2 * size + i]);
    return (1 - update) * candidate + update * old;
  });
}

function encode(p, source) {
  const embedded = source.map((digit) => p["encoder.embed.weight"][digit]);
  const run = (inputs, suffix) => {
    let state = new Array(p["encoder.gru.weight_hh_l0"][0].length).fill(0);
    return inputs.map((input) => (state = gru(p, "encoder.gru", suffix, input, state)));
  };
  const forwards = run(embedded, "_l0");
  const backwards = run([...embedded].reverse(), "_l0_reverse").reverse();
  return {
    embedded,
    annotations: forwards.map((state, i) => [...state, ...backwards[i]]),
    summary: [...forwards.at(-1), ...backwards[0]],
  };
}

// All steps of the decoder, each with its weights, context and probabilities of the next digit.
export function compute({ digits, values, states, embeddings }) {
  const p = parameters(values === "states" ? states : embeddings);
  const { embedded, annotations, summary } = encode(p, [...digits].map(Number));
  const items = values === "states" ? annotations : embedded;
  const keys = annotations.map((annotation) => times(p["of_key.weight"], annotation));
  let state = plus(times(p["first.weight"], summary), p["first.bias"]).map(Math.tanh);
  let symbol = p["embed.weight"].length - 1; // the start symbol is the last
  const steps = keys.map(() => {
    const query = times(p["of_query.weight"], state);
    const weights = softmax(keys.map((key) => dot(plus(key, query).map(Math.tanh), p["v.weight"][0])));
    const context = Array.from(items[0], (_, d) => sum(items.map((item, n) => weights[n] * item[d])));
    state = gru(p, "cell", "", [...p["embed.weight"][symbol], ...context], state);
    const logits = plus(times(p["output.weight"], [...state, ...context]), p["output.bias"]);
    symbol = argmax(logits);
    return { weights, context, probabilities: softmax(logits), written: symbol };
  });
  return { steps };
}

// ---- the picture -------------------------------------------------------------------------

const STRIP = 24; // half the height of the context's bars

function build({ stage, side, change, state }) {
  const picture = stepGrid({ label: WORDS.stage, foot: 2 * STRIP });
  const { edge, extent } = picture;
  const middle = extent + STRIP;
  const strip = svg("g", { class: "attn-value", transform: `translate(${edge} ${middle})` });
  picture.node.append(
    strip,
    svg("path", { class: "attn-axis", d: `M${edge} ${middle}H${extent}` }),
    svg("text", { class: "attn-tick", x: edge / 2, y: middle + 5 }, WORDS.read),
  );
  stage.append(picture.node);
  const entries = pool(strip, () => svg("rect"));

  const text = html("input", {
    type: "text", inputmode: "numeric", maxlength: LONGEST, autocomplete: "off", spellcheck: "false",
  });
  text.addEventListener("input", () => {
    const digits = text.value.replace(/\D/g, "").slice(0, LONGEST);
    text.value = digits;
    if (digits) change({ digits, step: Math.min(state().step, digits.length) });
  });
  // An empty box is left alone while one types, and filled again afterwards.
  text.addEventListener("blur", () => (text.value = state().digits));
  const typed = html("label", { class: "attn-field" }, WORDS.digits, text);
  const values = choice({
    label: WORDS.values,
    options: WORDS.options,
    change: (value) => change({ values: value }),
  });
  const move = (by) => {
    const { step, digits } = state();
    change({ step: clamp(step + by, [0, digits.length]) });
  };
  const buttons = stepper({ back: WORDS.back, forward: WORDS.forward, move });
  const list = bars(WORDS.bars);
  set(list.node, { style: "min-height: 17.5rem; align-content: start" }); // room for twelve
  side.append(typed, buttons, values.node, list.node);

  return (now) => {
    const { steps } = compute(now);
    const { digits } = now;
    const count = digits.length;
    const step = Math.min(now.step, count);
    const done = steps.slice(0, step);
    const place = count - Math.max(step, 1); // of the digit that this step has to write
    picture.show({
      columns: [...digits],
      rows: done.map(({ written }) => String(written)),
      weights: done.map(({ weights }) => weights),
      wanted: done.map((_, row) => count - 1 - row),
    });
    const current = done.at(-1);
    const context = current?.context ?? [];
    const tallest = Math.max(1, ...context.map(Math.abs));
    const width = (extent - edge) / context.length;
    entries(context.length).forEach((entry, i) => {
      const height = (STRIP * Math.abs(context[i])) / tallest;
      const y = context[i] > 0 ? -height : 0;
      set(entry, { x: i * width, y, width: 0.7 * width, height });
    });
    if (document.activeElement !== text) text.value = digits;
    values.show(now.values);
    const weights = current?.weights ?? [...digits].map(() => 0);
    list.show([...digits], weights, { [place]: WORDS.needed });
    const said = { step, needed: digits[place], place: place + 1 };
    if (current) {
      const peak = argmax(weights);
      Object.assign(said, {
        written: current.written, peak: peak + 1, digit: digits[peak], weight: show(weights[peak]),
      });
    }
    return {
      sentence: fill(current ? WORDS.sentence : WORDS.before, said),
      tables: () => tables(digits, steps, current),
    };
  };
}

const tables = (digits, steps, current) => {
  const rows = (numbers) =>
    steps.map((step, t) => [`${t + 1}: ${step.written}`, ...numbers(step).map((x) => show(x, 4))]);
  const weights = {
    caption: WORDS.table,
    head: [WORDS.head, ...digits],
    rows: rows((step) => step.weights),
  };
  const probabilities = {
    caption: WORDS.probabilities,
    head: [WORDS.head, ...Array.from({ length: 10 }, (_, digit) => String(digit))],
    rows: rows((step) => step.probabilities),
  };
  const context = current && {
    caption: WORDS.context,
    head: WORDS.entry,
    rows: current.context.map((value, i) => [String(i + 1), show(value, 4)]),
  };
  return [weights, probabilities, ...(context ? [context] : [])];
};

function another(seed) {
  const { uniform } = generator(seed);
  const length = 6 + Math.floor(7 * uniform());
  const digits = Array.from({ length }, () => Math.floor(10 * uniform())).join("");
  return { digits, step: 0 };
}

export default {
  render: (context) =>
    mount(context, {
      words: WORDS,
      traits: ["digits", "step", "values", "states", "embeddings"],
      another,
      build,
    }),
};
