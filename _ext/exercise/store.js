// What the book keeps in the reader's browser, and nowhere else.

const PREFIX = "attention-book:1:"; // the number changes when old entries can no longer be read

export function get(key) {
  try {
    return JSON.parse(localStorage.getItem(PREFIX + key));
  } catch {
    return null;
  }
}

// Whether it was kept: a browser may have no room or be told to keep nothing.
export function set(key, value) {
  try {
    localStorage.setItem(PREFIX + key, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}
