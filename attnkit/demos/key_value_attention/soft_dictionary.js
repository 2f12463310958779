// Shows what a soft dictionary returns between its keys, and what writing into it does.
import {
  argmax, bars, choice, clamp, discs, fill, generator, handle, html, indexed, mount, plane, pool,
  round, set, show, showPoint, slider, softmax, stops, sum, svg,
} from "../kit.js";

const WORDS = {
  title: "A soft dictionary",
  question:
    "What comes out between two keys? Guess, then drag the query from one key to another, at a " +
    "low strength and at a high one. Then write: which entries take the colour?",
  stage: "The plane of keys: drag the query and the keys",
  query: "Query q",
  key: "Key {name}",
  place: "{x} across, {y} up",
  strength: "Strength β",
  strengthSpoken: "strength {value}",
  weights: "Weights, and the value of each entry",
  read: "Read",
  paint: "Colour to write",
  paints: { violet: "violet", turquoise: "turquoise", white: "white" },
  writes: { write: "Erase, then add", erase: "Only erase", add: "Only add" },
  legend:
    "Round: the query. Squares: the keys, each with its value as a small diamond; the area of a " +
    "disc is the entry's weight. The ground shows what you would read if you asked there. A " +
    "colour is red, green and blue, from 0 to 1.",
  stored: "{winner} has the most weight, {weight}. The read {read} is the value stored there.",
  mixed: "{winner} has the most weight, {weight}. The read {read} is stored nowhere.",
  table: {
    entries: "Entries",
    entry: ["entry", "across", "up", "score", "weight", "red", "green", "blue"],
    places: "Query",
    placed: ["vector", "across", "up"],
    colours: "Colours",
    coloured: ["colour", "red", "green", "blue"],
    single: "Single numbers",
    value: ["name", "value"],
  },
  answers: [
    "A mixture, and usually one that is stored nowhere. At high strength each place of the plane " +
      "gives the value of its nearest key, as a dictionary would: lookup is the limit of " +
      "sharpness. Only half way between two keys no strength helps: their scores are equal, and " +
      "the read is the mean of their values. At low strength you read a mixture even at a key.",
    "Keys and values answer different questions. Dragging a key changes who is found, and no " +
      "stored colour. Writing changes the colours, and no weight.",
    "Writing goes by weight too. At low strength every entry takes a share of the new colour and " +
      "loses the same share of its own. Adding without erasing piles colour on colour, until the " +
      "numbers leave the range from 0 to 1. Only erasing leads to zeros, which look black.",
  ],
};

const LIMITS = [-4, 4];
const MOST = 99;
const PAINTS = { violet: [0.6, 0.2, 0.8], turquoise: [0.1, 0.8, 0.8], white: [1, 1, 1] };
// How each button writes: the share to erase, and whether the paint is added.
const WRITES = { write: [1, 1], erase: [1, 0], add: [0, 1] };

const scoresAt = (place, keys) =>
  keys.map(([a, b]) => -((place[0] - a) ** 2 + (place[1] - b) ** 2));

function read(weights, values) {
  return [0, 1, 2].map((c) => sum(values.map((value, n) => weights[n] * value[c])));
}

export function compute({ places: keys, colours: values, query, strength, paint }) {
  const scores = scoresAt(query, keys);
  const weights = softmax(scores.map((score) => strength * score));
  const colour = PAINTS[paint];
  const after = ([erase, add]) =>
    values.map((value, n) =>
      value.map((old, c) => old * (1 - weights[n] * erase) + weights[n] * add * colour[c]),
    );
  return {
    scores,
    weights,
    paint: colour,
    read: read(weights, values),
    winner: argmax(scores),
    after: Object.fromEntries(Object.entries(WRITES).map(([name, how]) => [name, after(how)])),
  };
}

const css = (colour) => `rgb(${colour.map((part) => clamp(Math.round(255 * part), [0, 255]))})`;

// The reads of a whole field of queries as a picture with few pixels.
const FIELD = 48;
function landscape({ places: keys, colours: values, strength }) {
  const canvas = set(document.createElement("canvas"), { width: FIELD, height: FIELD });
  const context = canvas.getContext("2d");
  const pixels = context.createImageData(FIELD, FIELD);
  const span = LIMITS[1] - LIMITS[0];
  for (let row = 0; row < FIELD; row++) {
    for (let column = 0; column < FIELD; column++) {
      const place = [
        LIMITS[0] + (span * (column + 0.5)) / FIELD,
        LIMITS[1] - (span * (row + 0.5)) / FIELD,
      ];
      const weights = softmax(scoresAt(place, keys).map((score) => strength * score));
      const colour = read(weights, values).map((part) => 255 * part);
      pixels.data.set([...colour, 255], 4 * (row * FIELD + column));
    }
  }
  context.putImageData(pixels, 0, 0);
  return canvas.toDataURL();
}

// Four keys apart from each other, four colours, and a query that no key is close to.
function another(seed) {
  const { uniform } = generator(seed);
  const point = () => [0, 1].map(() => round(6.4 * uniform() - 3.2, 1));
  for (;;) {
    const [query, ...keys] = Array.from({ length: 5 }, point);
    const far = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]) > 1.8;
    if (![query, ...keys].every((a, i) => keys.slice(i).every((b) => far(a, b)))) continue;
    const values = keys.map(() => [0, 1, 2].map(() => round(uniform(), 1)));
    return { query, places: keys, colours: values };
  }
}

function build({ stage, side, change, state }) {
  const picture = plane({
    label: WORDS.stage, width: 400, height: 400, margin: 32, x: LIMITS, y: LIMITS,
  });
  const [left, top] = picture.at([LIMITS[0], LIMITS[1]]);
  const [right, bottom] = picture.at([LIMITS[1], LIMITS[0]]);
  const ground = svg("image", {
    x: left, y: top, width: right - left, height: bottom - top, opacity: 0.6,
    preserveAspectRatio: "none", "aria-hidden": "true",
  });
  const shares = discs(picture);
  const keyLayer = svg("g");
  const valueLayer = svg("g", { "aria-hidden": "true" });
  const values = pool(valueLayer, () =>
    svg("path", { class: "attn-curve", d: "M0-9L9 0L0 9L-9 0Z" }),
  );
  const keys = pool(keyLayer, (i) =>
    handle(picture, {
      role: "key",
      marker: "square",
      letter: indexed("k", i),
      label: fill(WORDS.key, { name: indexed("k", i) }),
      spoken: WORDS.place,
      move: (point) => change({ places: state().places.map((old, n) => (n === i ? point : old)) }),
    }),
  );
  const query = handle(picture, {
    role: "query",
    marker: "round",
    letter: "q",
    label: WORDS.query,
    spoken: WORDS.place,
    move: (point) => change({ query: point }),
  });
  picture.node.append(ground, shares.back, valueLayer, keyLayer, shares.front, query.node);
  stage.append(picture.node);

  const strength = slider({
    label: WORDS.strength,
    values: stops(0.02, 20, 46),
    spoken: WORDS.strengthSpoken,
    change: (value) => change({ strength: value }),
  });
  const list = bars(WORDS.weights);
  const swatch = html("span", { class: "attn-swatch attn-result" });
  const colour = html("span");
  const result = html("div", { class: "attn-field" }, WORDS.read, html("span", {}, swatch, colour));
  const paint = choice({
    label: WORDS.paint,
    options: WORDS.paints,
    change: (value) => change({ paint: value }),
  });
  const buttons = html("div", { class: "attn-buttons" });
  for (const [name, label] of Object.entries(WORDS.writes)) {
    const button = html("button", { type: "button" }, label);
    button.addEventListener("click", () => {
      const after = compute(state()).after[name];
      change({ colours: after.map((value) => value.map((part) => clamp(part, [0, MOST]))) });
    });
    buttons.append(button);
  }
  side.append(strength.node, list.node, result, paint.node, buttons);

  return (now) => {
    const found = compute(now);
    const names = now.places.map((_, i) => indexed("k", i));
    query.show(now.query);
    keys(now.places.length).forEach((key, i) => key.show(now.places[i]));
    values(now.places.length).forEach((value, i) => {
      const [px, py] = picture.at(now.places[i]);
      set(value, {
        transform: `translate(${px + 17},${py - 15})`,
        style: `fill:${css(now.colours[i])}`,
      });
    });
    shares.show(now.places, found.weights);
    set(ground, { href: landscape(now) });
    strength.show(now.strength);
    paint.show(now.paint);
    list.show(
      names,
      found.weights,
      now.colours.map((value) =>
        html("span", {
          class: "attn-swatch", style: `background:${css(value)}`,
          role: "img", "aria-label": showPoint(value),
        }),
      ),
    );
    set(swatch, { style: `background:${css(found.read)}` });
    colour.textContent = showPoint(found.read);
    const there = now.colours[found.winner];
    const gap = Math.max(...found.read.map((part, c) => Math.abs(part - there[c])));
    return {
      sentence: fill(gap < 0.005 ? WORDS.stored : WORDS.mixed, {
        winner: names[found.winner],
        weight: show(found.weights[found.winner]),
        read: showPoint(found.read),
      }),
      tables: () => numbers(now, found, names),
    };
  };
}

function numbers({ places, colours, query, strength }, result, names) {
  const words = WORDS.table;
  const { scores, weights } = result;
  const row = (name, numbers) => [name, ...numbers.map((number) => show(number, 4))];
  return [
    {
      caption: words.entries,
      head: words.entry,
      rows: names.map((name, i) => row(name, [...places[i], scores[i], weights[i], ...colours[i]])),
    },
    { caption: words.places, head: words.placed, rows: [row(WORDS.query, query)] },
    {
      caption: words.colours,
      head: words.coloured,
      rows: [row(WORDS.read, result.read), row(WORDS.paint, result.paint)],
    },
    {
      caption: words.single,
      head: words.value,
      rows: [[WORDS.strength, String(strength)]],
    },
  ];
}

export default {
  render: (context) =>
    mount(context, {
      words: WORDS,
      traits: ["places", "colours", "query", "strength", "paint"],
      another,
      build,
    }),
};
