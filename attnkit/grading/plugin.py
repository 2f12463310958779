"""What nbgrader calls: `nbgrader_config.py` plugs these into autograde and the formgrader."""

import html
import os
from pathlib import Path

import nbformat
from nbconvert.exporters import NotebookExporter
from nbgrader.api import Gradebook
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Bool, Integer

from attnkit.grading import judge
from attnkit.grading.gradebook import released
from attnkit.grading.graft import Unreadable, graft, read
from attnkit.grading.submission import beside

# Where a note about the submission travels from the file's reader to the graft.
NOTE = "note"


class SubmissionExporter(NotebookExporter):
    """Reads what was handed in without trusting that it is a notebook."""

    largest = Integer(10_000_000, help="Bytes; a larger file is not read.").tag(config=True)

    def from_filename(self, filename, resources=None, **kwargs):
        """As nbconvert's, but a file that is no notebook becomes an empty one with a note."""
        try:
            notebook = read(filename, self.largest)
        except Unreadable as error:
            self.log.warning("%s: %s", filename, error)
            note = f"What was handed in could not be read: {error}."
            notebook = nbformat.v4.new_notebook(metadata={NOTE: note})
        else:
            notebook.metadata.pop(NOTE, None)  # a learner writes no note
        resources = (resources or {}) | {"outputs": beside(Path(filename).parent)}
        return self.from_notebook_node(notebook, resources=resources, **kwargs)


class Graft(NbGraderPreprocessor):
    """The only sanitizing step: replaces the submission by the grafted notebook."""

    def preprocess(self, nb, resources):
        """Called by nbgrader with what was handed in."""
        course = resources["nbgrader"]
        with Gradebook(course["db_url"]) as gradebook:
            cells = released(gradebook, course["assignment"])[course["notebook"]]
        teacher = nbformat.read(self._source(course), as_version=4)
        return rebuilt(teacher, nb, cells, nb.metadata.get(NOTE)), resources

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
        judged = self.judged(nb)
        if judged.lost:  # perhaps to a busy machine, and here nothing else is being judged
            judged = self.judged(nb)
        return judged.notebook, resources

    def judged(self, notebook):
        """What ``judge.judge`` makes of a grafted notebook under these settings."""
        return judge.judge(
            notebook,
            seed=int(os.environ["ATTNKIT_SEED"], 16),
            limits=None if self.unconfined else {"memory": self.memory, "seconds": self.seconds},
            library_calls=self.library_calls,
        )


def rebuilt(teacher, submission, cells, note=None):
    """The grafted notebook with the tags that nbgrader reads, and a note about the submission.

    :param cells: text and checksum of each cell as it was handed out, by grade id
    """
    notebook = graft(teacher, submission, {name: source for name, (source, _) in cells.items()})
    for cell in notebook.cells:
        tags = cell.metadata.get("nbgrader")
        if tags is None:  # a cell of the teacher's own, with nothing to grade
            continue
        tags["cell_type"] = cell.cell_type
        _, tags["checksum"] = cells[tags["grade_id"]]  # tells an untouched answer
    if note:
        # A block of HTML, in which no Markdown and, escaped, no tag of a learner's is read.
        text = f"<p><b>{html.escape(note)}</b></p>"
        notebook.cells.insert(0, nbformat.v4.new_markdown_cell(text, id="note"))
    return notebook
