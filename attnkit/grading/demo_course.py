"""Makes a class to rehearse with: a whole course, what its students handed in, the marks they earn.

Some answers are right in several styles, some hold a mistake that the exercises know, some are
unfinished, and some students do what `hostile` knows. Students are labels; none is a person.
"""

import csv
import json
import random
import shutil
from dataclasses import astuple, dataclass
from itertools import count, cycle
from pathlib import Path

import nbformat

from attnkit import notebooks
from attnkit.checking import Exercise, Question, judge, shortcuts
from attnkit.exercises import CHAPTERS, of_chapter
from attnkit.grading import gradebook
from attnkit.grading.as_cell import as_cell
from attnkit.grading.batch import CannotGrade, Course
from attnkit.grading.hostile import ALL, ANSWERS, EARLIER, FILES, NONE, Answer, Scene, filled, right

SETTINGS, EXPECTED = "nbgrader_config.py", "expected.csv"


@dataclass(frozen=True)
class Try:
    """An answer a student gives: its kind, its text (None: untouched), what it earns and hears."""

    kind: str
    text: str | None
    mark: float
    says: str


@dataclass(frozen=True)
class Row:
    """A line of ``expected.csv``: what a check has to give, and words of its feedback."""

    student: str
    assignment: str
    check: str
    answer: str
    mark: float
    of: int
    says: str


def make(folder, settings, students, seed=0, assignments=CHAPTERS):
    """Fill an empty folder with a course; the same seed makes the same class.

    :param settings: the folder of the course whose settings are rehearsed
    :param students: how many; from `enough` on, every kind of answer is there
    :returns: the rows of ``expected.csv``
    """
    folder = Path(folder).resolve()
    unknown = sorted(set(assignments) - set(CHAPTERS))
    if unknown:
        raise CannotGrade(
            f"no assignment is called {unknown[0]!r}; there are: {', '.join(CHAPTERS)}"
        )
    if students < 1:
        raise CannotGrade(f"a class of {students} students has nobody to rehearse with")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise CannotGrade(f"{folder} is there already and not empty; name a new folder")
    if not Path(settings, SETTINGS).is_file():
        raise CannotGrade(f"{settings} is no course: it has no {SETTINGS}")
    names = [f"student-{number:03}" for number in range(1, students + 1)]
    _prepare(folder, settings, names, seed, assignments)
    rows = [
        row
        for assignment in assignments
        for row in _role_by_role(folder, assignment, names, random.Random(f"{seed} {assignment}"))
    ]
    with open(folder / EXPECTED, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(Row.__dataclass_fields__)
        writer.writerows(sorted(map(astuple, rows)))
    return rows


def enough(assignments=CHAPTERS):
    """The smallest number of students with which every kind of answer is there."""
    longest = max(len(list(tries(each))) for name in assignments for each in exercises(name))
    acts = len(ANSWERS) + len(FILES)
    return next(n for n in count() if _shares(n)[0] >= acts and _shares(n)[1] >= longest)


def _shares(students):
    """How many of them do an act, how many answer honestly; the rest hands nothing in."""
    present = students - students // 20
    honest = max(present - len(ANSWERS) - len(FILES), -(-present // 3))
    return present - honest, honest


def exercises(assignment):
    """The exercises of an assignment, in order."""
    return [item for item in of_chapter(assignment) if isinstance(item, Exercise)]


def tries(exercise):
    """The answers that honest students give: right ones, known mistakes, unfinished ones."""
    scene, full = Scene(exercise), exercise.points
    yield Try("right: the solution", scene.right, full, "right")
    for answer in exercise.right_answers:
        text = as_cell(exercise, answer.answer)
        if shortcuts.in_sources([text], [exercise]):
            yield Try(f"library: {answer.name}", text, 0, "please write it yourself")
        elif "torch" not in text:  # importing it would be most of what the class takes
            yield Try(f"right: {answer.name}", text, full, "right")
    for mistake in exercise.misconceptions:
        # What it does earn is asked of the check itself, which runs it without the grader.
        earned = judge(exercise, mistake.answer).earned
        text = as_cell(exercise, mistake.answer)
        yield Try(f"mistake: {mistake.name}", text, earned, mistake.name)
    yield Try("blank", None, 0, "not filled in yet")
    yield Try("half-finished", f"{scene.head}\n    total = 0\n", 0, "is a `return` missing?")
    yield Try("syntax error", scene.right.replace(":\n", "\n", 1), 0, "there is no function")


def _prepare(folder, settings, students, seed, assignments):
    """The course as it is before anything is handed in."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(Path(settings, SETTINGS), folder)
    hidden = random.Random(f"{seed} hidden cases").getrandbits(64)
    (folder / ".course_seed").write_text(f"{hidden:016x}")
    for assignment in assignments:
        path = folder / "solutions" / assignment / f"{assignment}.ipynb"
        path.parent.mkdir(parents=True)
        nbformat.write(notebooks.teacher(assignment), path)
    course = Course(folder)
    with gradebook.opened(course.dirs) as book:
        for assignment in assignments:
            course.assignment(book, assignment)  # releases it
        for student in students:
            book.add_student(student, first_name="Student", last_name=student[-3:])


def _role_by_role(folder, assignment, students, rng):
    """Give each student a role, write what they hand in, yield what it earns."""
    acts, honest = _shares(len(students))
    known = [*ANSWERS.items(), *FILES.items()]
    roles = rng.sample(known, acts) + [None] * honest
    rng.shuffle(roles)
    asked = exercises(assignment)
    decks = {each.name: _deck(list(tries(each)), rng) for each in asked}
    for student, role in zip(rng.sample(students, len(roles)), roles, strict=True):
        if role:
            name, act = role
            scene = Scene(rng.choice(asked), folder)
            handed_in, given = _made(act, scene), _earned(name, act, scene.exercise, asked)
        else:
            given = [next(decks[each.name]) for each in asked]
            handed_in = _honest(assignment, asked, given, rng)
        hand_in(folder / "submitted" / student / assignment, assignment, handed_in)
        for exercise, each in zip(asked, given, strict=True):
            check, full = f"{exercise.function}_check", exercise.points
            yield Row(student, assignment, check, each.kind, each.mark, full, each.says)


def _deck(cards, rng):
    """Every card once, in random order, again and again."""
    return cycle(rng.sample(cards, len(cards)))


def _honest(assignment, asked, given, rng):
    answers = {e.function: t.text for e, t in zip(asked, given, strict=True) if t.text is not None}
    questions = [item for item in of_chapter(assignment) if isinstance(item, Question)]
    answers |= {each.name: each.answer for each in questions if rng.random() < 0.8}
    return filled(assignment, answers)


def _made(act, scene):
    if not isinstance(act, Answer):
        return act.make(scene)
    chapter = scene.exercise.chapter
    return filled(chapter, right(chapter) | {scene.exercise.function: act.write(scene)})


def _earned(name, act, exercise, asked):
    """What an act on one exercise leaves of the points of all that are asked."""
    place = asked.index(exercise)
    for index, each in enumerate(asked):
        spoilt = index >= place if act.keeps == EARLIER else index == place
        if act.keeps == ALL or (act.keeps != NONE and not spoilt):
            yield Try(name, None, each.points, "right")
        else:
            yield Try(name, None, 0, act.says)


def hand_in(place, assignment, files):
    """Put what an act makes into the folder of a submission.

    :param files: by name; or what the assignment's notebook is: a notebook, bytes, where a link
        leads
    """
    place.mkdir(parents=True)
    if type(files) is not dict:
        files = {f"{assignment}.ipynb": files}
    for name, content in files.items():
        if isinstance(content, Path):
            (place / name).symlink_to(content)
        else:
            text = content if isinstance(content, bytes) else json.dumps(content).encode()
            (place / name).write_bytes(text)
