// Lets one query ask for two places, and shows what each head of a trained layer looks at.
import {
  argmax, choice, fill, generator, handle, html, indexed, mount, plane, pool, set, show, softmax, sum,
  svg, table,
} from "../kit.js";

const PLACES = 8;
const MOST_HEADS = 4;
const QUESTIONS = 300;

const WORDS = {
  title: "Heads side by side",
  question:
    "One query asks two things at once: which word stands at the place of q₁, and which at that " +
    "of q₂? Start with one head and move q₁ and q₂. Can it answer both? Then give it more heads, " +
    "and switch them off one by one.",
  stage: "A row of words, the weights of each head over it, and what the heads have read",
  query: "Place that {query} asks for",
  spoken: "place {place}, {word}",
  vocabulary: ["cat", "dog", "owl", "fox", "hen", "bee"],
  layer: "Trained layer",
  layers: { one: "1 head", many: "{heads} heads" },
  heads: "Heads, on or off",
  on: "head {head}: on",
  off: "head {head}: off",
  rowOn: "head {head}",
  rowOff: "off",
  legend:
    "Rows: the weights of each head, darker for more. Bars: what the heads read, side by side; the " +
    "answers are made of these numbers alone, and a head that is off leaves zeros.",
  asked: "{query}, place {place}",
  answers: [
    "One head has one row of weights, and a row adds to one. If most of it lies on the place of " +
      "one question, little is left for the other; if it is shared out, the read is a blend. The " +
      "layer with one head was trained as long as the others, with as many numbers to learn, and " +
      "mostly gets one of its two answers right.",
    "Two heads have two rows, and training sends each to one of the places. Switch one off: its " +
      "question is lost, the other stays.",
    "With four heads there are more than the task needs. Often one can go and nothing happens, " +
      "since another does the same. Try them one by one, then in pairs: what is worth little alone " +
      "may be worth much together.",
  ],
  sentence:
    "Here {right} of 2 answers are right. In {count} other rows with two questions each, both are " +
    "right in {rate} %.",
  head: ["asked", "there", "answer", "sure"],
  said: "Answers",
  weights: "Weights of the heads that are on",
  place: "place",
  number: "{place} {word}",
  reads: "What the heads read",
  feature: "feature",
  probabilities: "Probability of each word",
  wordHead: "word",
};

const add = (x, y) => x.map((value, i) => value + y[i]);
const apply = (W, x) => W.map((row) => sum(row.map((value, i) => value * x[i])));
const third = (vector, part) => vector.slice((vector.length / 3) * part, (vector.length / 3) * (part + 1));

// What the layer makes of each place, word and question. A query, a key or a value is a sum of two
// of these, since a projection of a sum is the sum of the projections.
function tables(state) {
  const { shown } = state;
  const W_in = state.W_in[shown];
  const parts = [0, 1, 2].map((part) => third(W_in, part));
  const zero = state.b_in[shown];
  return {
    heads: state.heads[shown],
    W_read: state.W_read[shown],
    b_read: state.b_read[shown],
    asks: [
      state.asks[shown][0].map((ask) => add(apply(parts[0], ask), third(zero, 0))),
      state.asks[shown][1].map((ask) => apply(parts[0], ask)),
    ],
    keys: {
      places: state.places[shown].map((place) => add(apply(parts[1], place), third(zero, 1))),
      words: state.words[shown].map((word) => apply(parts[1], word)),
    },
    values: {
      places: state.places[shown].map((place) => add(apply(parts[2], place), third(zero, 2))),
      words: state.words[shown].map((word) => apply(parts[2], word)),
    },
  };
}

function answer(known, { row, asked, off }) {
  const query = add(known.asks[0][asked[0]], known.asks[1][asked[1]]);
  const keys = row.map((word, n) => add(known.keys.places[n], known.keys.words[word]));
  const values = row.map((word, n) => add(known.values.places[n], known.values.words[word]));
  const size = query.length / known.heads;
  const weights = [];
  const strip = [];
  for (let head = 0; head < known.heads; head++) {
    const own = (vector) => vector.slice(head * size, (head + 1) * size);
    const scores = keys.map(
      (key) => sum(own(key).map((value, j) => value * query[head * size + j])) / Math.sqrt(size),
    );
    weights.push(softmax(scores));
    for (let j = head * size; j < (head + 1) * size; j++) {
      strip.push(off[head] ? 0 : sum(values.map((value, n) => weights[head][n] * value[j])));
    }
  }
  const logits = add(apply(known.W_read, strip), known.b_read);
  const half = logits.length / 2;
  const probabilities = [softmax(logits.slice(0, half)), softmax(logits.slice(half))];
  return { weights, strip, probabilities, says: probabilities.map(argmax) };
}

function draw({ uniform }) {
  const row = Array.from({ length: PLACES }, () =>
    Math.floor(uniform() * WORDS.vocabulary.length),
  );
  const first = Math.floor(uniform() * PLACES);
  const step = 1 + Math.floor(uniform() * (PLACES - 1));
  return { row, asked: [first, (first + step) % PLACES] };
}

// The same for every state, so that switching a head off is all that changes.
export function questions() {
  const random = generator(1);
  return Array.from({ length: QUESTIONS }, () => draw(random));
}

const right = ({ says }, { row, asked }) => asked.map((place, i) => says[i] === row[place]);

export function compute(state) {
  const known = tables(state);
  const others = questions();
  const both = others.filter((one) =>
    right(answer(known, { ...one, off: state.off }), one).every(Boolean),
  );
  // The bars keep their scale when a head is switched off.
  const size = Math.max(
    ...known.values.places.flatMap((place) =>
      known.values.words.map((word) => Math.max(...add(place, word).map(Math.abs))),
    ),
  );
  const found = answer(known, state);
  return { ...found, right: right(found, state), rate: both.length / QUESTIONS, size };
}

// Where things stand in the picture.
const WIDE = 400;
const LEFT = 64;
const STEP = (WIDE - 2 * LEFT) / (PLACES - 1);
const EDGE = LEFT - STEP / 2 + 2;
const ROWS = 92;
const ROW = 30;
const FLOOR = 260;
const BAR = 40;

// A row of weights: cells with numbers, faint while the head is off.
function headRow(head) {
  const name = svg("text", { class: "attn-tick", x: 23, y: ROWS + ROW * head + 17 });
  const cells = Array.from({ length: PLACES }, (_, n) => ({
    back: svg("rect", {
      class: "attn-column", x: EDGE + STEP * n, y: ROWS + ROW * head, width: STEP - 4, height: 25,
    }),
    number: svg("text", { class: "attn-number", x: LEFT + STEP * n, y: ROWS + ROW * head + 17 }),
  }));
  const node = svg("g", {}, name, ...cells.flatMap(({ back, number }) => [back, number]));
  return { node, name, cells };
}

function build({ stage, side, change, state }) {
  const picture = plane({
    label: WORDS.stage, width: WIDE, height: 324, margin: LEFT, x: [1, PLACES], y: [0, 1],
  });
  const words = Array.from({ length: PLACES }, (_, n) =>
    svg("text", { class: "attn-number", x: LEFT + STEP * n, y: 78 }),
  );
  picture.node.append(
    ...words.map((_, n) =>
      svg("text", { class: "attn-tick", x: LEFT + STEP * n, y: 60 }, String(n + 1)),
    ),
    ...words,
    svg("path", { class: "attn-axis", d: `M${EDGE} ${FLOOR}H${WIDE - EDGE}` }),
  );
  const [rowsPlace, barsPlace] = [svg("g", { "aria-hidden": "true" }), svg("g", { "aria-hidden": "true" })];
  const rows = pool(rowsPlace, headRow);
  const bars = pool(barsPlace, () => svg("rect", { class: "attn-value" }));
  const names = pool(barsPlace, () => svg("text", { class: "attn-tick", y: FLOOR + BAR + 18 }));
  const queries = [0, 1].map((i) =>
    handle(picture, {
      role: "query",
      marker: "round",
      letter: indexed("q", i),
      label: fill(WORDS.query, { query: indexed("q", i) }),
      spoken: WORDS.spoken,
      step: 1,
      move([x]) {
        const { asked } = state();
        const place = Math.round(x) - 1;
        // Two questions for one place are none: go past the other.
        const past = place + Math.sign(place - asked[i]);
        const next = place === asked[1 - i] ? past : place;
        if (next < 0 || next >= PLACES || next === asked[i]) return;
        change({ asked: asked.map((old, j) => (j === i ? next : old)) });
      },
    }),
  );
  picture.node.append(rowsPlace, barsPlace, ...queries.map(({ node }) => node));
  stage.append(picture.node);

  const layer = choice({
    label: WORDS.layer,
    options: Object.fromEntries(
      state().heads.map((heads, i) => [
        i, heads === 1 ? WORDS.layers.one : fill(WORDS.layers.many, { heads }),
      ]),
    ),
    change: (value) => change({ shown: Number(value), off: Array(MOST_HEADS).fill(false) }),
  });
  const switches = html("div", { role: "group", "aria-label": WORDS.heads, class: "attn-buttons" });
  const buttons = pool(switches, (head) => {
    const button = html("button", { type: "button" });
    button.addEventListener("click", () =>
      change({ off: state().off.map((old, i) => (i === head ? !old : old)) }),
    );
    return button;
  });
  const readings = html("div", { class: "attn-readings" });
  side.append(layer.node, switches, readings);

  return (now) => {
    const result = compute(now);
    const heads = now.heads[now.shown];
    const size = result.strip.length / heads;
    const wide = (WIDE - 2 * EDGE) / result.strip.length;
    now.row.forEach((word, n) => (words[n].textContent = WORDS.vocabulary[word]));
    queries.forEach((query, i) => {
      query.show([now.asked[i] + 1, 1.16]);
      set(query.node, { "aria-valuetext": spoken(now, i) });
    });
    rows(heads).forEach(({ node, name, cells }, head) => {
      set(node, { opacity: now.off[head] ? 0.35 : 1 });
      name.textContent = fill(now.off[head] ? WORDS.rowOff : WORDS.rowOn, { head: head + 1 });
      cells.forEach(({ back, number }, n) => {
        const weight = result.weights[head][n];
        set(back, { "fill-opacity": 0.05 + 0.4 * weight });
        number.textContent = weight < 0.005 ? "" : show(weight);
      });
    });
    bars(result.strip.length).forEach((bar, f) => {
      const height = (BAR * Math.abs(result.strip[f])) / result.size;
      set(bar, {
        x: EDGE + wide * f + (f % size === 0 ? 3 : 1),
        width: wide - (f % size === 0 ? 4 : 2),
        y: result.strip[f] > 0 ? FLOOR - height : FLOOR,
        height,
      });
    });
    names(heads).forEach((name, head) => {
      set(name, { x: EDGE + wide * size * (head + 0.5) });
      name.textContent = fill(now.off[head] ? WORDS.rowOff : WORDS.rowOn, { head: head + 1 });
    });
    layer.show(now.shown);
    buttons(heads).forEach((button, head) => {
      button.textContent = fill(now.off[head] ? WORDS.off : WORDS.on, { head: head + 1 });
    });
    readings.replaceChildren(table(said(now, result)));
    return {
      sentence: fill(WORDS.sentence, {
        right: sum(result.right.map(Number)),
        count: QUESTIONS,
        rate: show(100 * result.rate, 0),
      }),
      tables: () => [weightTable(now, result), readTable(result, heads), wordTable(result)],
    };
  };
}

const spoken = ({ row, asked }, i) =>
  fill(WORDS.spoken, { place: asked[i] + 1, word: WORDS.vocabulary[row[asked[i]]] });

const said = ({ row, asked }, { probabilities, says, right }) => ({
  caption: WORDS.said,
  head: WORDS.head,
  rows: asked.map((place, i) => [
    fill(WORDS.asked, { query: indexed("q", i), place: place + 1 }),
    WORDS.vocabulary[row[place]],
    `${WORDS.vocabulary[says[i]]} ${right[i] ? "✓" : "✗"}`,
    show(probabilities[i][says[i]]),
  ]),
});

const headNames = (heads) =>
  Array.from({ length: heads }, (_, head) => fill(WORDS.rowOn, { head: head + 1 }));

const weightTable = ({ row, heads, shown, off }, { weights }) => {
  const on = headNames(heads[shown]).flatMap((name, head) => (off[head] ? [] : [{ name, head }]));
  return {
    caption: WORDS.weights,
    head: [WORDS.place, ...on.map(({ name }) => name)],
    rows: row.map((word, n) => [
      fill(WORDS.number, { place: n + 1, word: WORDS.vocabulary[word] }),
      ...on.map(({ head }) => show(weights[head][n], 4)),
    ]),
  };
};

const readTable = ({ strip }, heads) => ({
  caption: WORDS.reads,
  head: [WORDS.feature, ...headNames(heads)],
  rows: Array.from({ length: strip.length / heads }, (_, j) => [
    String(j + 1),
    ...headNames(heads).map((_, head) => show(strip[(head * strip.length) / heads + j], 4)),
  ]),
});

const wordTable = ({ probabilities }) => ({
  caption: WORDS.probabilities,
  head: [WORDS.wordHead, ...probabilities.map((_, i) => indexed("q", i))],
  rows: WORDS.vocabulary.map((word, i) => [word, ...probabilities.map((p) => show(p[i], 4))]),
});

export default {
  render: (context) =>
    mount(context, {
      words: WORDS,
      traits: [
        "row", "asked", "shown", "off", "heads", "places", "words", "asks", "W_in", "b_in",
        "W_read", "b_read",
      ],
      another: (seen) => draw(generator(seen + 1)),
      build,
    }),
};
