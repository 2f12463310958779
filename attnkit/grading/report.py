"""What a class has understood: for each exercise how many passed, and which mistake how many made.

The data are the verdicts that grading left in the autograded notebooks.
"""

import json
from collections import Counter
from dataclasses import asdict, dataclass, field

from attnkit.exercises import find
from attnkit.grading import pages
from attnkit.grading.feedback import verdict_of
from attnkit.notebooks import TITLES, checked


@dataclass(frozen=True)
class Mistake:
    """A misconception, in the check's words, and how many hold it."""

    name: str
    count: int


@dataclass(frozen=True)
class Row:
    """What became of one exercise; ``reread`` is chapter, heading and link."""

    exercise: str
    title: str
    passed: int
    partly: int  # earns some of the points
    failed: int
    blank: int
    mistakes: list[Mistake]
    unnamed: int  # not all right, with no mistake that is known
    reread: tuple[str, str, str]


@dataclass
class Report:
    """An assignment of a course; ``without_grade`` are ids of students."""

    assignment: str
    graded: int
    rows: list[Row] = field(default_factory=list)
    without_grade: list[str] = field(default_factory=list)

    def json(self):
        """Everything, names too, for programs."""
        return json.dumps(asdict(self), indent=2)

    def html(self):
        """A page to show in class: it names no student."""
        return pages.fill(
            "report",
            report=self,
            title=f"{TITLES.get(self.assignment, self.assignment)}: how the class did",
        )

    def text(self):
        """For the terminal: a line an exercise, its mistakes below, then who has no grade."""
        kinds = ("passed", "partly", "failed", "blank")
        lines = [" ".join(f"{kind:>6}" for kind in kinds) + "  exercise"]
        for row in self.rows:
            chapter, heading, _ = row.reread
            counts = " ".join(f"{getattr(row, kind):6}" for kind in kinds)
            lines.append(f"{counts}  {row.title}")
            lines += [f"{mistake.count:34}  {mistake.name}" for mistake in row.mistakes]
            if row.unnamed:
                lines.append(f"{row.unnamed:34}  no known mistake")
            if row.partly or row.failed or row.blank:
                lines.append(f"{'':36}reread {chapter}: {heading}")
        lines.append(f"{self.graded} graded; without a grade: {len(self.without_grade)}")
        return "\n".join([*lines, *(f"  {student}" for student in self.without_grade)])


def report(course, assignment):
    """Read the verdicts of everyone who has a grade."""
    with course.submissions(assignment) as (gradebook, submissions):
        graded = {student: [nb.name for nb in s.notebooks] for student, s in submissions.items()}
        students = sorted(student.id for student in gradebook.students)
    verdicts, without_grade = {}, []
    for student in students:
        notebooks = [course.autograded(student, assignment, n) for n in graded.get(student, ())]
        if not notebooks or None in notebooks:
            without_grade.append(student)
            continue
        for notebook in notebooks:
            for name, verdict in _verdicts(notebook):
                verdicts.setdefault(name, []).append(verdict)
    return Report(
        assignment=assignment,
        graded=len(students) - len(without_grade),
        rows=[_row(find(name), found, course.book) for name, found in verdicts.items()],
        without_grade=without_grade,
    )


def _verdicts(notebook):
    for cell in notebook.cells:
        if cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("grade"):
            yield from ((name, verdict_of(cell)) for name in checked(cell))


# What is wrong with an answer that makes no known mistake, where its verdict says so.
KINDS = {
    "not allowed": "calls a library's function in the place of its own",
    "raised": "raises an exception, does not end, or is missing",
}


def _mistakes(verdict):
    if verdict.misconceptions or verdict.kind not in KINDS:
        return verdict.misconceptions
    return (KINDS[verdict.kind],)


def _row(exercise, verdicts, book):
    there = [verdict for verdict in verdicts if verdict]
    passed = sum(verdict.passed for verdict in there)
    partly = sum(verdict.earned > 0 and not verdict.passed for verdict in there)
    blank = sum(verdict.kind == "unfinished" for verdict in there)
    failed = len(verdicts) - passed - partly - blank
    named = [found for verdict in there if (found := _mistakes(verdict))]
    # An answer that several mistakes explain counts for each of them.
    counts = Counter(name for names in named for name in names)
    return Row(
        exercise=exercise.name,
        title=exercise.heading,
        passed=passed,
        partly=partly,
        failed=failed,
        blank=blank,
        mistakes=[Mistake(name, count) for name, count in counts.most_common()],
        unnamed=partly + failed - len(named),
        reread=book.reread(exercise),
    )
