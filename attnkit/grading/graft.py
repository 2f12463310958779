"""Rebuilds a submission from the teacher's notebook, taking only the text of the answers from it.

nbgrader repairs what was handed in; here nothing of it is trusted but the text of the answer cells,
found by their grade id. No metadata, no other cell, no other order reaches the notebook that runs.
"""

import os
import stat

import nbformat


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
