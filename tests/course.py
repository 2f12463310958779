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

    def __init__(self, folder, assignment):
        self.folder, self.assignment = folder, assignment
        shutil.copytree(ROOT / "solutions", folder / "solutions")
        shutil.copy(ROOT / "nbgrader_config.py", folder)
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

    def marks(self, learner):
        """Automatic and full mark of each graded cell of a learner, by grade id."""
        with Gradebook(f"sqlite:///{self.folder}/gradebook.db") as gradebook:
            submission = gradebook.find_submission(self.assignment, learner)
            return {
                grade.name: (grade.auto_score, grade.max_score)
                for notebook in submission.notebooks
                for grade in notebook.grades
            }
