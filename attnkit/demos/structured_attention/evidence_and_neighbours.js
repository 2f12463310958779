// Shows that the marginals of a chain let neighbours vouch for each other, or refuse to.
import {
  clamp, fill, generator, handle, mount, plane, pool, round, set, show, slider, softmax, sum, svg,
} from "../kit.js";

const WORDS = {
  title: "Evidence and neighbours",
  question:
    "One strong bar stands alone among weak ones; one weak bar stands between strong ones. Which " +
    "of the two will each row of weights believe? Guess, then raise the transition from 0. And " +
    "what do the weights of a row add to?",
  stage: "Evidence, and three kinds of weights",
  evidence: "evidence",
  position: "Evidence at position {n}",
  place: "{y}",
  transition: "Transition, the reward for equal neighbours",
  transitionSpoken: "transition {value}",
  rows: {
    softmax: "softmax, adds to {sum}",
    sigmoid: "sigmoid, adds to {sum}",
    chain: "chain, adds to {sum}",
  },
  legend:
    "Squares: the evidence of each position, up for yes and down for no; drag them. Bars: the " +
    "weights that a softmax, independent sigmoids and the marginals of a chain make of it.",
  none: "Without a transition the chain is the sigmoid, at every position.",
  sentence:
    "Against the sigmoid, the chain raises position {up} most, from {upFrom} to {upTo}, and " +
    "lowers position {down} most, from {downFrom} to {downTo}.",
  raised:
    "Against the sigmoid, the chain raises every position, {up} most, from {upFrom} to {upTo}.",
  lowered:
    "Against the sigmoid, the chain lowers every position, {down} most, from {downFrom} to " +
    "{downTo}.",
  table: {
    weights: "Positions",
    weight: ["position", "evidence", "softmax", "sigmoid", "chain"],
    single: "Single numbers",
    value: ["name", "value"],
    sums: { softmax: "sum of softmax", sigmoid: "sum of sigmoids", chain: "sum of marginals" },
    logZ: "log Z",
  },
  answers: [
    "The softmax and the sigmoid believe the strong bar, whoever stands beside it: each position " +
      "speaks for itself. With a transition above 0 the chain believes the weak bar between " +
      "strong ones, since its neighbours vouch for it, and doubts the strong one that stands " +
      "alone. At 0 the chain is the sigmoid; below 0 neighbours contradict each other.",
    "Only the softmax adds to one. It shares out one unit, so it cannot say that five positions " +
      "count, nor that none does. The sigmoids and the chain add to how many positions one expects " +
      "to count. Drag all the evidence down: the softmax still spends its unit.",
    "The chain is no better as such. If the strong bar alone was right, it is the chain that is " +
      "wrong: it believes in stretches because the transition says so.",
  ],
};

const LIMITS = [-4, 4];
// The evidence is drawn to scale; each row below has room for a weight of 1 and what is said of it.
const ROOM = 2;
const ROWS = { softmax: -7.6, sigmoid: -11.2, chain: -14.8 };

const logAdd = (a, b) => Math.max(a, b) + Math.log1p(Math.exp(-Math.abs(a - b)));

// Forward-backward over two states, no and yes; equal neighbours score `transition`, others 0.
export function compute({ evidence, transition }) {
  const step = (no, yes) => [logAdd(no + transition, yes), logAdd(no, yes + transition)];
  const forward = [[0, evidence[0]]];
  for (const score of evidence.slice(1)) {
    const [no, yes] = step(...forward.at(-1));
    forward.push([no, yes + score]);
  }
  const backward = [[0, 0]];
  for (const score of evidence.slice(1).reverse()) {
    const [no, yes] = backward[0];
    backward.unshift(step(no, yes + score));
  }
  const logZ = logAdd(...forward.at(-1));
  return {
    softmax: softmax(evidence),
    sigmoid: evidence.map((score) => 1 / (1 + Math.exp(-score))),
    chain: forward.map(([, yes], n) => Math.exp(yes + backward[n][1] - logZ)),
    logZ,
  };
}

// New heights for the same story: a strong bar alone, and a weak one inside a stretch.
function another(seed) {
  const { uniform } = generator(seed);
  const about = (middle) => round(middle + 0.8 * (uniform() - 0.5), 1);
  const lone = [-2, -2, 2.6, -2, -2].map(about);
  const stretch = [1.9, 1.9, -0.6, 1.9, 1.9].map(about);
  const evidence = uniform() < 0.5 ? [...lone, ...stretch] : [...stretch, ...lone];
  return { evidence };
}

function bar() {
  const column = svg("rect", { class: "attn-column" });
  const number = svg("text", { class: "attn-number" });
  return { node: svg("g", {}, column, number), column, number };
}

function build({ stage, side, change, state }) {
  const count = state().evidence.length;
  const picture = plane({
    label: WORDS.stage, width: 400, height: 560, margin: 24,
    x: [0.4, count + 0.6], y: [ROWS.chain, LIMITS[1] + 0.4],
  });
  const back = svg("g", { "aria-hidden": "true" });
  const line = (level, kind) =>
    svg("path", { class: kind, d: picture.path([[picture.x[0], level], [picture.x[1], level]]) });
  const title = (level, text) => {
    const [px, py] = picture.at([picture.x[0], level]);
    return svg("text", { class: "attn-tick attn-start", x: px, y: py }, text);
  };
  for (const level of [-4, -2, 0, 2, 4]) {
    const [px, py] = picture.at([picture.x[0], level]);
    back.append(
      line(level, level ? "attn-grid" : "attn-axis"),
      svg("text", { class: "attn-tick", x: px - 12, y: py + 4 }, show(level, 0)),
    );
  }
  back.append(title(LIMITS[1] + 0.35, WORDS.evidence));
  const rows = Object.entries(ROWS).map(([name, floor]) => {
    const said = title(floor + ROOM + 0.8, "");
    const layer = svg("g");
    back.append(line(floor, "attn-axis"), said, layer);
    return { name, floor, said, bars: pool(layer, bar) };
  });
  const stems = pool(back, () => svg("path", { class: "attn-ray" }));
  const handleLayer = svg("g");
  const handles = pool(handleLayer, (i) =>
    handle(picture, {
      role: "key",
      marker: "square",
      letter: String(i + 1),
      label: fill(WORDS.position, { n: i + 1 }),
      spoken: WORDS.place,
      move: ([, y]) =>
        change({
          evidence: state().evidence.map((old, n) => (n === i ? clamp(y, LIMITS) : old)),
        }),
    }),
  );
  picture.node.append(back, handleLayer);
  stage.append(picture.node);

  const transition = slider({
    label: WORDS.transition,
    values: Array.from({ length: 13 }, (_, i) => (i - 4) / 2),
    spoken: WORDS.transitionSpoken,
    change: (value) => change({ transition: value }),
  });
  side.append(transition.node);

  return (now) => {
    const result = compute(now);
    const size = now.evidence.length;
    stems(size).forEach((stem, i) =>
      set(stem, { d: picture.path([[i + 1, 0], [i + 1, now.evidence[i]]]) }),
    );
    handles(size).forEach(({ node, show: place }, i) => {
      place([i + 1, now.evidence[i]]);
      // What this slider moves is the height, not the place along the chain.
      set(node, {
        "aria-valuemin": LIMITS[0], "aria-valuemax": LIMITS[1], "aria-valuenow": now.evidence[i],
      });
    });
    for (const { name, floor, said, bars } of rows) {
      const weights = result[name];
      said.textContent = fill(WORDS.rows[name], { sum: show(sum(weights)) });
      bars(size).forEach(({ column, number }, i) => {
        const [px, py] = picture.at([i + 1, floor + ROOM * weights[i]]);
        const height = picture.at([i + 1, floor])[1] - py;
        set(column, { x: px - 9, y: py, width: 18, height });
        set(number, { x: px, y: py - 4 });
        number.textContent = show(weights[i]);
      });
    }
    transition.show(now.transition);
    return { sentence: sentence(now, result), tables: () => numbers(now, result) };
  };
}

function sentence({ transition }, { sigmoid, chain }) {
  if (transition === 0) return WORDS.none;
  const gain = chain.map((weight, n) => weight - sigmoid[n]);
  const up = gain.indexOf(Math.max(...gain));
  const down = gain.indexOf(Math.min(...gain));
  const template = gain[up] <= 0 ? "lowered" : gain[down] >= 0 ? "raised" : "sentence";
  return fill(WORDS[template], {
    up: up + 1, upFrom: show(sigmoid[up]), upTo: show(chain[up]),
    down: down + 1, downFrom: show(sigmoid[down]), downTo: show(chain[down]),
  });
}

function numbers({ evidence, transition }, result) {
  const words = WORDS.table;
  const kinds = Object.keys(ROWS);
  return [
    {
      caption: words.weights,
      head: words.weight,
      rows: evidence.map((score, n) => [
        String(n + 1), show(score, 4), ...kinds.map((kind) => show(result[kind][n], 4)),
      ]),
    },
    {
      caption: words.single,
      head: words.value,
      rows: [
        [WORDS.transition, show(transition, 4)],
        ...kinds.map((kind) => [words.sums[kind], show(sum(result[kind]), 4)]),
        [words.logZ, show(result.logZ, 4)],
      ],
    },
  ];
}

export default {
  render: (context) =>
    mount(context, { words: WORDS, traits: ["evidence", "transition"], another, build }),
};
