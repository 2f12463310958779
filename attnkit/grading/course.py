"""A course's folder: its settings, its gradebook, and where its notebooks lie."""

import contextlib
import os
from pathlib import Path

import nbformat
from nbgrader.api import Gradebook
from nbgrader.coursedir import CourseDirectory
from traitlets import Unicode, validate
from traitlets.config import Configurable, PyFileConfigLoader

from attnkit.notebooks import TITLES

SETTINGS = "nbgrader_config.py"


class NoCourse(ValueError):
    """The folder is no course, or the course lacks what was asked for; the message says what."""


class Book(Configurable):
    """Where learners find the book."""

    address = Unicode(
        "", help="The book's address, such as https://example.org/attention; empty: no links."
    ).tag(config=True)

    @validate("address")
    def _is_web(self, proposal):
        if proposal.value and not proposal.value.startswith(("https://", "http://")):
            raise ValueError(f"c.Book.address is {proposal.value!r}; it must start with https://")
        return proposal.value.rstrip("/")

    def reread(self, exercise):
        """The section to go back to: chapter, heading and link (empty without an address)."""
        heading, page = exercise.reread
        chapter = TITLES.get(exercise.chapter, exercise.chapter)
        return chapter, heading, self.address and f"{self.address}/{page}"


class Course:
    """The course in a folder, as nbgrader sees it when it is called there."""

    def __init__(self, folder="."):
        self.folder = Path(folder).resolve()
        if not (self.folder / SETTINGS).is_file():
            raise NoCourse(f"{folder} is no course: it has no {SETTINGS}")
        with contextlib.chdir(self.folder):
            self.config = PyFileConfigLoader(SETTINGS, path=str(self.folder)).load_config()
        self.directory = CourseDirectory(config=self.config, root=str(self.folder))
        self.book = Book(config=self.config)

    @contextlib.contextmanager
    def gradebook(self):
        """The open gradebook, which has to exist: opening would make an empty one."""
        url = self.directory.db_url
        if url.startswith("sqlite:///") and not os.path.exists(url.removeprefix("sqlite:///")):
            raise NoCourse(f"{self.folder} has no gradebook yet; grade an assignment first")
        with Gradebook(url) as gradebook:
            yield gradebook

    @contextlib.contextmanager
    def assignment(self, name):
        """The open gradebook and the assignment in it."""
        with self.gradebook() as gradebook:
            known = {assignment.name: assignment for assignment in gradebook.assignments}
            if name not in known:
                there = ", ".join(sorted(known)) or "none"
                raise NoCourse(f"the gradebook has no assignment {name!r}; there are: {there}")
            yield gradebook, known[name]

    def path(self, room, student, assignment):
        """A folder of ``submitted``, ``autograded`` or ``feedback``."""
        directory = getattr(self.directory, f"{room}_directory")
        return Path(self.directory.format_path(directory, student, assignment))

    def autograded(self, student, assignment, name):
        """A notebook as grading left it, or None where there is none.

        The grader wrote it, so it is read without the slow look at its form.
        """
        file = self.path("autograded", student, assignment) / f"{name}.ipynb"
        return nbformat.v4.reads(file.read_text("utf-8")) if file.exists() else None
