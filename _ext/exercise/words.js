// What the pages say while the reader works at an exercise, and about what is solved.

export const words = {
  loading: (megabytes) => `Loading Python (up to ${megabytes} MB, once) …`,
  running: "Running your code …",
  stopped: (seconds) =>
    `Your code ran for ${seconds} seconds and was stopped. Is there a loop that never ends? ` +
    "The next run loads Python again, which takes a few seconds.",
  notLoaded: (reason) =>
    `Python could not be loaded (${reason}). Check your connection and press “Run and check” ` +
    "again, or download the notebook and work there.",
  ended: (reason) =>
    `Python itself ended (${reason}). The next run loads it again; if it ends again, make the ` +
    "arrays in your code smaller.",
  fromFile:
    "This page was opened as a file, and a browser runs Python only on a page from a server. " +
    "Open the book from its address, or download the notebook and work there.",
  noNumpy:
    "Python cannot run in this copy of the book: numpy for the browser was missing when it was " +
    "built. Download the notebook and work there.",
  printed: "Printed",
  sure: "Put the starter back and throw your text away?",
  unkept: "This browser keeps nothing for this page: download your answer before you leave.",
  bareNotebook: "Your answer could not be put into the notebook; copy it there yourself.",

  solved: "solved",
  sum: (solved, all) => `${solved} of ${all} exercises solved`,
  file: "attention-progress.json",
  added: (count) => `The file's ${count} solved exercises are now in your record.`,
  foreign: (name) => `${name} holds no progress of this book; your record stays as it was.`,
};
