"""Makes an assignment of exercises that a teacher picks out, from whichever chapters."""

import re

import nbformat

from attnkit.exercises import NotFound, pick
from attnkit.grading.batch import CannotGrade, Course
from attnkit.notebooks import of_items


def make(folder, name, items, title):
    """Write the teacher's notebook of an assignment; its path.

    :param folder: of the course
    :param items: numbers or names of exercises, and names of questions, in their order
    :raises CannotGrade: if there is such an assignment, or no such exercise
    """
    course = Course(folder)
    if not re.fullmatch(r"[\w.-]+", name) or name.startswith("."):
        raise CannotGrade(f"{name!r} is no name for a folder: take letters, digits, - and _")
    path = course.path(course.dirs.source_directory, name) / f"{name}.ipynb"
    if path.exists():
        raise CannotGrade(f"there is an assignment {name!r} already: {path}")
    try:
        notebook = of_items(title, pick(items))
    except NotFound as error:
        raise CannotGrade(str(error)) from None
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, path)
    return path
