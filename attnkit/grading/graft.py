"""Rebuilds a submission from the teacher's notebook, taking only the text of the answers from it.

nbgrader repairs what was handed in; here nothing of it is trusted but the text of the answer cells,
found by their grade id. No metadata, no other cell, no other order reaches the notebook that runs.
`nbgrader_config.py` plugs both classes into `nbgrader autograde` and the formgrader's button.
"""

import os
import stat
from pathlib import Path

import nbformat
from nbconvert.exporters import NotebookExporter
from nbgrader.api import Gradebook
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Integer

# Where a note about the submission travels from the file's reader to the graft.
NOTE = "unreadable"


class Unreadable(ValueError):
    """The file that was handed in is no notebook; the message says why."""


def read(path, largest):
    """The notebook that was handed in, in the present format; Unreadable if there is none."""
    try:
        # Not through a symbolic link: it could lead to a file that is not the learner's.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise Unreadable(f"the file cannot be opened: {error.strerror}") from None
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise Unreadable("this is no ordinary file")
        if status.st_size > largest:
            raise Unreadable(f"the file has {status.st_size:,} bytes; at most {largest:,} are read")
        content = file.read()
    try:
        notebook = nbformat.reads(content.decode(), as_version=4)
        nbformat.validate(notebook, relax_add_props=True)
    except Exception as error:  # whatever a broken file makes these libraries raise
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise Unreadable(f"the file is no notebook: {reason}") from None
    return notebook


def answers(submission):
    """The text of each cell that bears a grade id; of several, the first that is not empty."""
    found = {}
    for cell in submission.cells:
        tags = cell.get("metadata", {}).get("nbgrader", {})
        grade_id = tags.get("grade_id") if isinstance(tags, dict) else None
        if isinstance(grade_id, str) and not found.get(grade_id, "").strip():
            found[grade_id] = cell.source
    return found


def graft(teacher, submission, starters):
    """The teacher's notebook with the learner's answers in it.

    :param teacher: with solutions and hidden tests
    :param submission: what was handed in
    :param starters: the text of each answer cell as it was handed out; stands where none came back
    """
    given = answers(submission)
    notebook = nbformat.from_dict(teacher)
    for cell in notebook.cells:
        tags = cell.metadata.get("nbgrader", {})
        if tags.get("solution"):
            cell.source = given.get(tags["grade_id"], starters[tags["grade_id"]])
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return notebook


class SubmissionExporter(NotebookExporter):
    """Reads what was handed in without trusting that it is a notebook."""

    largest = Integer(10_000_000, help="Bytes; a larger file is not read.").tag(config=True)

    def from_filename(self, filename, resources=None, **kwargs):
        """As nbconvert's, but a file that is no notebook becomes an empty one with a note."""
        try:
            notebook = read(filename, self.largest)
        except Unreadable as error:
            self.log.warning("%s: %s", filename, error)
            notebook = nbformat.v4.new_notebook(metadata={NOTE: str(error)})
        return self.from_notebook_node(notebook, resources=resources or {}, **kwargs)


class Graft(NbGraderPreprocessor):
    """The only sanitizing step: replaces the submission by the grafted notebook."""

    def preprocess(self, nb, resources):
        """Called by nbgrader with what was handed in."""
        course = resources["nbgrader"]
        with Gradebook(course["db_url"]) as gradebook:
            known = gradebook.find_notebook(course["notebook"], course["assignment"])
            released = {cell.name: cell for cell in known.source_cells}
        teacher = nbformat.read(self._source(course), as_version=4)
        starters = {name: cell.source for name, cell in released.items()}
        notebook = graft(teacher, nb, starters)
        for cell in notebook.cells:
            tags = cell.metadata.get("nbgrader")
            if tags:
                tags["cell_type"] = cell.cell_type
                tags["checksum"] = released[tags["grade_id"]].checksum
        if NOTE in nb.metadata:
            notebook.cells.insert(0, _note(nb.metadata[NOTE]))
        return notebook, resources

    def _source(self, course):
        directory = self.parent.parent.coursedir
        folder = directory.format_path(directory.source_directory, ".", course["assignment"])
        return Path(folder, f"{course['notebook']}.ipynb")


def _note(reason):
    return nbformat.v4.new_markdown_cell(f"**What was handed in could not be read:** {reason}.")
