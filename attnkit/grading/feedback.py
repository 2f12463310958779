"""The page each learner gets back: their answers, what the checks and the teacher say, the sum.

``nbgrader_config.py`` plugs `FeedbackExporter` into ``nbgrader generate_feedback`` and the
formgrader; `write_all` writes the same pages for a whole class at once.
"""

import html
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup
from nbconvert.exporters import Exporter
from nbgrader.api import Gradebook
from traitlets import default

from attnkit.checking import Question, Verdict
from attnkit.exercises import CHAPTERS, find, of_chapter
from attnkit.grading import pages
from attnkit.grading.batch import CannotGrade
from attnkit.grading.graded import Book
from attnkit.grading.submission import beside
from attnkit.notebooks import TITLES, checked

WAITING, EMPTY = "waits for your teacher", "left empty"


class FeedbackExporter(Exporter):
    """An autograded notebook as a page; the marks and comments come from the gradebook."""

    @default("file_extension")
    def _file_extension(self):
        return ".html"

    def from_notebook_node(self, nb, resources=None, **kwargs):
        """Called by nbgrader with an autograded notebook."""
        course = resources["nbgrader"]
        with Gradebook(course["db_url"]) as gradebook:
            graded = gradebook.find_submission_notebook(
                course["notebook"], course["assignment"], course["student"]
            )
            text = page(nb, graded, Book(parent=self))
        files = beside(Path(resources["metadata"]["path"]))
        return text, resources | {"output_extension": self.file_extension, "outputs": files}


def write_all(course, assignment, students=()):
    """Write the page of every graded submission, or of these students' only; yields the paths."""
    with course.submissions(assignment) as (_, submissions):
        for student in students or submissions:
            if student not in submissions:
                raise CannotGrade(f"the gradebook has no {assignment} of {student}")
            place = course.path(course.dirs.feedback_directory, assignment, student)
            files = beside(course.path(course.dirs.autograded_directory, assignment, student))
            for graded in submissions[student].notebooks:
                notebook = course.autograded(student, assignment, graded.name)
                if notebook:
                    place.mkdir(parents=True, exist_ok=True)
                    for name, content in files.items():
                        (place / name).write_bytes(content)
                    target = place / f"{graded.name}.html"
                    target.write_text(page(notebook, graded, course.book), encoding="utf-8")
                    yield target


@dataclass(frozen=True)
class Answer:
    """A cell the learner wrote in, as HTML, and what it put out."""

    html: Markup
    outputs: tuple[pages.Output, ...] = ()


@dataclass
class Part:
    """What a mark was given for: an exercise or a written question."""

    id: str
    title: str
    state: str
    points: str
    answers: list[Answer]
    comments: list[Markup]
    verdict: Markup | None = None
    reread: tuple[str, str, str] | None = None


def page(notebook, graded, book):
    """The page of an autograded notebook.

    :param graded: the notebook's entry in the gradebook
    :param book: says where the sections to reread are
    """
    grades = {grade.name: grade for grade in graded.grades}
    # nbgrader's own comment, on what was left empty, is not the teacher's.
    comments = {comment.name: comment.manual_comment for comment in graded.comments}
    parts, answers, said, notices = [], [], [], []
    for cell in notebook.cells:
        tags = cell.metadata.get("nbgrader")
        if tags is None:
            notices += [_notice(cell)] if cell.get("id") == "note" else []
            continue
        name = tags["grade_id"]
        if tags["solution"]:
            answers.append(_answer(cell))
            said += [pages.prose(comments[name])] if comments.get(name) else []
        if tags["grade"]:
            part = _question if tags["solution"] else _exercise
            parts.append(part(cell, grades[name], answers, said, book))
            answers, said = [], []
    penalty = graded.late_submission_penalty or 0
    return pages.fill(
        "feedback",
        title=TITLES.get(graded.name, graded.name),
        student=graded.student.id,
        score=max(graded.score - penalty, 0),
        of=graded.max_score,
        penalty=penalty,
        waiting=sum(grade.max_score for grade in grades.values() if _waits(grade)),
        notices=notices,
        parts=parts,
    )


def _notice(cell):
    """The text of a note, which the grader wrote as HTML."""
    return html.unescape(cell.source.removeprefix("<p><b>").removesuffix("</b></p>"))


def verdict_of(cell):
    """The verdict that the grader left in a check's cell, or None."""
    for output in cell.get("outputs", ()):
        data = output.get("data", {}).get(Verdict.MIME)
        if data:
            return Verdict.from_dict(data)
    return None


def _answer(cell):
    if cell.cell_type == "markdown":
        return Answer(pages.prose(cell.source or "(empty)"))
    text = Markup("<pre><code>{}</code></pre>").format(pages.code(cell.source))
    return Answer(text, tuple(pages.outputs(cell)))


def _exercise(cell, grade, answers, said, book):
    exercise, verdict = find(*checked(cell)), verdict_of(cell)
    part = Part(
        id=grade.name,
        title=exercise.heading,
        state=verdict.state if verdict else "no verdict",
        points=_points(grade),
        answers=answers,
        comments=said,
    )
    if verdict:
        part.verdict = Markup(verdict._repr_mimebundle_()["text/html"])
    if not (verdict and verdict.passed):
        part.reread = book.reread(exercise)
    return part


def _question(cell, grade, answers, said, book):
    titles = {
        item.name: item.title
        for chapter in CHAPTERS
        for item in of_chapter(chapter)
        if isinstance(item, Question)
    }
    return Part(
        id=grade.name,
        title=titles.get(grade.name, grade.name),
        state=WAITING if _waits(grade) else EMPTY if grade.manual_score is None else "marked",
        points=_points(grade),
        answers=answers,
        comments=said,
    )


def _waits(grade):
    return grade.auto_score is None and grade.manual_score is None


def _points(grade):
    given = "?" if _waits(grade) else pages.number(grade.score)
    return f"{given} of {pages.number(grade.max_score)}"
