"""A course in a folder of its own, with the repository's assignments and settings."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
from nbgrader.api import Gradebook

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent


class Course:
    """What a teacher does from release to export, each command with a time limit."""

    def __init__(self, folder, assignment, release=True):
        self.folder, self.assignment = folder, assignment
        shutil.copytree(ROOT / "solutions", folder / "solutions")
        shutil.copy(ROOT / "nbgrader_config.py", folder)
        if release:
            self.nbgrader("generate_assignment", assignment)

    def nbgrader(self, *arguments):
        """Run a command of nbgrader's in the course's folder; it has to succeed."""
        result = subprocess.run(
            [BIN / "nbgrader", *arguments],
            cwd=self.folder,
            env=os.environ | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"},
            timeout=290,
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, result.stderr

    def path(self, room, learner):
        """The notebook of a learner in ``submitted``, ``autograded`` or ``feedback``."""
        ending = "html" if room == "feedback" else "ipynb"
        return self.folder / room / learner / self.assignment / f"{self.assignment}.{ending}"

    def released(self):
        """The notebook as it is handed out."""
        path = self.folder / "release" / self.assignment / f"{self.assignment}.ipynb"
        return nbformat.read(path, as_version=4)

    def hand_in(self, learner, notebook):
        """Put a notebook, or the bytes of a file, where submissions lie; returns the path."""
        path = self.path("submitted", learner)
        path.parent.mkdir(parents=True)
        content = notebook if isinstance(notebook, bytes) else nbformat.writes(notebook).encode()
        path.write_bytes(content)
        return path

    def gradebook(self):
        """The course's gradebook, to be used in a ``with``."""
        return Gradebook(f"sqlite:///{self.folder}/gradebook.db", "attention")

    def rows(self):
        """All that the gradebook holds of the submissions, without the random ids of its rows."""
        found = {}
        with self.gradebook() as gradebook:
            for submission in gradebook.assignment_submissions(self.assignment):
                student = submission.student_id
                found[student] = (submission.timestamp, submission.extension, submission.score)
                for notebook in submission.notebooks:
                    part = (student, notebook.name)
                    found[part] = (notebook.late_submission_penalty, notebook.max_score)
                    for row in [*notebook.grades, *notebook.comments]:
                        values = {
                            column.name: getattr(row, column.name) for column in row.__table__.c
                        }
                        for name in ("id", "cell_id", "notebook_id"):
                            del values[name]
                        found[*part, row.name, type(row).__name__] = values
        return found

    def marks(self, learner):
        """Automatic and full mark of each graded cell of a learner, by grade id."""
        with self.gradebook() as gradebook:
            submission = gradebook.find_submission(self.assignment, learner)
            return {
                grade.name: (grade.auto_score, grade.max_score)
                for notebook in submission.notebooks
                for grade in notebook.grades
            }
