"""Grades the submissions of an assignment: none stops the others, each is written as a whole.

Workers judge and return data; this process alone writes. For each learner, in this order: the
result, the graded notebooks, the gradebook, and a marker that all of that is done, which also says
which answers it was done for. Killed in between and started again, it does over what has no marker,
with the same outcome.
"""

import contextlib
import dataclasses
import fcntl
import functools
import hashlib
import json
import multiprocessing
import os
import signal
import traceback
from collections import deque
from multiprocessing import connection
from pathlib import Path

import nbformat
from nbgrader import utils
from nbgrader.apps import AutogradeApp
from nbgrader.converters import Autograde
from nbgrader.converters.base import NbGraderException
from nbgrader.preprocessors import LimitOutput
from tqdm import tqdm

from attnkit.checking import Verdict
from attnkit.grading import confine, gradebook
from attnkit.grading.graft import Unreadable, answers, parsed
from attnkit.grading.plugin import Judge, SubmissionExporter, rebuilt
from attnkit.grading.submission import Submission, beside, folders, strays

PACKAGE = Path(__file__).parents[1]


class CannotGrade(ValueError):
    """What was asked for is not there; the message says what there is, or what to do."""


class Fault(str):
    """Why there is no grade, where that is not the learner's doing."""


@dataclasses.dataclass
class Row:
    """What became of a submission: ``graded``, ``to mark`` by a person, or no grade: ``fault``."""

    student: str
    state: str
    points: float | None
    max_points: float | None
    reason: str


@dataclasses.dataclass(frozen=True)
class Graded:
    """What a worker made of a submission: the result, and the graded notebooks, by file name.

    With them go the files that nbgrader's exchange lays beside a submission. ``answers`` has, by
    notebook and grade id, a checksum of what the mark is for. ``lost`` says that some of it was
    ended for the time or the memory it took.
    """

    result: dict
    files: dict
    answers: dict
    timestamp: object
    fingerprint: str
    lost: bool


@dataclasses.dataclass(frozen=True)
class Assignment:
    """What a worker knows: the teacher's notebooks, what was released, and nbgrader's settings."""

    name: str
    teachers: dict
    released: dict
    config: object

    @functools.cached_property
    def judge(self):
        return Judge(config=self.config)

    @functools.cached_property
    def limit(self):
        return LimitOutput(config=self.config)

    @functools.cached_property
    def largest(self):
        return SubmissionExporter(config=self.config).largest

    def submission(self, folder):
        return Submission(folder, self.teachers, self.largest)

    def version(self):
        """Changes whenever the same submission could get another grade."""
        summary = hashlib.sha256(os.environ["ATTNKIT_SEED"].encode())
        for path in sorted(PACKAGE.rglob("*.py")):
            summary.update(path.read_bytes())
        names = ("SubmissionExporter", "Judge", "LimitOutput")
        settings = {name: self.config[name] for name in names}
        summary.update(json.dumps([self.teachers, self.released, settings], default=str).encode())
        return summary.hexdigest()


class Course:
    """A course folder with nbgrader's own reading of its settings.

    :raises CannotGrade: if the folder is no course of this book's
    """

    def __init__(self, folder):
        self.folder = Path(folder).resolve()
        if not (self.folder / "nbgrader_config.py").is_file():
            raise CannotGrade(f"{self.folder} is no course: it holds no nbgrader_config.py")
        os.environ.pop("ATTNKIT_SEED", None)
        self.app = AutogradeApp(log_level="ERROR")
        with contextlib.chdir(self.folder):
            self.app.initialize([], root=str(self.folder))
        if "ATTNKIT_SEED" not in os.environ:
            raise CannotGrade(
                f"{self.folder / 'nbgrader_config.py'} sets no ATTNKIT_SEED: take this book's"
            )
        self.dirs = self.app.coursedir

    def path(self, step, assignment, student="."):
        """The folder of nbgrader's ``step`` for an assignment, and for a learner in it."""
        return Path(self.dirs.format_path(step, student, assignment))

    def assignments(self):
        """The names of the assignments that have a teacher's notebook."""
        found = self.path(self.dirs.source_directory, "*")
        return sorted(path.parent.name for path in found.parent.glob("*/*.ipynb"))

    def assignment(self, book, name):
        """The assignment as it was released; released here and now if it never was."""
        source = self.path(self.dirs.source_directory, name)
        teachers = {path.stem: _teachers(path) for path in sorted(source.glob("*.ipynb"))}
        if not self.path(self.dirs.release_directory, name).exists():
            self._release(name)
            book.db.rollback()  # nbgrader wrote through a session of its own
        cells = gradebook.released(book, name)
        if not _fit(teachers, cells):
            raise CannotGrade(
                f"the gradebook does not know the notebooks and cells in {source}; "
                f"run: nbgrader generate_assignment {name} --force"
            )
        return Assignment(name, teachers, cells, self.app.config)

    def _release(self, name):
        self.dirs.assignment_id = name
        try:
            gradebook.release(self.dirs, self.app)
        except NbGraderException as error:
            raise CannotGrade(f"{name} was never released and cannot be: {error}") from None


def _teachers(path):
    try:
        return parsed(path.read_bytes())
    except Unreadable as error:
        raise CannotGrade(f"{path}: {error}") from None


def _fit(teachers, cells):
    """Whether the gradebook knows just the teacher's notebooks, and all cells in them."""
    return teachers.keys() == cells.keys() and all(
        cell.metadata.nbgrader.grade_id in cells[name]
        for name, notebook in teachers.items()
        for cell in notebook.cells
        if "nbgrader" in cell.metadata
    )


def not_looked_at(folder):
    """What was put where no assignment of the course has its submissions."""
    course = Course(folder)
    return strays(course.dirs, course.assignments())


def grade(folder, assignment, *, students=(), jobs=1, force=False, unconfined=False):
    """Grade what was handed in; a Row for each learner, in the order of their names.

    :param folder: of the course
    :param students: only these; all if there are none
    :param jobs: so many at once
    :param force: grade again what is graded and unchanged
    :param unconfined: with all the rights of this account
    :raises CannotGrade: if there is nothing that could be graded
    :raises confine.CannotConfine: if this machine cannot confine the submissions
    """
    course = Course(folder)
    if assignment not in course.assignments():
        known = ", ".join(course.assignments()) or "none"
        raise CannotGrade(f"there is no assignment {assignment!r}; there are: {known}")
    handed_in = folders(course.dirs, assignment)
    looked_at = course.path(course.dirs.submitted_directory, assignment, "*")
    if not handed_in:
        raise CannotGrade(f"nothing was handed in: there is no folder {looked_at}")
    unknown = sorted(set(students) - handed_in.keys())
    if unknown:
        raise CannotGrade(f"nothing was handed in by {', '.join(unknown)} in {looked_at}")
    if unconfined:
        course.app.config.Judge.unconfined = True
    if not Judge(config=course.app.config).unconfined:
        confine.require()
    with _alone(course), gradebook.opened(course.dirs) as book:
        _keep_seed(course, force)
        batch = Batch(course, course.assignment(book, assignment), book)
        chosen = {name: handed_in[name] for name in students or handed_in}
        return batch.run(chosen, jobs, force)


@contextlib.contextmanager
def _alone(course):
    """Two at once would write over each other."""
    place = course.folder / "results"
    place.mkdir(exist_ok=True)
    with open(place / ".lock", "w") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CannotGrade(f"{course.folder} is being graded by another process") from None
        yield


def _keep_seed(course, force):
    """Other hidden cases may give other marks: a course that lost its seed is not graded on."""
    place = course.folder / "results" / ".seed"
    seed = hashlib.sha256(os.environ["ATTNKIT_SEED"].encode()).hexdigest()
    if place.exists() and place.read_text() != seed and not force:
        raise CannotGrade(
            f"{course.folder} was graded with another seed: put its .course_seed back, or take "
            "--force to grade everything anew with other hidden cases"
        )
    _write(place, seed.encode())


class Batch:
    """The submissions of one assignment."""

    def __init__(self, course, assignment, book):
        self.course, self.assignment = course, assignment
        self.writer = gradebook.Writer(book, assignment.name, assignment.config)
        self.converter = Autograde(coursedir=course.dirs, parent=course.app)
        self.version = assignment.version()

    def run(self, chosen, jobs, force):
        """Grade what is not done yet; a Row for each of the chosen, as far as it came."""
        known = self.writer.totals()
        done = {name for name in chosen if name in known and self._is_done(name, chosen[name])}
        tasks = [(name, folder) for name, folder in chosen.items() if force or name not in done]
        faults = dict.fromkeys(dict(tasks), Fault("interrupted before it was graded"))
        for student in done - faults.keys():
            try:
                self.writer.punish(student)
            except Exception as error:
                faults[student] = _fault(error)
        with (
            tqdm(total=len(tasks), unit="submission", leave=False, disable=None) as bar,
            contextlib.closing(_outcomes(self.assignment, tasks, jobs)) as outcomes,
            contextlib.suppress(KeyboardInterrupt),
        ):
            for (student, _), outcome in outcomes:
                fault = outcome if isinstance(outcome, Fault) else self._written(student, outcome)
                if fault:
                    faults[student] = fault
                else:
                    del faults[student]
                bar.update()
        totals = self.writer.totals()
        return [self._row(student, faults.get(student), totals) for student in chosen]

    def _place(self, student):
        return self.course.path("results", self.assignment.name, student)

    def _graded(self, student):
        place = self.course.dirs.autograded_directory
        return self.course.path(place, self.assignment.name, student)

    def _key(self, fingerprint):
        return hashlib.sha256(f"{fingerprint} {self.version}".encode()).hexdigest()

    def _is_done(self, student, folder):
        marker = self._place(student) / "done"
        notebooks = (self._graded(student) / f"{name}.ipynb" for name in self.assignment.teachers)
        return all(
            path.exists() for path in (marker, self._place(student) / "result.json", *notebooks)
        ) and _read(marker)["key"] == self._key(self.assignment.submission(folder).fingerprint())

    def _unchanged(self, student, answers):
        """Of these checksums, by notebook, the grade ids of those that were there last time."""
        before = _read(self._place(student) / "before")["answers"]
        return {
            name: {grade_id for grade_id, _ in new.items() & before.get(name, {}).items()}
            for name, new in answers.items()
        }

    def _written(self, student, graded):
        """Write what a worker returned; a Fault if that fails."""
        place, marker = self._place(student), self._place(student) / "done"
        parts = graded.result["notebooks"].items()
        marks = {name: {c: points for c, (points, _) in p["marks"].items()} for name, p in parts}
        unanswered = {name: part["unanswered"] for name, part in parts}
        try:
            if marker.exists():
                marker.replace(place / "before")
            _write(place / "result.json", json.dumps(graded.result).encode())
            for name, content in graded.files.items():
                _write(self._graded(student) / name, content)
            self.converter.set_permissions(self.assignment.name, student)
            unchanged = self._unchanged(student, graded.answers)
            self.writer.write(student, graded.timestamp, marks, unanswered, unchanged)
            done = {"key": self._key(graded.fingerprint), "answers": graded.answers}
            _write(marker, json.dumps(done).encode())
            (place / "before").unlink(missing_ok=True)
        except Exception as error:
            return _fault(error)
        return None

    def _row(self, student, fault, totals):
        points, full, by_hand, late = totals.get(student, (None, None, False, 0))
        if fault:
            return Row(student, "fault", points, full, fault)
        result = json.loads((self._place(student) / "result.json").read_text())
        return Row(student, "to mark" if by_hand else "graded", points, full, _reason(result, late))


def _read(marker):
    """What a marker says; that of an earlier version, or none, says nothing."""
    with contextlib.suppress(FileNotFoundError, ValueError):
        said = json.loads(marker.read_text())
        if isinstance(said, dict):
            return said
    return {"key": None, "answers": {}}


def _write(path, content):
    """Write a file whole or not at all, even if the machine stops."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.draft")
    draft.unlink(missing_ok=True)
    with open(draft, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def _reason(result, late):
    """Why the mark is what it is, in a line; ``late`` points were taken off."""
    parts = result["notebooks"].values()
    reasons = [f"Handed in late: {late:g} points were taken off."] if late else []
    reasons += [*result["notes"], *(part["note"] for part in parts if part["note"])]
    verdicts = [Verdict.from_dict(v) for part in parts if part["read"] for v in part["verdicts"]]
    wrong = [f"{v.exercise.partition('.')[2]}: {_fails(v)}" for v in verdicts if not v.passed]
    if verdicts:
        right = f"{len(verdicts) - len(wrong)} of {len(verdicts)} checks right"
        reasons.append("; ".join([right, *wrong]))
    return " ".join(reasons)


def _fails(verdict):
    if verdict.misconceptions:
        return verdict.misconceptions[0]
    if verdict.kind == "unfinished":
        return verdict.state
    # A message may quote what a learner wrote, and a terminal obeys some characters.
    words = " ".join(verdict.message.split())
    return "".join(character for character in words if character.isprintable())[:120]


def _fault(error):
    """An exception of ours as a sentence, with the place where it arose."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(where.filename).name}, line {where.lineno}"
    return Fault(f"{type(error).__name__}: {error} ({place})")


# ------------------------------------------------------------------ workers


def _outcomes(assignment, tasks, jobs):
    """Yield each task with what a worker made of it: Graded, or a Fault.

    Whatever may have been the doing of the machine is tried once more, alone.
    """
    waiting, again = deque(tasks), deque()
    idle = [_Worker(assignment) for _ in range(min(jobs, len(tasks)))]
    busy = {}
    try:
        while waiting or busy or again:
            alone = not waiting and not busy
            queue = again if alone else waiting
            while queue and idle and not (alone and busy):
                worker = idle.pop()
                worker.give(queue.popleft())
                busy[worker.pipe] = worker
            for pipe in connection.wait(busy):
                worker = busy.pop(pipe)
                outcome = worker.outcome()
                if isinstance(outcome, Fault):
                    worker.end()
                    idle.append(_Worker(assignment))
                else:
                    idle.append(worker)
                if not alone and (isinstance(outcome, Fault) or outcome.lost):
                    again.append(worker.task)
                else:
                    yield worker.task, outcome
    finally:
        for worker in [*idle, *busy.values()]:
            worker.end()


class _Worker:
    """A process that judges one submission after the other."""

    def __init__(self, assignment):
        self.pipe, theirs = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=_work, args=(theirs, assignment), daemon=True)
        self.process.start()
        theirs.close()

    def give(self, task):
        self.task = task
        _, folder = task
        with contextlib.suppress(BrokenPipeError):  # if it is gone, its outcome says so
            self.pipe.send(folder)

    def outcome(self):
        try:
            return self.pipe.recv()
        except (EOFError, ConnectionError):
            self.process.join()
            return Fault(f"the grading process ended with code {self.process.exitcode}")

    def end(self):
        self.process.kill()
        self.process.join()
        self.pipe.close()


def _work(pipe, assignment):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the writer, which ends us
    confine.die_with_parent()
    with contextlib.suppress(EOFError):
        while True:
            folder = pipe.recv()
            try:
                outcome = judged(assignment, folder)
            except Exception as error:
                outcome = _fault(error)
            pipe.send(outcome)


def judged(assignment, folder):
    """Judge all notebooks of a submission."""
    submission = assignment.submission(folder)
    # Taken before anything is read: a file that changes meanwhile is graded again next time.
    fingerprint = submission.fingerprint()
    timestamp, no_time = submission.timestamp()
    parts, files, checksums, lost = {}, beside(folder), {}, False
    for name, teacher in assignment.teachers.items():
        handed_in, note = submission.read(name)
        asked = {c.metadata.nbgrader.grade_id for c in teacher.cells if utils.is_solution(c)}
        if handed_in and not asked & answers(handed_in).keys():
            note = " ".join(filter(None, (note, f"It holds none of the questions of {name}.")))
        given = nbformat.v4.new_notebook() if handed_in is None else handed_in
        notebook = rebuilt(teacher, given, assignment.released[name], note)
        outcome = assignment.judge.judged(notebook)
        notebook, _ = assignment.limit.preprocess(outcome.notebook, {})
        parts[name] = {"read": handed_in is not None, "note": note, **_marked(notebook)}
        checksums[name] = _checksums(notebook)
        # As nbformat writes it, but on one line: to indent it is slow.
        files[f"{name}.ipynb"] = json.dumps(notebook).encode()
        lost = lost or bool(outcome.lost)
    result = {"notes": [no_time] if no_time else [], "notebooks": parts}
    return Graded(result, files, checksums, timestamp, fingerprint, lost)


def _checksums(notebook):
    """Of the answer that each mark is for: a written one, or all code that a check may call."""
    written = [cell for cell in notebook.cells if utils.is_solution(cell)]
    code = "".join(utils.compute_checksum(cell) for cell in written if cell.cell_type == "code")
    return {
        cell.metadata.nbgrader.grade_id: utils.compute_checksum(cell)
        if utils.is_solution(cell)
        else code
        for cell in notebook.cells
        if utils.is_grade(cell)
    }


def _marked(notebook):
    """What nbgrader reads off a graded notebook, and the verdicts in it."""
    graded = [cell for cell in notebook.cells if utils.is_grade(cell)]
    answers = [cell for cell in notebook.cells if utils.is_solution(cell)]
    return {
        "marks": {cell.metadata.nbgrader.grade_id: utils.determine_grade(cell) for cell in graded},
        "unanswered": [
            cell.metadata.nbgrader.grade_id
            for cell in answers
            if cell.metadata.nbgrader.checksum == utils.compute_checksum(cell)
        ],
        "verdicts": [
            output.data[Verdict.MIME]
            for cell in graded
            for output in cell.get("outputs", [])
            if Verdict.MIME in output.get("data", {})
        ],
    }
