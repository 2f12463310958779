// Puts a reader's answers into the notebook of the chapter.

// `answer` gives the text for a cell's grade id, or null to leave the cell as it is.
export function fill(notebook, answer) {
  const cells = notebook.cells.map((cell) => {
    const source = answer(cell.metadata.nbgrader?.grade_id) ?? cell.source;
    return { ...cell, source };
  });
  return { ...notebook, cells };
}
