"""What grading left in a course's folder: marks, graded notebooks, and where the book is."""

import contextlib
from pathlib import Path

import nbformat
from nbgrader.api import Gradebook
from sqlalchemy.engine import make_url
from traitlets import TraitError, Unicode, validate
from traitlets.config import Configurable

from attnkit.grading.batch import CannotGrade, Course
from attnkit.notebooks import TITLES


class Book(Configurable):
    """Where learners find the book."""

    address = Unicode(
        "", help="The book's address, such as https://example.org/attention; empty: no links."
    ).tag(config=True)

    @validate("address")
    def _is_web(self, proposal):
        if proposal.value and not proposal.value.startswith(("https://", "http://")):
            raise TraitError(f"c.Book.address is {proposal.value!r}; it must start with https://")
        return proposal.value.rstrip("/")

    def reread(self, exercise):
        """The section to go back to: chapter, heading and link (empty without an address)."""
        heading, page = exercise.reread
        chapter = TITLES.get(exercise.chapter, exercise.chapter)
        return chapter, heading, self.address and f"{self.address}/{page}"


class GradedCourse(Course):
    """A course to read from.

    :raises CannotGrade: if what is asked for is not there
    """

    def __init__(self, folder):
        super().__init__(folder)
        self.book = Book(config=self.app.config)

    @contextlib.contextmanager
    def gradebook(self):
        """The open gradebook, which has to exist: opening would make an empty one."""
        url = self.dirs.db_url
        if url.startswith("sqlite:///") and not Path(make_url(url).database).exists():
            raise CannotGrade(f"{self.folder} has no gradebook yet; run: attnkit grade ASSIGNMENT")
        with Gradebook(url, self.dirs.course_id) as gradebook:
            yield gradebook

    @contextlib.contextmanager
    def submissions(self, assignment):
        """The open gradebook and the submissions of an assignment in it, by student."""
        with self.gradebook() as gradebook:
            known = sorted(each.name for each in gradebook.assignments)
            if assignment not in known:
                there = ", ".join(known) or "none"
                raise CannotGrade(f"the gradebook has no {assignment!r}; it has: {there}")
            found = gradebook.assignment_submissions(assignment)
            by_student = {each.student.id: each for each in found}
            yield gradebook, {student: by_student[student] for student in sorted(by_student)}

    def autograded(self, student, assignment, name):
        """A notebook as grading left it, or None where there is none.

        The grader wrote it, so it is read without the slow look at its form.
        """
        file = self.path(self.dirs.autograded_directory, assignment, student) / f"{name}.ipynb"
        return nbformat.v4.reads(file.read_text("utf-8")) if file.exists() else None
