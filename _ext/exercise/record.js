// The record of solved exercises: a day for each name, and how it goes into a file and comes back.
import { get, set } from "./store.js";

const FORMAT = "attention-book progress";
const VERSION = 1;

export const solved = () => get("solved") ?? {};

export const add = (names) => set("solved", { ...names, ...solved() });

export const today = () => new Date().toISOString().slice(0, 10);

export const toText = (names) =>
  JSON.stringify({ format: FORMAT, version: VERSION, solved: names }, null, 2);

// The names in a file's text; it throws unless the file is one of ours.
export function fromText(text) {
  const { format, version, solved: names } = JSON.parse(text) ?? {};
  const days = Object.values(Object(names));
  const dated = days.every((day) => /^\d{4}-\d\d-\d\d$/.test(day));
  if (format !== FORMAT || version !== VERSION || !names || !dated) throw new Error("not ours");
  return names;
}
