// Renders one formula a line, JSON in and JSON out, for katex_math.py.
import katex from "katex";
import { createInterface } from "node:readline";

const role = (name) => `\\htmlClass{m-${name}}{#1}`;
const options = {
  output: "htmlAndMathml",
  macros: { "\\q": role("q"), "\\k": role("k"), "\\v": role("v") },
  trust: ({ command }) => command === "\\htmlClass",
  strict: (code) =>
    ["htmlExtension", "unicodeTextInMathMode"].includes(code) ? "ignore" : "error",
};

for await (const line of createInterface({ input: process.stdin })) {
  const { tex, displayMode } = JSON.parse(line);
  let answer;
  try {
    answer = { html: katex.renderToString(tex, { ...options, displayMode }) };
  } catch (error) {
    answer = { error: error.message };
  }
  console.log(JSON.stringify(answer));
}
