// Shows that kernel regression is soft attention whose score is a negative squared distance.
import {
  argmax, bars, clamp, discs, fill, generator, handle, indexed, mount, plane, pool, round, set,
  show, slider, softmax, stops, sum, svg,
} from "../kit.js";

const WORDS = {
  title: "A curve from its points",
  question:
    "Is this regression or attention? Drag the point where you ask, then the points, then change " +
    "the bandwidth. Find out what is the query here, what are the keys, and what the values.",
  stage: "Points and the curve they predict",
  ask: "Where to ask, x*",
  askSpoken: "x* = {x}",
  point: "Point {name}",
  place: "x = {x}, y = {y}",
  bandwidth: "Bandwidth h",
  bandwidthSpoken: "bandwidth {value}",
  weights: "Weights at x*",
  nearest: "nearest",
  legend:
    "Round: x*, where you ask. Squares: the x of the points. Diamonds: the points; the area of a " +
    "disc is the point's weight at x*. Large diamond: the prediction there, on the curve of all " +
    "predictions.",
  sentence: "At x* = {x} the prediction is {y}. {winner} counts most, {weight}.",
  table: {
    points: "Points",
    point: ["point", "x", "y", "score", "weight"],
    single: "Single numbers",
    value: ["name", "value"],
    prediction: "prediction at x*",
  },
  answers: [
    "Both. The score of a point is −(x* − x)² / 2h², the softmax of the scores gives the weights, " +
      "and the prediction is the weighted average of the y. That is soft attention: x* is the " +
      "query, the x are the keys, the y are the values. Statisticians know it as the " +
      "Nadaraya–Watson estimator of 1964.",
    "With the score −(x* − x)² / 2 the bandwidth is a temperature, τ = h². A narrow one makes the " +
      "curve jump from point to point, a wide one flattens it to the mean of all y.",
    "The read stays in the hull of the values here too: the curve never rises above the highest " +
      "point nor falls below the lowest, and far from all points it is drawn to the nearest one.",
  ],
};

const X = [0, 10];
const Y = [-2, 2];
const GRID = Array.from({ length: 161 }, (_, i) => X[0] + ((X[1] - X[0]) * i) / 160);

function ask(x, points, bandwidth) {
  const scores = points.map(([key]) => -((x - key) ** 2) / (2 * bandwidth ** 2));
  const weights = softmax(scores);
  return { scores, weights, prediction: sum(points.map(([, value], n) => weights[n] * value)) };
}

export function compute({ points, bandwidth, asked }) {
  return {
    ...ask(asked, points, bandwidth),
    curve: GRID.map((x) => [x, ask(x, points, bandwidth).prediction]),
  };
}

// Points along a new wave, with some noise.
function another(seed) {
  const { uniform, normal } = generator(seed);
  const [pace, shift] = [0.5 + 0.7 * uniform(), 6 * uniform()];
  const points = Array.from({ length: 9 }, (_, i) => {
    const x = round(0.6 + i + 0.8 * uniform(), 1);
    return [x, round(clamp(1.2 * Math.sin(pace * x + shift) + 0.25 * normal(), [-1.8, 1.8]), 1)];
  });
  return { points };
}

function build({ stage, side, change, state }) {
  const picture = plane({ label: WORDS.stage, width: 400, height: 360, margin: 32, x: X, y: Y });
  const back = svg("g", { "aria-hidden": "true" });
  for (const level of [-2, -1, 0, 1, 2]) {
    const [px, py] = picture.at([0, level]);
    back.append(
      svg("path", {
        class: level === Y[0] ? "attn-axis" : "attn-grid",
        d: picture.path([[X[0], level], [X[1], level]]),
      }),
      svg("text", { class: "attn-tick", x: px - 12, y: py + 4 }, show(level, 0)),
    );
  }
  const curve = svg("path", { class: "attn-curve" });
  const fall = svg("path", { class: "attn-ray" });
  const read = svg("g", { class: "attn-read" }, svg("path", { d: "M0 -20L20 0L0 20L-20 0Z" }));
  back.append(curve, fall);
  const keyLayer = svg("g", { "aria-hidden": "true" });
  const pointLayer = svg("g");
  const keys = pool(keyLayer, () =>
    svg("rect", { class: "attn-foot", x: -5, y: -5, width: 10, height: 10 }),
  );
  const shares = discs(picture);
  const points = pool(pointLayer, (i) =>
    handle(picture, {
      role: "value",
      marker: "diamond",
      letter: String(i + 1),
      label: fill(WORDS.point, { name: i + 1 }),
      spoken: WORDS.place,
      move: (point) =>
        change({ points: state().points.map((old, n) => (n === i ? point : old)) }),
    }),
  );
  const query = handle(picture, {
    role: "query",
    marker: "round",
    letter: "x*",
    label: WORDS.ask,
    spoken: WORDS.askSpoken,
    move: ([x]) => change({ asked: x }),
  });
  picture.node.append(back, shares.back, keyLayer, read, pointLayer, shares.front, query.node);
  stage.append(picture.node);

  const bandwidth = slider({
    label: WORDS.bandwidth,
    values: stops(0.1, 10, 41),
    spoken: WORDS.bandwidthSpoken,
    change: (value) => change({ bandwidth: value }),
  });
  const list = bars(WORDS.weights);
  side.append(bandwidth.node, list.node);

  return (now) => {
    const result = compute(now);
    const count = now.points.length;
    const names = now.points.map((_, i) => indexed("v", i));
    const winner = argmax(result.weights);
    keys(count).forEach((foot, i) =>
      set(foot, { transform: `translate(${picture.at([now.points[i][0], Y[0]])})` }),
    );
    points(count).forEach((point, i) => point.show(now.points[i]));
    shares.show(now.points, result.weights);
    query.show([now.asked, Y[0]]);
    set(curve, { d: picture.path(result.curve) });
    set(fall, { d: picture.path([[now.asked, Y[0]], [now.asked, result.prediction]]) });
    set(read, { transform: `translate(${picture.at([now.asked, result.prediction])})` });
    bandwidth.show(now.bandwidth);
    const nearest = argmax(now.points.map(([x]) => -Math.abs(x - now.asked)));
    list.show(names, result.weights, { [nearest]: WORDS.nearest });
    return {
      sentence: fill(WORDS.sentence, {
        x: show(now.asked),
        y: show(result.prediction),
        winner: names[winner],
        weight: show(result.weights[winner]),
      }),
      tables: () => [
        {
          caption: WORDS.table.points,
          head: WORDS.table.point,
          rows: now.points.map(([x, y], i) => [
            names[i],
            ...[x, y, result.scores[i], result.weights[i]].map((value) => show(value, 4)),
          ]),
        },
        {
          caption: WORDS.table.single,
          head: WORDS.table.value,
          rows: [
            [WORDS.ask, show(now.asked, 4)],
            [WORDS.bandwidth, String(now.bandwidth)],
            [WORDS.table.prediction, show(result.prediction, 4)],
          ],
        },
      ],
    };
  };
}

export default {
  render: (context) =>
    mount(context, { words: WORDS, traits: ["points", "bandwidth", "asked"], another, build }),
};
