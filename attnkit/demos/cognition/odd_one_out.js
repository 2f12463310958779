// Lets the reader search for one bar among many, and a saliency model beside them.
import {
  clamp, fill, generator, html, mount, round, set, show, sum, svg,
} from "../kit.js";

const WORDS = {
  title: "Odd one out",
  question:
    "Find the bar that is upright and vermillion, the only one of its kind: is it in the left or in " +
    "the right half? Twelve displays, of two kinds. Will 25 bars take you longer than 9?",
  again: "Other displays",
  stage: "A display of bars to search in",
  idle: "Show display {trial} of 12",
  waiting: "Look at the cross.",
  searching: "Upright and vermillion: left or right?",
  over: "All 12 done",
  left: "← left half",
  right: "right half →",
  cross: "+",
  legend:
    "Answer with the arrow keys ← and →, the two buttons, or a tap on the half. Afterwards the " +
    "target has a ring and numbers show where the model looks until it comes there (at most 9). " +
    "Round marks and the full line: one feature. Squares and the dashed line: a conjunction. " +
    "Crosses: wrong answers, left out of the lines.",
  kinds: { feature: "feature", conjunction: "conjunction" },
  yours: "your seconds",
  model: "model's visits",
  start: "Ready when you are. The clock starts when the bars appear.",
  answered: "{verdict} {seconds} s for a {kind} display of {n} bars. The model needed: {visits}.",
  rightAnswer: "Right.",
  wrongAnswer: "Wrong half.",
  finished:
    "Each bar more cost you {feature} ms in feature displays and {conjunction} ms in conjunctions " +
    "(± is the standard error).",
  slope: "{slope} ± {error}",
  none: "an unknown number of",
  trials: "Searches",
  trial: ["search", "bars", "your seconds", "right", "model's visits"],
  lines: "Lines through the right answers",
  line: ["kind", "ms a bar", "standard error", "visits a bar"],
  trialName: "{index}, {kind}",
  answers: [
    "A bar that differs in one feature pops out: nine or twenty-five make little difference, as " +
      "long as it is there. (Without a target people go on looking, and then the number counts " +
      "here too.) For a conjunction most people take longer the more bars there are.",
    "The model has a reason that one can read. In a feature display the map of upright edges has " +
      "one peak, and a map with one peak is promoted. In a conjunction every map has many peaks, " +
      "all are silenced, and the model goes from bar to bar by accident.",
    "Do not trust your two slopes. A line through six searches is no reliable measurement: look at " +
      "its standard error, press “Other displays” and see it move. Nor are searches of two kinds, " +
      "parallel and serial: over many experiments the slopes form a continuum, and many " +
      "conjunctions are searched almost as fast as a feature, since the task guides the eye. This " +
      "model has no task.",
  ],
};

// ---- displays ----------------------------------------------------------------------------

const SIDE = 128;
const HALF_LENGTH = 5;
const HALF_WIDTH = 1;
const VERMILLION = [0.72, 0.28, 0.05];
const BLUE = [0.04, 0.37, 0.62];
const SIZES = [9, 16, 25];
const TRIALS = 12;

function shuffle(items, uniform) {
  const mixed = [...items];
  for (let i = mixed.length - 1; i > 0; i--) {
    const j = Math.floor(uniform() * (i + 1));
    [mixed[i], mixed[j]] = [mixed[j], mixed[i]];
  }
  return mixed;
}

// Bars as [row, column, blue, lying], the target first, and never on the line between the halves.
function display(n, kind, uniform) {
  const grid = Math.sqrt(n);
  const square = SIDE / grid;
  const play = square / 2 - HALF_LENGTH - 1.5;
  const jitter = () => (2 * uniform() - 1) * play;
  let places;
  do {
    places = shuffle(
      Array.from({ length: n }, (_, i) =>
        [Math.floor(i / grid), i % grid].map((k) => Math.round((k + 0.5) * square + jitter())),
      ),
      uniform,
    );
  } while (Math.abs(places[0][1] - SIDE / 2) < 8);
  return places.map((place, i) => {
    const half = i % 2;
    if (i === 0) return [...place, 0, 0];
    return [...place, half, kind === "feature" ? 1 : 1 - half];
  });
}

export function displays(seed) {
  const { uniform } = generator(seed);
  const kinds = Object.keys(WORDS.kinds);
  const plan = SIZES.flatMap((n) => [...kinds, ...kinds].map((kind) => ({ n, kind })));
  return shuffle(plan, uniform).map(({ n, kind }) => {
    const bars = display(n, kind, uniform);
    return { n, kind, bars, left: bars[0][1] < SIDE / 2 };
  });
}

// ---- the model ---------------------------------------------------------------------------

const AREA = SIDE * SIDE;
const RADIUS = 6;

const each = (make) => Float64Array.from({ length: AREA }, (_, i) => make(i));

function shape([row, column, , lying]) {
  const [high, wide] = lying ? [HALF_WIDTH, HALF_LENGTH] : [HALF_LENGTH, HALF_WIDTH];
  return { top: row - high, left: column - wide, height: 2 * high + 1, width: 2 * wide + 1 };
}

function features(bars) {
  const ink = [0, 1, 2].map(() => new Float64Array(AREA).fill(1));
  for (const bar of bars) {
    const { top, left, height, width } = shape(bar);
    for (let i = top; i < top + height; i++) {
      for (let j = left; j < left + width; j++) {
        ink.forEach((map, k) => (map[i * SIDE + j] = (bar[2] ? BLUE : VERMILLION)[k]));
      }
    }
  }
  const [r, g, b] = ink;
  const bright = each((i) => (r[i] + g[i] + b[i]) / 3);
  const straight = new Float64Array(AREA);
  const slanted = new Float64Array(AREA);
  for (let i = 1; i < SIDE - 1; i++) {
    for (let j = 1; j < SIDE - 1; j++) {
      const at = i * SIDE + j;
      const across = bright[at + 1] - bright[at - 1];
      const down = bright[at + SIDE] - bright[at - SIDE];
      const strength = Math.sqrt(across ** 2 + down ** 2 + 1e-12);
      straight[at] = (across ** 2 - down ** 2) / strength;
      slanted[at] = (2 * across * down) / strength;
    }
  }
  return [
    (i) => bright[i],
    (i) => r[i] - (g[i] + b[i]) / 2,
    (i) => g[i] - (r[i] + b[i]) / 2,
    (i) => b[i] - (r[i] + g[i]) / 2,
    (i) => (r[i] + g[i]) / 2 - Math.abs(r[i] - g[i]) / 2 - b[i],
    (i) => straight[i],
    (i) => -straight[i],
    (i) => slanted[i],
    (i) => -slanted[i],
  ].map((map) => each((i) => Math.max(map(i), 0)));
}

// The weights of each place, without those that are zero in double precision.
function kernel(sigma) {
  const reach = Math.min(SIDE - 1, Math.ceil(9 * sigma));
  return Array.from({ length: SIDE }, (_, i) => {
    const from = Math.max(0, i - reach);
    const powers = Array.from({ length: Math.min(SIDE, i + reach + 1) - from }, (_, k) =>
      Math.exp(-((from + k - i) ** 2) / (2 * sigma ** 2)),
    );
    const total = sum(powers);
    return { from, weights: Float64Array.from(powers, (power) => power / total) };
  });
}
const KERNELS = [kernel(2), kernel(12)];

function blur(map, weights) {
  const pass = (input, along, other) => {
    const output = new Float64Array(AREA);
    weights.forEach(({ from, weights: w }, i) => {
      for (let j = 0; j < SIDE; j++) {
        let total = 0;
        for (let k = 0; k < w.length; k++) total += w[k] * input[(from + k) * along + j * other];
        output[i * along + j * other] = total;
      }
    });
    return output;
  };
  return pass(pass(map, SIDE, 1), 1, SIDE);
}

function promoted(map) {
  let [largest, highest, total, count] = [0, 0, 0, 0];
  for (const value of map) largest = Math.max(largest, value);
  for (let i = 1; i < SIDE - 1; i++) {
    for (let j = 1; j < SIDE - 1; j++) {
      const at = i * SIDE + j;
      const around = [-SIDE - 1, -SIDE, -SIDE + 1, -1, 1, SIDE - 1, SIDE, SIDE + 1];
      if (!around.every((step) => map[at] > map[at + step])) continue;
      highest = Math.max(highest, map[at]);
      total += map[at];
      count += 1;
    }
  }
  const gain = (largest - (total - highest) / Math.max(count - 1, 1)) ** 2;
  return map.map((value) => value * gain);
}

export function scores(bars) {
  const maps = features(bars).map((map) => {
    const [centre, surround] = KERNELS.map((weights) => blur(map, weights));
    return promoted(centre.map((value, i) => Math.abs(value - surround[i])));
  });
  return Array.from(each((i) => sum(maps.map((map) => map[i]))));
}

// The places visited until one lies within the radius of the target.
export function visits(bars) {
  const left = scores(bars);
  const path = [];
  const near = ([a, b], [c, d]) => (a - c) ** 2 + (b - d) ** 2 <= RADIUS ** 2;
  while (path.length < 2 * bars.length) {
    let best = 0;
    for (let i = 1; i < AREA; i++) if (left[i] > left[best]) best = i;
    const place = [Math.floor(best / SIDE), best % SIDE];
    path.push(place);
    if (near(place, bars[0])) break;
    for (let i = 0; i < AREA; i++) {
      if (near(place, [Math.floor(i / SIDE), i % SIDE])) left[i] = -Infinity;
    }
  }
  return path;
}

// ---- what the page shows -----------------------------------------------------------------

// Slope, its standard error and the line at x, by least squares; null without two sizes.
export function fitted(points) {
  const count = points.length;
  const mean = (values) => sum(values) / count;
  const [mx, my] = [mean(points.map(([x]) => x)), mean(points.map(([, y]) => y))];
  const spread = sum(points.map(([x]) => (x - mx) ** 2));
  if (!spread) return null;
  const slope = sum(points.map(([x, y]) => (x - mx) * (y - my))) / spread;
  const rest = sum(points.map(([x, y]) => (y - my - slope * (x - mx)) ** 2));
  const error = count > 2 ? Math.sqrt(rest / (count - 2) / spread) : null;
  return { slope, error, start: my - slope * mx };
}

const remembered = new Map();
function known(name, make) {
  if (!remembered.has(name)) remembered.set(name, make());
  return remembered.get(name);
}

export function compute({ seed, times, right }) {
  const plan = known(`plan ${seed}`, () => displays(seed));
  const done = times.map((seconds, i) => ({
    ...plan[i],
    seconds,
    right: right[i],
    path: known(`path ${seed} ${i}`, () => visits(plan[i].bars)),
  }));
  const line = (kind, chosen, value) =>
    fitted(done.filter((t) => t.kind === kind && chosen(t)).map((t) => [t.n, value(t)]));
  return {
    plan,
    done,
    lines: Object.keys(WORDS.kinds).map((kind) => ({
      kind,
      yours: line(kind, (t) => t.right, (t) => t.seconds),
      model: line(kind, () => true, (t) => t.path.length),
    })),
  };
}

// A small chart: marks and lines over the number of bars.
function chart(title) {
  const [width, height] = [240, 110];
  const node = svg("svg", { viewBox: "-40 -28 300 160", "aria-hidden": "true" });
  const heading = svg("text", { class: "attn-tick", x: width / 2, y: -12 });
  heading.textContent = title;
  const across = (n) => ((n - 5) / 24) * width;
  node.append(heading, svg("path", { class: "attn-axis", d: `M0 0V${height}H${width}` }));
  for (const n of SIZES) {
    const tick = svg("text", { class: "attn-tick", x: across(n), y: height + 18 });
    tick.textContent = n;
    node.append(tick);
  }
  const most = svg("text", { class: "attn-tick", x: -18, y: 8 });
  const marks = svg("g");
  node.append(most, marks);
  return {
    node,
    show(points, lines) {
      const top = Math.max(1, ...points.map(({ y }) => y));
      const at = (n, y) => [across(n), height * (1 - y / (1.1 * top))];
      most.textContent = show(top, top < 10 ? 1 : 0);
      const drawn = points.map(({ n, y, kind, right }) => {
        const [px, py] = at(n, y);
        const sign = !right ? "M-4 -4L4 4M4 -4L-4 4" : kind === "feature"
          ? "M-5 0A5 5 0 1 0 5 0A5 5 0 1 0 -5 0" : "M-5 -5H5V5H-5Z";
        return svg("path", { class: "attn-mark", d: sign, transform: `translate(${px} ${py})` });
      });
      const lined = lines.filter(({ fit }) => fit).map(({ kind, fit }) => {
        const ends = [SIZES[0], SIZES.at(-1)].map((n) => at(n, fit.start + fit.slope * n).join(" "));
        return svg("path", {
          class: kind === "feature" ? "attn-fit" : "attn-fit attn-dashed",
          d: `M${ends.join("L")}`,
        });
      });
      marks.replaceChildren(...lined, ...drawn);
    },
  };
}

const SCALE = 400 / SIDE;

function build({ stage, side, change, state }) {
  const node = svg("svg", { viewBox: "0 0 400 400", role: "group", "aria-label": WORDS.stage });
  const frame = svg("rect", { class: "attn-frame", x: 1, y: 1, width: 398, height: 398 });
  const middle = svg("path", { class: "attn-grid", d: "M200 0V12M200 388V400" });
  const bars = svg("g");
  const cross = svg("text", { class: "attn-cross", x: 200, y: 212 });
  cross.textContent = WORDS.cross;
  const path = svg("g", { "aria-hidden": "true" });
  const charts = [chart(WORDS.yours), chart(WORDS.model)];
  node.append(frame, middle, bars, path, cross);

  const next = html("button", { type: "button" });
  const halves = ["left", "right"].map((name) => html("button", { type: "button" }, WORDS[name]));
  const buttons = (...nodes) => html("div", { class: "attn-buttons" }, ...nodes);
  stage.append(buttons(next), node, buttons(...halves));
  side.append(...charts.map((one) => one.node));

  // Of one search: idle, then waiting (the cross), then searching since `started`.
  let phase = "idle";
  let started = 0;
  let timer = 0;
  let drawn = () => {};

  const answer = (left) => {
    if (phase !== "searching") return;
    const seconds = clamp(round((performance.now() - started) / 1000, 3), [0, 600]);
    const { times, right } = state();
    const trial = compute(state()).plan[times.length];
    phase = "idle";
    change({ times: [...times, seconds], right: [...right, trial.left === left] });
    next.focus({ preventScroll: true });
  };
  next.addEventListener("click", () => {
    if (phase !== "idle" || state().times.length === TRIALS) return;
    phase = "waiting";
    drawn();
    timer = setTimeout(() => {
      phase = "searching";
      drawn();
      // The clock starts with the frame that shows the bars.
      requestAnimationFrame(() => (started = performance.now()));
    }, 700);
  });
  halves.forEach((button, i) => button.addEventListener("click", () => answer(i === 0)));
  node.addEventListener("pointerdown", (event) => {
    const { left, width } = frame.getBoundingClientRect();
    answer(event.clientX < left + width / 2);
  });
  stage.addEventListener("keydown", (event) => {
    if (phase !== "searching" || !["ArrowLeft", "ArrowRight"].includes(event.key)) return;
    event.preventDefault();
    answer(event.key === "ArrowLeft");
  });

  let shown = "";
  return (now) => {
    // Another seed, or a step back, ends a search that has not been answered.
    const name = `${now.seed} ${now.times.length}`;
    if (name !== shown) {
      clearTimeout(timer);
      phase = "idle";
    }
    shown = name;
    const result = compute(now);
    const count = now.times.length;
    const last = result.done.at(-1);

    drawn = () => {
      const searching = phase === "searching";
      const trial = searching ? result.plan[count] : phase === "idle" && last;
      bars.replaceChildren(
        ...(trial ? trial.bars : []).map((bar) => {
          const box = shape(bar);
          return svg("rect", {
            class: bar[2] ? "attn-key" : "attn-query",
            x: box.left * SCALE,
            y: box.top * SCALE,
            width: box.width * SCALE,
            height: box.height * SCALE,
          });
        }),
      );
      cross.textContent = phase === "waiting" ? WORDS.cross : "";
      path.replaceChildren(...(trial && !searching ? shownPath(trial) : []));
      next.textContent = count === TRIALS ? WORDS.over : fill(WORDS[phase], { trial: count + 1 });
      for (const button of halves) set(button, { "aria-disabled": String(!searching) });
      set(next, { "aria-disabled": String(phase !== "idle" || count === TRIALS) });
    };
    drawn();
    charts[0].show(
      result.done.map(({ n, kind, right, seconds }) => ({ n, kind, right, y: seconds })),
      result.lines.map(({ kind, yours }) => ({ kind, fit: yours })),
    );
    charts[1].show(
      result.done.map(({ n, kind, path: visited }) => ({ n, kind, right: true, y: visited.length })),
      result.lines.map(({ kind, model }) => ({ kind, fit: model })),
    );
    return { sentence: sentence(result, last), tables: () => tables(result) };
  };
}

function shownPath({ bars, path }) {
  const at = ([row, column]) => [(column + 0.5) * SCALE, (row + 0.5) * SCALE];
  const [x, y] = at(bars[0]);
  const few = path.slice(0, 9);
  return [
    svg("path", { class: "attn-ray", d: few.map((p, i) => (i ? "L" : "M") + at(p).join(" ")).join("") }),
    svg("circle", { class: "attn-target", cx: x, cy: y, r: 28 }),
    ...few.map((place, i) => {
      const [px, py] = at(place);
      const number = svg("text", { class: "attn-number", x: px + 13, y: py - 8 });
      number.textContent = i + 1;
      return number;
    }),
  ];
}

const inWords = (fit) =>
  fit?.error == null
    ? WORDS.none
    : fill(WORDS.slope, { slope: show(1000 * fit.slope, 0), error: show(1000 * fit.error, 0) });

function sentence({ done, lines }, last) {
  if (!last) return WORDS.start;
  if (done.length === TRIALS) {
    return fill(
      WORDS.finished,
      Object.fromEntries(lines.map(({ kind, yours }) => [kind, inWords(yours)])),
    );
  }
  return fill(WORDS.answered, {
    verdict: last.right ? WORDS.rightAnswer : WORDS.wrongAnswer,
    seconds: show(last.seconds),
    kind: WORDS.kinds[last.kind],
    n: last.n,
    visits: last.path.length,
  });
}

const tables = ({ done, lines }) => [
  {
    caption: WORDS.trials,
    head: WORDS.trial,
    rows: done.map(({ kind, n, seconds, right, path }, i) => [
      fill(WORDS.trialName, { index: i + 1, kind: WORDS.kinds[kind] }),
      String(n), show(seconds, 3), right ? "1" : "0", String(path.length),
    ]),
  },
  {
    caption: WORDS.lines,
    head: WORDS.line,
    rows: lines
      .filter(({ yours }) => yours?.error != null)
      .map(({ kind, yours, model }) => [
        WORDS.kinds[kind], show(1000 * yours.slope, 1), show(1000 * yours.error, 1),
        show(model.slope, 3),
      ]),
  },
];

export default {
  render: (context) =>
    mount(context, {
      words: WORDS,
      traits: ["seed", "times", "right"],
      another: (_, { seed }) => ({ seed: seed + 1, times: [], right: [] }),
      build,
    }),
};
