// Lets a trained decoder copy a string that repeats itself, and shows how its two heads find it.
import {
  argmax, bars, choice, clamp, fill, generator, handle, html, mount, parameters, plane, plus, pool,
  set, show, softmax, stepper, sum, svg, times,
} from "../kit.js";

const ALPHABET = "abcdefghijklmnopqrstuvwxyz012345"; // a symbol for each token
const LONGEST = 14;
const LIKELIEST = 5; // so many next symbols are listed

const WORDS = {
  title: "An induction head at work",
  question:
    "This model has two layers with one head each. In training it saw random strings, each " +
    "written twice. It has read k q z m t b. If k comes again, what will it write next, and how " +
    "can it know? Say it, then type the k. Then switch one head off.",
  stage: "The text, and where each place looks in layer 1 (above) and layer 2 (below)",
  typed: "1 to 14 letters, or digits up to 5",
  asks: "Place that asks",
  spoken: "place {place}, {symbol}",
  heads: "Heads at work",
  options: { both: "both", second: "only layer 2", first: "only layer 1", none: "none" },
  back: "Take back",
  forward: "Write next letter",
  bars: "The likeliest next letters",
  followed: "followed",
  layers: ["layer 1", "layer 2"],
  off: "{layer}: off",
  legend:
    "Squares: the letters read. Round: the place that asks; drag it. Arcs lead from a place to " +
    "where it looks, the wider the larger the weight. Full ink: the asking place in layer 2, and " +
    "in layer 1 the place that it finds. Diamond: the next letter.",
  fresh:
    "{symbol} at place {place} has not been there before: nothing to copy, and in training it " +
    "did not count. The model says {next} (probability {probability}).",
  looks:
    "{symbol} stood at place {before}, and {wanted} followed. Layer 2 looks there with weight " +
    "{weight}. The model says {next} (probability {probability}).",
  blind:
    "{symbol} stood at place {before}, and {wanted} followed. The head of layer 2 is off: " +
    "nothing looks there. The model says {next} (probability {probability}).",
  copies: " At {right} of {count} such places of the text it says what followed.",
  table: ["Layer 1: weights", "Layer 2: weights"],
  head: "place",
  probabilities: "Probability of each next letter",
  answers: [
    "It writes the letter that followed the first time, and so copies the string to its end. Two " +
      "steps do it. The head of layer 1 looks at the place before. So each place now holds two " +
      "letters, its own and the one before it. The head of layer 2 looks for the place whose " +
      "letter before is the letter that asks, and reads what stands there.",
    "Switch off either head and the copying falls apart. Without layer 1 no place knows what " +
      "came before it: layer 2 still reads letters of the text, but has nothing to match, and is " +
      "right now and then. Without layer 2 nobody looks back for it, and mostly the model just " +
      "says the letter before, which is what layer 1 has fetched. So it is with one head in each " +
      "layer; where a layer has two, they may do the same work, and one can go.",
    "The strings were random, so no string can have been learned by heart: what was learned is " +
      "to look. Only the second half of each string counted. So where nothing repeats yet, what " +
      "the model says means nothing, however sure it is. In training all letters of a string differed. Type one twice, with different " +
      "followers, and the place that asks has two places to look at.",
  ],
};

// ---- the model ---------------------------------------------------------------------------

const dot = (one, other) => one.reduce((total, value, i) => total + value * other[i], 0);

function norm(p, name, vector) {
  const mean = sum(vector) / vector.length;
  const variance = sum(vector.map((value) => (value - mean) ** 2)) / vector.length;
  const scale = 1 / Math.sqrt(variance + 1e-5);
  const [gain, bias] = [p[`${name}.weight`], p[`${name}.bias`]];
  return vector.map((value, d) => gain[d] * (value - mean) * scale + bias[d]);
}

const WORKING = { both: [true, true], second: [false, true], first: [true, false], none: [] };

// The weights of both layers, a row for each place, and each place's probabilities of the next.
export function compute({ text, heads, decoder }) {
  const p = parameters(decoder);
  let X = [...text].map((symbol, n) =>
    plus(p["embed.weight"][ALPHABET.indexOf(symbol)], p["places.weight"][n]),
  );
  const weights = [0, 1].map((layer) => {
    const of = (name) => p[`blocks.${layer}.${name}.weight`];
    const Z = X.map((x) => norm(p, `blocks.${layer}.norm`, x));
    const [Q, K, V] = ["of_query", "of_key", "of_value"].map((name) =>
      Z.map((z) => times(of(name), z)),
    );
    const rows = Q.map((q, m) => {
      const seen = K.slice(0, m + 1).map((k) => dot(q, k) / Math.sqrt(q.length));
      return [...softmax(seen), ...K.slice(m + 1).map(() => 0)];
    });
    if (WORKING[heads][layer]) {
      X = X.map((x, m) => {
        const read = x.map((_, d) => sum(V.map((v, n) => rows[m][n] * v[d])));
        return plus(x, times(of("mix"), read));
      });
    }
    return rows;
  });
  const probabilities = X.map((x) =>
    softmax(plus(times(p["output.weight"], norm(p, "norm", x)), p["output.bias"])),
  );
  return { weights, probabilities };
}

// For each place the place behind the last one before it with the same symbol, or -1.
export const behind = (text) =>
  [...text].map((symbol, m) => {
    const before = text.slice(0, m).lastIndexOf(symbol);
    return before < 0 ? -1 : before + 1;
  });

// ---- the picture -------------------------------------------------------------------------

const GAP = 15; // from the middle of the row to the ends of the arcs
const HIGHEST = 88; // that arcs may reach
const FAINT = 0.03; // smaller weights are not drawn

// From the place at x to one on its left, or a loop to itself; `up` is -1 above the row, 1 below.
function arc(x, y, to, up) {
  const start = y + up * GAP;
  if (to === x) return `M${x - 3} ${start}c-7 ${14 * up} 13 ${14 * up} 6 0`;
  const across = (x - to) / 2;
  const sweep = up < 0 ? 0 : 1;
  return `M${x} ${start}A${across} ${Math.min(across, HIGHEST)} 0 0 ${sweep} ${to} ${start}`;
}

function build({ stage, side, change, state }) {
  const picture = plane({
    label: WORDS.stage, width: 400, height: 240, margin: 14, x: [0.5, LONGEST + 1.5], y: [-1, 1],
  });
  const [left, middle] = picture.at([0.5, 0]);
  const back = svg("g", { "aria-hidden": "true" });
  const layers = WORDS.layers.map((_, layer) => {
    const y = layer ? 234 : 14;
    const name = svg("text", { class: "attn-tick attn-start", x: left, y });
    const arcs = svg("g");
    back.append(name, arcs);
    return { name, arcs: pool(arcs, () => svg("path", { class: "attn-arc" })) };
  });
  const letters = pool(back, () => {
    const square = svg("rect", { class: "attn-key", x: -10.5, y: -11, width: 21, height: 22 });
    const letter = svg("text", { class: "attn-letter", y: 5 });
    return { node: svg("g", {}, square, letter), letter };
  });
  const output = svg("text", { class: "attn-letter", y: 5 });
  const next = svg(
    "g", {}, svg("path", { class: "attn-value", d: "M0 -14L12 0L0 14L-12 0Z" }), output,
  );
  back.append(next);
  const grip = handle(picture, {
    role: "query",
    marker: "round",
    letter: "",
    label: WORDS.asks,
    spoken: WORDS.spoken,
    move: ([x]) => change({ place: clamp(Math.round(x) - 1, [0, state().text.length - 1]) }),
    step: 1,
  });
  const asking = grip.node.querySelector(".attn-letter");
  picture.node.append(back, grip.node);
  stage.append(picture.node);

  const write = (text) => change({ text, place: text.length - 1 });
  const text = html("input", {
    type: "text", maxlength: LONGEST, autocapitalize: "none", autocomplete: "off",
    spellcheck: "false",
  });
  text.addEventListener("input", () => {
    const symbols = [...text.value.toLowerCase()].filter((symbol) => ALPHABET.includes(symbol));
    text.value = symbols.join("");
    if (symbols.length) write(text.value);
  });
  // An empty box is left alone while one types, and filled again afterwards.
  text.addEventListener("blur", () => (text.value = state().text));
  const typed = html("label", { class: "attn-field" }, WORDS.typed, text);
  const buttons = stepper({
    back: WORDS.back,
    forward: WORDS.forward,
    move: (by) => {
      const now = state().text;
      if (by < 0 && now.length > 1) write(now.slice(0, -1));
      if (by > 0 && now.length < LONGEST) {
        write(now + ALPHABET[argmax(compute(state()).probabilities.at(-1))]);
      }
    },
  });
  const heads = choice({
    label: WORDS.heads,
    options: WORDS.options,
    change: (value) => change({ heads: value }),
  });
  const list = bars(WORDS.bars);
  side.append(typed, buttons, heads.node, list.node);

  return (now) => {
    const result = compute(now);
    const count = now.text.length;
    const place = Math.min(now.place, count - 1);
    const x = (n) => picture.at([n + 1, 0])[0];
    const found = argmax(result.weights[1][place]);
    layers.forEach(({ name, arcs }, layer) => {
      const works = WORKING[now.heads][layer];
      const said = WORDS.layers[layer];
      name.textContent = works ? said : fill(WORDS.off, { layer: said });
      const looks = result.weights[layer].flatMap((row, m) =>
        works ? row.flatMap((weight, n) => (weight < FAINT ? [] : [{ m, n, weight }])) : [],
      );
      arcs(looks.length).forEach((path, i) => {
        const { m, n, weight } = looks[i];
        const full = m === (layer ? place : found);
        set(path, {
          d: arc(x(m), middle, x(n), layer ? 1 : -1),
          "stroke-width": 0.5 + 5 * weight,
          opacity: full ? 1 : 0.25,
        });
      });
    });
    letters(count).forEach(({ node, letter }, n) => {
      set(node, { transform: `translate(${x(n)} ${middle})` });
      letter.textContent = now.text[n];
    });
    const best = argmax(result.probabilities[place]);
    set(next, {
      transform: `translate(${x(count)} ${middle})`,
      visibility: place === count - 1 ? "visible" : "hidden",
    });
    output.textContent = ALPHABET[best];
    grip.show([place + 1, 0]);
    asking.textContent = now.text[place];
    set(grip.node, {
      "aria-valuemin": 1, "aria-valuemax": count,
      "aria-valuetext": fill(WORDS.spoken, { place: place + 1, symbol: now.text[place] }),
    });
    if (document.activeElement !== text) text.value = now.text;
    heads.show(now.heads);
    const chances = result.probabilities[place];
    const order = [...ALPHABET].map((_, i) => i).sort((a, b) => chances[b] - chances[a]);
    const likeliest = order.slice(0, LIKELIEST);
    const wanted = now.text[behind(now.text)[place]];
    list.show(
      likeliest.map((i) => ALPHABET[i]),
      likeliest.map((i) => chances[i]),
      likeliest.map((i) => (ALPHABET[i] === wanted ? WORDS.followed : "")),
    );
    return { sentence: sentence(now, result, place), tables: () => tables(now, result, place) };
  };
}

function sentence({ text, heads }, { weights, probabilities }, place) {
  const says = probabilities.map((row) => ALPHABET[argmax(row)]);
  const targets = behind(text);
  const target = targets[place];
  const said = {
    symbol: text[place], place: place + 1, before: target, wanted: text[target],
    weight: show(weights[1][place][Math.max(target, 0)]),
    next: says[place], probability: show(Math.max(...probabilities[place])),
  };
  const template = target < 0 ? "fresh" : WORKING[heads][1] ? "looks" : "blind";
  const copied = targets.flatMap((n, m) => (n < 0 ? [] : [says[m] === text[n]]));
  const counts = { right: sum(copied.map(Number)), count: copied.length };
  return fill(WORDS[template], said) + (copied.length ? fill(WORDS.copies, counts) : "");
}

const tables = ({ text }, { weights, probabilities }, place) => [
  ...weights.map((rows, layer) => ({
    caption: WORDS.table[layer],
    head: [WORDS.head, ...text],
    rows: rows.map((row, m) => [`${m + 1} ${text[m]}`, ...row.map((weight) => show(weight, 4))]),
  })),
  {
    caption: WORDS.probabilities,
    head: [WORDS.head, ...ALPHABET],
    rows: [
      [`${place + 1} ${text[place]}`, ...probabilities[place].map((chance) => show(chance, 4))],
    ],
  },
];

// A string of distinct letters and the beginning of its repetition.
function another(seed) {
  const { uniform } = generator(seed);
  const below = (limit) => Math.floor(limit * uniform());
  const left = [...ALPHABET.slice(0, 26)];
  const once = Array.from({ length: 5 + below(5) }, () => left.splice(below(left.length), 1)[0]);
  const text = [...once, ...once.slice(0, 1 + below(3))].join("");
  return { text, place: text.length - 1 };
}

export default {
  render: (context) =>
    mount(context, {
      words: WORDS,
      traits: ["text", "place", "heads", "decoder"],
      another,
      build,
    }),
};
