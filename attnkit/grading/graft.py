"""Rebuilds a submission from the teacher's notebook, taking only the text of the answers from it.

nbgrader repairs what was handed in; here nothing of it is trusted but the text of the answer cells,
found by their grade id. No metadata, no other cell, no other order reaches the notebook that runs.
"""

import contextlib
import errno
import os
import stat
import warnings

import nbformat


class Unreadable(ValueError):
    """The file that was handed in is no notebook; the message says why."""


@contextlib.contextmanager
def opened(path):
    """A learner's file and its size; Unreadable if it is missing or is no ordinary file."""
    try:
        # Not through a symbolic link: it could lead to a file that is not the learner's.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        if error.errno not in _THEIRS:
            raise
        raise Unreadable(_THEIRS[error.errno]) from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise Unreadable("this is no ordinary file")
        with open(descriptor, "rb", closefd=False) as file:
            yield file, status.st_size
    finally:
        os.close(descriptor)


# What a learner can bring about; anything else is a fault of this machine.
_THEIRS = {
    errno.ENOENT: "there is no such file",
    errno.ENOTDIR: "there is no such file",
    errno.ELOOP: "this is a symbolic link, which is not followed",
    errno.ENXIO: "this is no ordinary file",
}


def read(path, largest):
    """The notebook that was handed in, in the present format; Unreadable if there is none."""
    with opened(path) as (file, size):
        if size > largest:
            raise Unreadable(f"the file has {size:,} bytes; at most {largest:,} are read")
        content = file.read()
    return parsed(content)


def parsed(content):
    """The notebook that these bytes are, in the present format; Unreadable if they are none."""
    try:
        with warnings.catch_warnings(action="ignore", category=nbformat.warnings.DuplicateCellId):
            notebook = nbformat.convert(nbformat.reader.reads(content.decode()), 4)
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
            # Half of a character pair is valid JSON, but no text that could be written to a file.
            found[grade_id] = cell.source.encode(errors="replace").decode()
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
