"""What nbgrader calls: `nbgrader_config.py` plugs these into autograde and the formgrader."""

import os
from pathlib import Path

import nbformat
from nbconvert.exporters import NotebookExporter
from nbgrader.api import Gradebook
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Bool, Integer

from attnkit.grading import confine, judge
from attnkit.grading.graft import Unreadable, graft, read

# Where a note about the submission travels from the file's reader to the graft.
NOTE = "unreadable"


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
            released = {cell.name: (cell.source, cell.checksum) for cell in known.source_cells}
        teacher = nbformat.read(self._source(course), as_version=4)
        notebook = graft(teacher, nb, {name: source for name, (source, _) in released.items()})
        for cell in notebook.cells:
            tags = cell.metadata.nbgrader
            tags["cell_type"] = cell.cell_type
            _, tags["checksum"] = released[tags["grade_id"]]  # tells an untouched answer
        if NOTE in nb.metadata:
            notebook.cells.insert(0, _note(nb.metadata[NOTE]))
        return notebook, resources

    def _source(self, course):
        directory = self.parent.parent.coursedir
        folder = directory.format_path(directory.source_directory, ".", course["assignment"])
        return Path(folder, f"{course['notebook']}.ipynb")


class Judge(NbGraderPreprocessor):
    """Stands where nbgrader runs the notebook in a kernel: runs it confined, and judges outside."""

    memory = Integer(4 * 2**30, help="Bytes of address space for a submission.").tag(config=True)
    seconds = Integer(120, help="Processor time for a submission.").tag(config=True)
    unconfined = Bool(
        False, help="Run submissions with all the rights of this account, where Linux is missing."
    ).tag(config=True)
    library_calls = Bool(
        False, help="Give points for a call of the library function that an exercise asks for."
    ).tag(config=True)

    def preprocess(self, nb, resources):
        """Called by nbgrader with the grafted notebook."""
        lacks = confine.missing()
        if lacks and not self.unconfined:
            raise confine.CannotConfine(
                f"submissions cannot be confined: this machine lacks {', '.join(lacks)}. "
                "To run them with all your rights, set c.Judge.unconfined = True"
            )
        limits = None if self.unconfined else {"memory": self.memory, "seconds": self.seconds}
        seed = int(os.environ["ATTNKIT_SEED"], 16)
        judged = judge.run(nb, seed=seed, limits=limits, library_calls=self.library_calls)
        return judged, resources


def _note(reason):
    return nbformat.v4.new_markdown_cell(f"**What was handed in could not be read:** {reason}.")
