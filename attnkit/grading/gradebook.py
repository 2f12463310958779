"""nbgrader's gradebook, written a learner at a time: all that belongs to one, or nothing of it.

nbgrader's own calls commit at every step. Here that waits for the end of one transaction, so that a
gradebook whose writer was killed holds no half of a submission.
"""

import contextlib
import os
import shutil
import sys
from pathlib import Path

from nbgrader.api import (
    Assignment,
    BaseCell,
    Gradebook,
    MissingEntry,
    Notebook,
    SubmittedAssignment,
)
from nbgrader.converters import GenerateAssignment
from nbgrader.preprocessors import AssignLatePenalties
from sqlalchemy.engine import make_url
from sqlalchemy.orm import Session


@contextlib.contextmanager
def opened(coursedir):
    """The gradebook of a course, made if there is none."""
    database = make_url(coursedir.db_url).database
    if coursedir.db_url.startswith("sqlite:///") and not Path(database).exists():
        _create(Path(database), coursedir.course_id)
    with Gradebook(coursedir.db_url, coursedir.course_id) as gradebook:
        yield gradebook


def _create(path, course_id):
    """Make it beside its place: half a gradebook would be taken for a whole one."""
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with _draft(path.with_name(f".{path.name}.draft")) as folder:
        Gradebook(f"sqlite:///{folder / path.name}", course_id).close()  # runs alembic from PATH
        (folder / path.name).replace(path)


@contextlib.contextmanager
def _draft(folder):
    """An empty folder, whatever an earlier run that was killed left in it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def released(gradebook, assignment):
    """What was handed out: text and checksum of each cell, by notebook and grade id."""
    try:
        notebooks = gradebook.find_assignment(assignment).notebooks
    except MissingEntry:
        return {}
    return {
        notebook.name: {cell.name: (cell.source, cell.checksum) for cell in notebook.source_cells}
        for notebook in sorted(notebooks, key=lambda notebook: notebook.name)
    }


def release(coursedir, app):
    """Enter the chosen assignment and write its release, as `nbgrader generate_assignment` does."""
    place = coursedir.release_directory
    final = Path(coursedir.format_path(place, ".", coursedir.assignment_id))
    coursedir.release_directory = f".{place}.draft"
    try:
        with _draft(Path(coursedir.root, coursedir.release_directory)):
            GenerateAssignment(coursedir=coursedir, parent=app).start()
            final.parent.mkdir(parents=True, exist_ok=True)
            written = coursedir.format_path(f".{place}.draft", ".", coursedir.assignment_id)
            Path(written).replace(final)
    finally:
        coursedir.release_directory = place


class Writer:
    """Writes marks as nbgrader's ``SaveAutoGrades`` and ``AssignLatePenalties`` do.

    A teacher's marks and comments stay; a cell that has one is put up for review again, as nbgrader
    does, but only if what was marked has changed.
    """

    def __init__(self, gradebook, assignment, config):
        self.gradebook, self.assignment = gradebook, assignment
        self.rule = AssignLatePenalties(config=config)
        self.rule.init_plugin()
        cells = gradebook.db.query(BaseCell.id, BaseCell.name).join(Notebook).join(Assignment)
        self.names = dict(cells.filter(Assignment.name == assignment).all())

    def write(self, student, timestamp, marks, unanswered, unchanged):
        """Everything about a learner's submission in one transaction.

        :param timestamp: when it was handed in, or None
        :param marks: by notebook and grade id; None waits for a person
        :param unanswered: by notebook, the grade ids of the answers left as they were handed out
        :param unchanged: by notebook, the grade ids whose answers are those of the last time
        """
        with self._transaction():
            self.gradebook.update_or_create_student(student)
            self.gradebook.db.flush()  # the next call looks for the learner in the database
            when = {"timestamp": timestamp} if timestamp else {}
            submission = self.gradebook.update_or_create_submission(
                self.assignment, student, **when
            )
            for notebook in submission.notebooks:
                for grade in notebook.grades:
                    name = self.names.get(grade.cell_id)
                    if name in marks[notebook.name]:
                        grade.auto_score = marks[notebook.name][name]
                        if grade.manual_score is None:
                            grade.needs_manual_grade = grade.auto_score is None
                        elif name not in unchanged[notebook.name]:
                            grade.needs_manual_grade = True
                for comment in notebook.comments:
                    empty = self.names.get(comment.cell_id) in unanswered[notebook.name]
                    comment.auto_comment = "No response." if empty else None
            self._punish(submission)

    def punish(self, student):
        """Take off anew what is taken off for lateness: the date or the rule may have changed."""
        with self._transaction():
            self._punish(self.gradebook.find_submission(self.assignment, student))

    def _punish(self, submission):
        for notebook in submission.notebooks:
            notebook.late_submission_penalty = None
        self.gradebook.db.flush()
        rule, late = self.rule.plugin_inst, submission.total_seconds_late
        if late > 0:
            self.gradebook.db.expire_all()  # the database adds up the scores
            for notebook in submission.notebooks:
                penalty = rule.late_submission_penalty(submission.student_id, notebook.score, late)
                if penalty is not None:
                    penalty = self.rule._check_late_penalty(notebook, penalty)
                    notebook.late_submission_penalty = penalty
            self.gradebook.db.flush()

    @contextlib.contextmanager
    def _transaction(self):
        """What nbgrader's calls write in here is committed as a whole, or rolled back."""
        shared = self.gradebook.db
        with (
            self.gradebook.engine.begin() as connection,
            _Uncommitted(
                connection, join_transaction_mode="rollback_only", autoflush=False
            ) as self.gradebook.db,
        ):
            try:
                yield
            finally:
                self.gradebook.db = shared

    def totals(self):
        """By learner: points, full points, whether a person has to mark something, and what was
        taken off for lateness."""
        self.gradebook.db.rollback()  # ends the reading transaction, which sees the past
        query = self.gradebook.db.query(
            SubmittedAssignment.student_id,
            SubmittedAssignment.score,
            SubmittedAssignment.late_submission_penalty,
            SubmittedAssignment.max_score,
            SubmittedAssignment.needs_manual_grade,
        ).filter(SubmittedAssignment.name == self.assignment)
        return {
            student: (max(0.0, score - (penalty or 0.0)), full, bool(by_hand), penalty or 0.0)
            for student, score, penalty, full, by_hand in query
        }


class _Uncommitted(Session):
    """A session in the transaction of a connection, which is committed without it."""

    def commit(self):
        """Does nothing where nbgrader calls it, at every step."""
