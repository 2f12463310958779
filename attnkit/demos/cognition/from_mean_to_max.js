// Shows that pooling is attention without a query, for each channel by itself.
import {
  argmax, clamp, fill, generator, handle, html, indexed, mount, plane, round, set, show, slider,
  softmax, sum, svg, table,
} from "../kit.js";

const CELLS = 4;
const CHANNELS = 3;
const BETAS = [-50, -20, -10, -5, -2, -1, -0.5, 0, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100];
// In one picture: the values above, and below them weights from 0, at the floor, to 1.
const VALUES = [-2, 2];
const FLOOR = -4.2;
const UNIT = 1.5;

const WORDS = {
  title: "From mean to max",
  question:
    "Four cells, three channels, no query: each channel weighs its cells by softmax(βx). What " +
    "does the pooled value do as β grows from 0? Do the channels end up at the same cell? Move β, " +
    "then drag the cells.",
  stage: "The cells of three channels and their weights",
  cell: "Cell {cell} of channel {channel}",
  place: "value {y}",
  channel: "channel {channel}",
  beta: "Sharpness β",
  betaSpoken: "beta {value}",
  legend:
    "Diamonds: the value of each cell. Line with a thick diamond: the pooled value of the channel. " +
    "Columns below: the weights. Outlined marks: the gradient, how the pooled value answers to the " +
    "cell.",
  sentence: "At β = {beta} the channels look most at {cells}: {count} of {all} cells.",
  equal: "At β = 0 all cells of a channel count alike: the pooled value is the mean.",
  readings: "What is pooled",
  head: ["channel", "pooled", "mean", "max"],
  values: "Values",
  weights: "Weights",
  gradients: "Gradients",
  cells: ["cell", "channel 1", "channel 2", "channel 3"],
  answers: [
    "At β = 0 all weights are equal and the pooled value is the mean. As β grows it climbs to the " +
      "largest value of the channel: max pooling. With a negative β it falls to the smallest. It " +
      "is soft attention whose score is the value itself, so nobody has to ask.",
    "Each channel has weights of its own and looks elsewhere. There is no one cell that max " +
      "pooling attends to, and what it returns is a mixture that no cell holds.",
    "The gradient is α(1 + β(x − pooled)). At β = 0 each cell gets a quarter. At a large β the " +
      "winner gets 1 and the others nothing, even one that lost by a hair. In between a low cell " +
      "gets less than nothing: raising it takes weight from better ones.",
  ],
};

const column = (x, channel) => x.map((cell) => cell[channel]);
const rows = (columns) => columns[0].map((_, n) => columns.map((values) => values[n]));

export function compute({ x, beta }) {
  const columns = Array.from({ length: CHANNELS }, (_, c) => column(x, c));
  const weights = columns.map((values) => softmax(values.map((value) => beta * value)));
  const pooled = columns.map((values, c) => sum(values.map((value, n) => weights[c][n] * value)));
  const gradient = columns.map((values, c) =>
    values.map((value, n) => weights[c][n] * (1 + beta * (value - pooled[c]))),
  );
  return {
    pooled,
    weights: rows(weights),
    gradient: rows(gradient),
    mean: columns.map((values) => sum(values) / CELLS),
    max: columns.map((values) => Math.max(...values)),
    most: weights.map(argmax),
  };
}

function another(seed) {
  const { normal } = generator(seed);
  const value = () => round(clamp(normal(), VALUES), 1);
  return { x: Array.from({ length: CELLS }, () => Array.from({ length: CHANNELS }, value)) };
}

const across = (cell, channel) => channel * (CELLS + 1) + cell + 0.5;

function build({ stage, side, change, state }) {
  const picture = plane({
    label: WORDS.stage, width: 400, height: 430, margin: 24,
    x: [0, CHANNELS * (CELLS + 1) - 1], y: [-4.9, 2.4],
  });
  const back = svg("g", { "aria-hidden": "true" });
  const marks = svg("g", { "aria-hidden": "true" });
  const handles = svg("g");
  picture.node.append(back, marks, handles);
  for (const weight of [0, 1]) {
    const [px, py] = picture.at([0, FLOOR + UNIT * weight]);
    const tick = svg("text", { class: "attn-tick", x: px - 12, y: py + 4 });
    tick.textContent = weight;
    back.append(tick);
  }
  const make = (tag, className) => {
    const node = svg(tag, { class: className });
    marks.append(node);
    return node;
  };
  const reads = [];
  const cells = [];
  for (let c = 0; c < CHANNELS; c++) {
    const [left, right] = [across(0, c) - 0.5, across(CELLS - 1, c) + 0.5];
    for (const [level, name] of [[0, "attn-grid"], [FLOOR, "attn-axis"], [FLOOR + UNIT, "attn-grid"]]) {
      back.append(svg("path", { class: name, d: picture.path([[left, level], [right, level]]) }));
    }
    const [px, py] = picture.at([(left + right) / 2, 2.4]);
    const name = svg("text", { class: "attn-tick", x: px, y: py - 4 });
    name.textContent = fill(WORDS.channel, { channel: c + 1 });
    back.append(name);
    const line = make("path", "attn-curve");
    const read = svg("g", { class: "attn-read" }, svg("path", { d: "M0 -11L11 0L0 11L-11 0Z" }));
    marks.append(read);
    reads.push({ line, read, left, right });
    for (let n = 0; n < CELLS; n++) {
      cells.push({
        n,
        c,
        weight: make("rect", "attn-column"),
        gradient: make("rect", "attn-mean"),
        drag: handle(picture, {
          role: "value",
          marker: "diamond",
          letter: String(n + 1),
          label: fill(WORDS.cell, { cell: n + 1, channel: c + 1 }),
          spoken: WORDS.place,
          move: ([, y]) =>
            change({
              x: state().x.map((cell, i) =>
                cell.map((old, j) => (i === n && j === c ? clamp(y, VALUES) : old)),
              ),
            }),
        }),
      });
      handles.append(cells.at(-1).drag.node);
    }
  }
  stage.append(picture.node);

  const beta = slider({
    label: WORDS.beta,
    values: BETAS,
    spoken: WORDS.betaSpoken,
    change: (value) => change({ beta: value }),
  });
  const readings = html("div", { class: "attn-readings" });
  side.append(beta.node, readings);

  return (now) => {
    const result = compute(now);
    reads.forEach(({ line, read, left, right }, c) => {
      const level = result.pooled[c];
      set(line, { d: picture.path([[left, level], [right, level]]) });
      set(read, { transform: `translate(${picture.at([right + 0.2, level])})` });
    });
    for (const { n, c, weight, gradient, drag } of cells) {
      const at = across(n, c);
      drag.show([at, now.x[n][c]]);
      const [x0, top] = picture.at([at - 0.3, FLOOR + UNIT * result.weights[n][c]]);
      const [x1, bottom] = picture.at([at + 0.3, FLOOR]);
      set(weight, { x: x0, y: top, width: x1 - x0, height: bottom - top });
      const reached = clamp(result.gradient[n][c], [-0.4, 1.2]);
      const [, level] = picture.at([at, FLOOR + UNIT * reached]);
      set(gradient, { x: x0 - 3, y: level - 2, width: x1 - x0 + 6, height: 4 });
    }
    beta.show(now.beta);
    const summary = {
      caption: WORDS.readings,
      head: WORDS.head,
      rows: result.pooled.map((value, c) => [
        String(c + 1), ...[value, result.mean[c], result.max[c]].map((number) => show(number)),
      ]),
    };
    readings.replaceChildren(table(summary));
    const looks = result.most.map((n) => indexed("x", n));
    return {
      sentence: fill(now.beta ? WORDS.sentence : WORDS.equal, {
        beta: String(now.beta).replace("-", "−"),
        cells: looks.join(", "),
        count: new Set(looks).size,
        all: CELLS,
      }),
      tables: () =>
        [["values", now.x], ["weights", result.weights], ["gradients", result.gradient]].map(
          ([name, numbers]) => ({
            caption: WORDS[name],
            head: WORDS.cells,
            rows: numbers.map((row, n) => [String(n + 1), ...row.map((value) => show(value, 4))]),
          }),
        ),
    };
  };
}

export default {
  render: (context) => mount(context, { words: WORDS, traits: ["x", "beta"], another, build }),
};
