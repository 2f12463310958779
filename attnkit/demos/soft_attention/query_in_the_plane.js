// Shows that soft attention reads inside its items' hull, and what each score prefers.
import {
  argmax, bars, choice, clamp, discs, entropy, fill, generator, handle, indexed, mount, plane, pool,
  round, set, show, showPoint, slider, softmax, stops, sum, svg,
} from "../kit.js";

const WORDS = {
  title: "A query in the plane",
  question:
    "Can the read leave the hull of the items? And which item wins, the nearest or the longest? " +
    "Guess both, then drag the query and the items, and change the score.",
  stage: "The plane: drag the query and the items",
  query: "Query q",
  item: "Item {name}",
  basis: "Image of basis vector {name} under W",
  place: "{x} across, {y} up",
  score: "Score",
  scores: {
    dot: "dot, q·k",
    scaled_dot: "scaled, q·k/√2",
    bilinear: "bilinear, k·Wq",
    distance: "distance, −|q−k|²",
  },
  temperature: "Temperature",
  temperatureSpoken: "temperature {value}",
  weights: "Weights",
  read: "read",
  nearest: "nearest",
  longest: "longest",
  both: "nearest and longest",
  legend:
    "Round: the query. Squares: the items, each its own key and value; the area of a disc is the " +
    "item's weight. Diamond: the read, in the items' hull. Dashed: where a key would score as " +
    "much as the winner does.",
  sentence: "{winner} has the most weight, {weight}. The read is {read}.",
  sentenceBilinear:
    "{winner} has the most weight, {weight}. The read is {read}. Drag We₁ and We₂, the columns of " +
    "W: they take q to Wq.",
  table: {
    items: "Items",
    item: ["item", "across", "up", "length", "distance to q", "score", "weight"],
    rest: "Everything else",
    other: ["vector", "across", "up"],
    value: ["name", "value"],
    single: "Single numbers",
    first: "W, first column",
    second: "W, second column",
    entropy: "entropy of the weights",
  },
  answers: [
    "The read never leaves the hull. The weights are positive and sum to one, so the read is a " +
      "weighted average of the items: it can reach a corner, never pass it. That also means there " +
      "is no “none of these”: put the query far from everything and the whole weight is still spent.",
    "The dot product takes the item that lies farthest along the direction of the query: long " +
      "beats near. The negative squared distance takes the nearest. The bilinear score is a dot " +
      "product with a moved query Wq, so W decides what counts as “along”.",
    "A high temperature gives every item the same weight, and the read is the mean. A low one " +
      "gives the winner everything: the average turns into a choice. For the dot product a longer " +
      "query does the same as a lower temperature.",
  ],
};

const LIMITS = [-4, 4];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1];
const apply = (matrix, vector) => matrix.map((row) => dot(row, vector));
const column = (matrix, j) => matrix.map((row) => row[j]);

const SCORES = {
  dot: (query, key) => dot(query, key),
  scaled_dot: (query, key) => dot(query, key) / Math.SQRT2,
  bilinear: (query, key, matrix) => dot(key, apply(matrix, query)),
  distance: (query, key) => -((query[0] - key[0]) ** 2 + (query[1] - key[1]) ** 2),
};

export function compute({ query, items, score, temperature, matrix }) {
  const scores = items.map((item) => SCORES[score](query, item, matrix));
  const weights = softmax(scores.map((value) => value / temperature));
  const lengths = items.map((item) => Math.hypot(...item));
  const distances = items.map((item) => Math.hypot(query[0] - item[0], query[1] - item[1]));
  return {
    scores,
    weights,
    lengths,
    distances,
    read: [0, 1].map((axis) => sum(items.map((item, n) => weights[n] * item[axis]))),
    entropy: entropy(weights),
    winner: argmax(scores),
    nearest: argmax(distances.map((distance) => -distance)),
    longest: argmax(lengths),
    hull: hull(items),
  };
}

// Monotone chain: the corners of the convex hull, counter-clockwise.
function hull(points) {
  const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const half = (ordered) => {
    const chain = [];
    for (const p of ordered) {
      while (chain.length > 1) {
        const [a, b] = chain.slice(-2);
        if ((b[0] - a[0]) * (p[1] - a[1]) > (b[1] - a[1]) * (p[0] - a[0])) break;
        chain.pop();
      }
      chain.push(p);
    }
    return chain.slice(0, -1);
  };
  return points.length > 1 ? [...half(sorted), ...half(sorted.reverse())] : sorted;
}

// New items apart from each other, where the nearest item is not the dot product's winner.
function another(seed, { temperature, matrix }) {
  const random = generator(seed);
  const point = () => [0, 1].map(() => round(clamp(2 * random.normal(), [-3.6, 3.6]), 1));
  for (;;) {
    const items = Array.from({ length: 5 }, point);
    const query = point();
    const far = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]) > 1;
    const apart = [query, ...items].every((a, i) => items.slice(i).every((b) => far(a, b)));
    const { winner, nearest } = compute({ query, items, score: "dot", temperature, matrix });
    if (apart && winner !== nearest) return { query, items };
  }
}

function build({ stage, side, change, state }) {
  const picture = plane({
    label: WORDS.stage, width: 400, height: 400, margin: 32, x: LIMITS, y: LIMITS,
  });
  const back = svg("g", { "aria-hidden": "true" });
  for (let tick = LIMITS[0]; tick <= LIMITS[1]; tick++) {
    const kind = tick === 0 ? "attn-axis" : "attn-grid";
    back.append(
      svg("path", { class: kind, d: picture.path([[tick, LIMITS[0]], [tick, LIMITS[1]]]) }),
      svg("path", { class: kind, d: picture.path([[LIMITS[0], tick], [LIMITS[1], tick]]) }),
    );
    if (tick % 2 || !tick || Math.abs(tick) === LIMITS[1]) continue;
    const [px, py] = picture.at([tick, 0]);
    const [qx, qy] = picture.at([0, tick]);
    back.append(
      svg("text", { class: "attn-tick", x: px, y: py + 15 }, show(tick, 0)),
      svg("text", { class: "attn-tick", x: qx - 11, y: qy + 4 }, show(tick, 0)),
    );
  }
  const area = svg("path", { class: "attn-hull" });
  const equal = svg("path", { class: "attn-equal" });
  const ray = svg("path", { class: "attn-ray" });
  const moved = svg(
    "g", { class: "attn-moved" },
    svg("circle", { r: 11 }), svg("text", { class: "attn-letter", y: 4 }, "Wq"),
  );
  const read = svg(
    "g", { class: "attn-read", "aria-hidden": "true" },
    svg("path", { d: "M0 -21L21 0L0 21L-21 0Z" }),
  );
  back.append(area, equal, ray, moved);
  const itemLayer = svg("g");
  const basisLayer = svg("g");
  const shares = discs(picture);
  const items = pool(itemLayer, (i) =>
    handle(picture, {
      role: "key",
      marker: "square",
      letter: indexed("k", i),
      label: fill(WORDS.item, { name: indexed("k", i) }),
      spoken: WORDS.place,
      move: (point) => change({ items: state().items.map((old, n) => (n === i ? point : old)) }),
    }),
  );
  const basis = [0, 1].map((j) => {
    const arrow = svg("path", { class: "attn-ray" });
    const tip = handle(picture, {
      role: "basis",
      marker: "round",
      letter: indexed("We", j),
      label: fill(WORDS.basis, { name: indexed("e", j) }),
      spoken: WORDS.place,
      move: (point) =>
        change({
          matrix: state().matrix.map((row, i) => row.map((old, m) => (m === j ? point[i] : old))),
        }),
    });
    basisLayer.append(arrow, tip.node);
    return { arrow, tip };
  });
  const query = handle(picture, {
    role: "query",
    marker: "round",
    letter: "q",
    label: WORDS.query,
    spoken: WORDS.place,
    move: (point) => change({ query: point }),
  });
  picture.node.append(back, shares.back, read, itemLayer, shares.front, basisLayer, query.node);
  stage.append(picture.node);

  const score = choice({
    label: WORDS.score,
    options: WORDS.scores,
    change: (value) => change({ score: value }),
  });
  const temperature = slider({
    label: WORDS.temperature,
    values: stops(0.05, 50, 61),
    spoken: WORDS.temperatureSpoken,
    change: (value) => change({ temperature: value }),
  });
  const list = bars(WORDS.weights);
  side.append(score.node, temperature.node, list.node);

  return (now) => {
    const result = compute(now);
    const bilinear = now.score === "bilinear";
    const names = now.items.map((_, i) => indexed("k", i));
    query.show(now.query);
    items(now.items.length).forEach((item, i) => item.show(now.items[i]));
    shares.show(now.items, result.weights);
    set(read, { transform: `translate(${picture.at(result.read)})` });
    set(area, { d: picture.path(result.hull) + "Z" });
    set(ray, { d: now.score === "distance" ? "" : picture.path([[0, 0], now.query]) });
    set(equal, { d: equalScore(picture, now, result) });
    for (const node of [moved, basisLayer]) node.style.display = bilinear ? "" : "none";
    set(moved, { transform: `translate(${picture.at(apply(now.matrix, now.query))})` });
    basis.forEach(({ arrow, tip }, j) => {
      tip.show(column(now.matrix, j));
      set(arrow, { d: picture.path([[0, 0], column(now.matrix, j)]) });
    });
    score.show(now.score);
    temperature.show(now.temperature);
    const note = (i) => {
      if (i === result.nearest) return i === result.longest ? WORDS.both : WORDS.nearest;
      return i === result.longest ? WORDS.longest : "";
    };
    list.show(names, result.weights, names.map((_, i) => note(i)));
    return {
      sentence: fill(bilinear ? WORDS.sentenceBilinear : WORDS.sentence, {
        winner: names[result.winner],
        weight: show(result.weights[result.winner]),
        read: showPoint(result.read),
      }),
      tables: () => numbers(now, result, names),
    };
  };
}

// All keys with the winner's score: a line across the query, or a circle around it.
function equalScore(picture, { query, items, score, matrix }, { winner, distances }) {
  if (score === "distance") {
    const [px, py] = picture.at(query);
    const r = distances[winner] * picture.across;
    return `M${px - r} ${py}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`;
  }
  const towards = score === "bilinear" ? apply(matrix, query) : query;
  const length = Math.hypot(...towards);
  if (length < 1e-9) return "";
  const [a, b] = [-towards[1] / length, towards[0] / length];
  const [x, y] = items[winner];
  return picture.path([[x - 12 * a, y - 12 * b], [x + 12 * a, y + 12 * b]]);
}

function numbers({ query, items, temperature, matrix }, result, names) {
  const words = WORDS.table;
  const row = (name, values) => [name, ...values.map((value) => show(value, 4))];
  return [
    {
      caption: words.items,
      head: words.item,
      rows: items.map((item, i) => {
        const { lengths, distances, scores, weights } = result;
        return row(names[i], [...item, lengths[i], distances[i], scores[i], weights[i]]);
      }),
    },
    {
      caption: words.rest,
      head: words.other,
      rows: [
        row(WORDS.query, query),
        row(WORDS.read, result.read),
        row(words.first, column(matrix, 0)),
        row(words.second, column(matrix, 1)),
      ],
    },
    {
      caption: words.single,
      head: words.value,
      rows: [
        [WORDS.temperature, String(temperature)],
        [words.entropy, show(result.entropy, 4)],
      ],
    },
  ];
}

export default {
  render: (context) =>
    mount(context, {
      words: WORDS,
      traits: ["query", "items", "score", "temperature", "matrix"],
      another,
      build,
    }),
};
