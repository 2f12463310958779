"""`attnkit grade`: every submission ends in a mark and a reason, and nbgrader goes on with it."""

import csv
import dataclasses
import datetime
import json
import os
import shutil
import signal
import subprocess
import time
from functools import partial

import nbformat
import pytest
from nbgrader.api import Gradebook
from nbgrader.apps import NbGraderAPI
from traitlets.config import Config

from attnkit import notebooks
from attnkit.cli import main
from attnkit.exercises import CHAPTERS
from attnkit.grading import batch, confine
from tests.course import BIN, Course

if confine.missing():
    pytest.skip(f"needs {', '.join(confine.missing())}", allow_module_level=True)

ASSIGNMENT = "notation"
ANSWER, CHECK = "attention_cols", "attention_cols_check"
DUE = datetime.datetime(2030, 1, 31, 12)
LATE, IN_TIME = "2030-02-01 09:30:00 UTC", "2030-01-30 09:30:00.25 +0100"


def right():
    return notebooks.teacher(ASSIGNMENT)


def wrong():
    notebook = right()
    for cell in notebook.cells:
        if cell.metadata.nbgrader.grade_id == ANSWER:
            cell.source = "def attention_cols(*arguments):\n    return arguments[0]"
    return notebook


@pytest.fixture
def grade(capsys):
    """Grade in this process: the exit code, and a row for each learner or the complaint."""

    def run(course, *arguments):
        folder = course.folder if isinstance(course, Course) else course
        code = main(["grade", *arguments, "--course", str(folder), "--json", "--jobs", "2"])
        out, err = capsys.readouterr()
        return code, {row["student"]: row for row in json.loads(out)["submissions"]} if out else err

    return run


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """A course that was released, to be copied."""
    return Course(tmp_path_factory.mktemp("released"), ASSIGNMENT)


@pytest.fixture
def course(released, tmp_path):
    """A fresh copy of a released course."""
    copy = Course.__new__(Course)
    copy.folder, copy.assignment = tmp_path / "course", ASSIGNMENT
    shutil.copytree(released.folder, copy.folder)
    return copy


# ------------------------------------------------------------------ beside nbgrader


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """The same honest class and seed, graded by `nbgrader autograde` and by `attnkit grade`."""
    assignment = "soft_attention"
    theirs = Course(tmp_path_factory.mktemp("theirs") / "course", assignment)
    with (theirs.folder / "nbgrader_config.py").open("a") as file:
        file.write('\nc.LateSubmissionPlugin.penalty_method = "zero"\n')
    mistaken = notebooks.teacher(assignment)
    for cell in mistaken.cells:
        if cell.metadata.nbgrader.grade_id == "additive_scores":
            cell.source = cell.source.replace("np.tanh(", "(")
    for learner, notebook, stamp in [
        ("right", notebooks.teacher(assignment), IN_TIME),
        ("late", notebooks.teacher(assignment), LATE),
        ("mistaken", mistaken, None),
        ("blank", theirs.released(), None),
    ]:
        path = theirs.hand_in(learner, notebook)
        if stamp:
            (path.parent / "timestamp.txt").write_text(stamp)
    with theirs.gradebook() as gradebook:
        gradebook.update_or_create_assignment(assignment, duedate=DUE)
    ours = Course.__new__(Course)
    ours.folder, ours.assignment = tmp_path_factory.mktemp("ours") / "course", assignment
    shutil.copytree(theirs.folder, ours.folder)
    theirs.nbgrader("autograde", assignment)
    assert main(["grade", assignment, "--course", str(ours.folder)]) == 0
    return theirs, ours


def test_the_gradebook_is_nbgraders_row_by_row(both):
    theirs, ours = (course.rows() for course in both)
    assert ours == theirs
    assert len(ours) == 4 * (2 + 6 + 6)
    assert ours["late", "soft_attention"][0] == 22
    assert ours["right", "soft_attention"][0] is None
    question = ours["right", "soft_attention", "saturation_in_words", "Grade"]
    assert question["needs_manual_grade"]


def _contents(folder):
    """The files in a folder, by name: all their bytes, but of a notebook only that it is there."""
    return {p.name: p.suffix == ".ipynb" or p.read_bytes() for p in folder.iterdir()}


def test_the_graded_notebooks_are_nbgraders(both):
    for learner in ("right", "late", "mistaken", "blank"):
        theirs, ours = (course.path("autograded", learner) for course in both)
        assert nbformat.read(ours, 4) == nbformat.read(theirs, 4)
        assert ours.stat().st_mode == theirs.stat().st_mode
        assert _contents(ours.parent) == _contents(theirs.parent)


def test_nbgrader_goes_on_with_the_gradebook(both):
    _, ours = both
    ours.nbgrader("generate_feedback", ours.assignment)
    ours.nbgrader("export")
    assert ours.path("feedback", "mistaken").exists()
    with (ours.folder / "grades.csv").open() as file:
        scores = {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}
    assert scores == {"right": 22, "late": 0, "mistaken": 18, "blank": 0}
    config = Config({"CourseDirectory": {"root": str(ours.folder), "course_id": "attention"}})
    submissions = NbGraderAPI(config=config).get_submissions(ours.assignment)
    row = next(row for row in submissions if row["student"] == "right")
    assert row["autograded"]
    assert row["needs_manual_grade"]
    assert (row["score"], row["max_score"]) == (22, 26)


# ------------------------------------------------------------------ what lies in the folders


def test_every_folder_gets_a_mark_and_a_reason(course, grade):
    def folder(learner):
        path = course.path("submitted", learner).parent
        path.mkdir(parents=True)
        return path

    text = nbformat.writes(right())
    file = f"{ASSIGNMENT}.ipynb"
    (folder("renamed") / "<b>my work (1).ipynb").write_text(text)
    (folder("upper") / "NOTATION.IPYNB").write_text(text)
    two = folder("two")
    for name in ("a.ipynb", "b.ipynb"):
        (two / name).write_text(text)
    extras = folder("extras")
    for name in (file, "other.ipynb", "._notation.ipynb", "numpy.py"):
        (extras / name).write_text(text)
    folder("empty")
    (folder("nested") / ASSIGNMENT).mkdir()
    (folder("nested-folder") / file).mkdir()
    os.mkfifo(folder("pipe") / file)
    source = course.folder / "solutions" / ASSIGNMENT / file
    (folder("link") / file).symlink_to(source)
    (folder("renamed-link") / "x.ipynb").symlink_to(source)
    (course.folder / "submitted" / "linked-folder").mkdir()
    (course.folder / "submitted" / "linked-folder" / ASSIGNMENT).symlink_to(source.parent)
    (course.folder / "submitted" / "linked-learner").symlink_to(extras.parent)
    (course.folder / "submitted" / "a-file").mkdir()
    (course.folder / "submitted" / "a-file" / ASSIGNMENT).write_text("no folder")
    (folder("broken") / file).write_text("<script>alert(1)</script>")
    forged = right()
    forged.metadata.note = forged.metadata.unreadable = "<script>alert(2)</script>"
    course.hand_in("forged", forged)
    half = wrong()
    half.cells[2].source = half.cells[2].source + "\n# "
    course.hand_in("half", json.dumps(half).replace('# "', '# \\ud800"').encode())
    stamped = course.hand_in("no-time", right()).parent
    (stamped / "timestamp.txt").write_bytes(b"\xff soon")
    leaking = course.hand_in("linked-time", right()).parent
    (leaking / "timestamp.txt").symlink_to(course.folder / ".course_seed")

    code, rows = grade(course, ASSIGNMENT)

    faults = [row for row in rows.values() if row["state"] == "fault"]
    assert (code, faults) == (0, [])
    expected = {
        "renamed": (4, "?b?my work (1).ipynb was taken for the expected notation.ipynb"),
        "upper": (4, "NOTATION.IPYNB was taken for the expected notation.ipynb"),
        "two": (0, "Nothing was handed in as notation.ipynb; there is a.ipynb, b.ipynb."),
        "extras": (4, "1 of 1 checks right"),
        "empty": (0, "Nothing was handed in as notation.ipynb; there is no notebook."),
        "nested": (0, "there is no notebook"),
        "nested-folder": (0, "this is no ordinary file"),
        "pipe": (0, "this is no ordinary file"),
        "link": (0, "a symbolic link, which is not followed"),
        "renamed-link": (0, "Nothing was handed in as notation.ipynb; there is x.ipynb."),
        "linked-folder": (0, "the folder is a symbolic link"),
        "linked-learner": (0, "the folder is a symbolic link"),
        "a-file": (0, "there is no notebook"),
        "broken": (0, "could not be read"),
        "forged": (4, "1 of 1 checks right"),
        "half": (0, "0 of 1 checks right"),
        "no-time": (4, "timestamp.txt holds no time"),
        "linked-time": (4, "timestamp.txt holds no time"),
    }
    assert rows.keys() == expected.keys()
    for learner, (points, reason) in expected.items():
        assert rows[learner]["points"] == points, learner
        assert reason in rows[learner]["reason"], learner
        assert course.marks(learner) == {CHECK: (points, 4)}
        assert "<script>" not in course.path("autograded", learner).read_text()
    for learner in ("renamed", "broken"):  # the learner is told too
        assert expected[learner][1] in course.path("autograded", learner).read_text()


def test_an_assignment_of_several_notebooks(tmp_path, grade):
    course = Course(tmp_path / "course", ASSIGNMENT, release=False)
    source = course.folder / "solutions" / "both"
    source.mkdir()
    for name in ("notation", "soft_attention"):
        shutil.copy(course.folder / "solutions" / name / f"{name}.ipynb", source)
    for learner, names in {
        "whole": ("notation", "soft_attention"),
        "one": ("soft_attention",),
        "renamed": ("notation", "second try"),
    }.items():
        folder = course.folder / "submitted" / learner / "both"
        folder.mkdir(parents=True)
        for name in names:
            wanted = name if name == "notation" else "soft_attention"
            shutil.copy(source / f"{wanted}.ipynb", folder / f"{name}.ipynb")
    code, rows = grade(course, "both")
    assert code == 0
    assert {name: (row["points"], row["max_points"]) for name, row in rows.items()} == {
        "whole": (26, 30),
        "one": (22, 30),
        "renamed": (26, 30),
    }
    assert "Nothing was handed in as notation.ipynb" in rows["one"]["reason"]
    assert "second try.ipynb was taken for" in rows["renamed"]["reason"]
    # It had never been released: now it is, as nbgrader does it.
    assert sorted(p.stem for p in (course.folder / "release" / "both").iterdir()) == [
        "notation",
        "soft_attention",
    ]


# ------------------------------------------------------------------ once, and again


def test_what_is_graded_and_unchanged_is_left_alone(course, grade, monkeypatch):
    path = course.hand_in("ada", wrong())
    course.hand_in("bob", right())
    assert grade(course, ASSIGNMENT)[0] == 0

    def judged(assignment, folder):
        raise AssertionError(f"{folder} was judged again")

    with monkeypatch.context() as patched:
        patched.setattr(batch, "judged", judged)
        code, rows = grade(course, ASSIGNMENT, "--resume")
        assert code == 0
        assert [row["points"] for row in rows.values()] == [0, 4]
        code, rows = grade(course, ASSIGNMENT, "--force", "--student", "bob")
        assert (code, list(rows)) == (1, ["bob"])
        # The earlier mark stays where the new one could not be had.
        assert rows["bob"]["points"] == 4
        path.write_text(nbformat.writes(right()))
        code, rows = grade(course, ASSIGNMENT)
        assert code == 1
        assert {name: row["state"] for name, row in rows.items()} == {
            "ada": "fault",
            "bob": "graded",
        }
    code, rows = grade(course, ASSIGNMENT)
    assert (code, rows["ada"]["points"]) == (0, 4)


@pytest.mark.parametrize("gone", ["gradebook.db", "autograded", "time"])
def test_what_is_not_as_it_was_is_graded_again(course, grade, monkeypatch, gone):
    path = course.hand_in("ada", right())
    assert grade(course, ASSIGNMENT)[0] == 0
    if gone == "gradebook.db":
        with course.gradebook() as gradebook:
            gradebook.remove_submission(ASSIGNMENT, "ada")
    elif gone == "autograded":
        course.path("autograded", "ada").unlink()
    else:
        (path.parent / "timestamp.txt").write_text(LATE)
    asked = course.folder / "asked"
    before = batch.judged

    def judged(assignment, folder):
        asked.touch()
        return before(assignment, folder)

    monkeypatch.setattr(batch, "judged", judged)
    code, rows = grade(course, ASSIGNMENT)
    assert (code, rows["ada"]["points"]) == (0, 4)
    assert asked.exists()


def test_another_seed_is_not_taken_unasked(course, grade):
    """Half a class would be marked by other hidden cases than the other half."""
    course.hand_in("ada", right())
    assert grade(course, ASSIGNMENT)[0] == 0
    (course.folder / ".course_seed").write_text("0123456789abcdef")
    for arguments in ([], ["--student", "ada"]):
        code, said = grade(course, ASSIGNMENT, *arguments)
        assert (code, "put its .course_seed back" in said) == (2, True)
    code, rows = grade(course, ASSIGNMENT, "--force")
    assert (code, rows["ada"]["points"]) == (0, 4)
    assert grade(course, ASSIGNMENT)[0] == 0


def test_what_lies_elsewhere_is_named(course, capsys):
    path = course.hand_in("ada", right())
    assert main(["grade", ASSIGNMENT, "--course", str(course.folder)]) == 0
    assert "Not looked at" not in capsys.readouterr().out
    submitted = path.parents[2]
    misspelt = submitted / "bob" / "notations"
    misspelt.mkdir(parents=True)
    for stray in (misspelt / path.name, submitted / "ada" / path.name, submitted / "eve.ipynb"):
        shutil.copy(path, stray)
    assert main(["grade", ASSIGNMENT, "--course", str(course.folder)]) == 0
    places = "submitted/ada/notation.ipynb, submitted/bob/notations, submitted/eve.ipynb"
    assert capsys.readouterr().out.endswith(f"as no assignment has this place: {places}\n")


def test_the_wrong_notebook_is_called_so(course, grade):
    course.hand_in("ada", notebooks.teacher("soft_attention"))
    shutil.copy(
        course.hand_in("bob", right()), course.path("submitted", "bob").with_name("2.ipynb")
    )
    _, rows = grade(course, ASSIGNMENT)
    assert rows["ada"]["reason"].startswith("It holds none of the questions of notation.")
    assert rows["bob"]["reason"].startswith("2.ipynb lies beside it and was not read. 1 of 1")


def test_a_teachers_marks_and_comments_stay(course, grade):
    path = course.hand_in("ada", right())
    grade(course, ASSIGNMENT)
    with course.gradebook() as gradebook:
        mark = gradebook.find_grade(CHECK, ASSIGNMENT, ASSIGNMENT, "ada")
        mark.manual_score, mark.extra_credit, mark.needs_manual_grade = 3, 1, False
        gradebook.find_comment(ANSWER, ASSIGNMENT, ASSIGNMENT, "ada").manual_comment = "Nice."
        gradebook.db.commit()
    before = course.rows()
    assert grade(course, ASSIGNMENT)[0] == 0
    assert course.rows() == before
    # Graded once more the answer is the same, and so it is not put up for review.
    assert grade(course, ASSIGNMENT, "--force")[0] == 0
    assert course.rows() == before
    path.write_text(nbformat.writes(wrong()))
    code, rows = grade(course, ASSIGNMENT)
    # As nbgrader does: the teacher's mark counts and is put up for review; and it stays there.
    assert grade(course, ASSIGNMENT, "--force")[1]["ada"]["state"] == "to mark"
    assert (code, rows["ada"]["points"], rows["ada"]["state"]) == (0, 4, "to mark")
    after = course.rows()["ada", ASSIGNMENT, CHECK, "Grade"]
    assert after == {
        "auto_score": 0,
        "manual_score": 3,
        "extra_credit": 1,
        "needs_manual_grade": True,
    }
    comment = course.rows()["ada", ASSIGNMENT, ANSWER, "Comment"]
    assert comment["manual_comment"] == "Nice."


def test_a_written_answer_is_marked_again_only_if_it_changed(tmp_path, grade):
    assignment = "soft_attention"
    course = Course(tmp_path / "course", assignment)
    notebook = notebooks.teacher(assignment)
    question = "saturation_in_words"

    def states():
        assert grade(course, assignment)[0] == 0
        row = course.rows()["ada", assignment, question, "Grade"]
        return row["manual_score"], row["needs_manual_grade"]

    path = course.hand_in("ada", notebook)
    assert states() == (None, True)
    with course.gradebook() as gradebook:
        mark = gradebook.find_grade(question, assignment, assignment, "ada")
        mark.manual_score, mark.needs_manual_grade = 3, False
        gradebook.db.commit()
    for cell in notebook.cells:
        if cell.metadata.nbgrader.grade_id == "softmax":
            cell.source += "\n# better"
    path.write_text(nbformat.writes(notebook))
    assert states() == (3, False)
    for cell in notebook.cells:
        if cell.metadata.nbgrader.grade_id == question:
            cell.source += " And more."
    path.write_text(nbformat.writes(notebook))
    assert states() == (3, True)


def test_a_later_rule_for_lateness_holds_for_all(course, grade):
    for learner in ("ada", "bob"):
        path = course.hand_in(learner, right())
        (path.parent / "timestamp.txt").write_text(LATE)
    _, rows = grade(course, ASSIGNMENT)
    assert {row["points"] for row in rows.values()} == {4}
    with course.gradebook() as gradebook:
        gradebook.update_or_create_assignment(ASSIGNMENT, duedate=DUE)
    config = course.folder / "nbgrader_config.py"
    without = config.read_text()
    config.write_text(without + '\nc.LateSubmissionPlugin.penalty_method = "zero"\n')
    _, rows = grade(course, ASSIGNMENT)
    assert {row["points"] for row in rows.values()} == {0}
    assert rows["ada"]["reason"].startswith("Handed in late: 4 points were taken off. 1 of 1")
    config.write_text(without)
    _, rows = grade(course, ASSIGNMENT)
    assert {row["points"] for row in rows.values()} == {4}


# ------------------------------------------------------------------ what is our fault


def raises(folder):
    raise RuntimeError("out of order")


def dies(folder):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize(("trouble", "said"), [(raises, "out of order"), (dies, "code -9")])
def test_a_fault_of_ours_is_no_zero(course, grade, monkeypatch, trouble, said):
    for learner in ("ada", "bob", "eve"):
        course.hand_in(learner, right())
    before = batch.judged
    once = course.folder / "once"

    def judged(assignment, folder):
        learner = folder.parent.name
        if learner == "bob" or (learner == "eve" and not once.exists()):
            if learner == "eve":
                once.touch()
            trouble(folder)
        return before(assignment, folder)

    with monkeypatch.context() as patched:
        patched.setattr(batch, "judged", judged)
        code, rows = grade(course, ASSIGNMENT)
    assert code == 1
    assert said in rows["bob"]["reason"]
    assert (rows["bob"]["state"], rows["bob"]["points"]) == ("fault", None)
    assert [rows[name]["points"] for name in ("ada", "eve")] == [4, 4]
    assert "bob" not in course.rows()
    assert not course.path("autograded", "bob").exists()
    code, rows = grade(course, ASSIGNMENT)
    assert (code, rows["bob"]["points"]) == (0, 4)


def test_a_gradebook_that_is_held_by_another_is_a_fault(course, grade, monkeypatch):
    course.hand_in("ada", right())
    course.hand_in("bob", right())
    before = batch.gradebook.Writer.write

    def write(self, student, *rest):
        if student == "ada":
            raise OSError(28, "No space left on device")
        return before(self, student, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(batch.gradebook.Writer, "write", write)
        code, rows = grade(course, ASSIGNMENT)
    assert code == 1
    assert "No space left" in rows["ada"]["reason"]
    assert rows["bob"]["points"] == 4
    assert grade(course, ASSIGNMENT)[0] == 0


def is_running(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_half_of_another_result_is_not_taken_for_what_was_done(course, grade, monkeypatch):
    """Handed in once more, half written, and then taken back: what is done is the first again."""
    path = course.hand_in("ada", right())
    _, first = grade(course, ASSIGNMENT)
    path.write_text(nbformat.writes(wrong()))

    def fails(*arguments):
        raise OSError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(batch.gradebook.Writer, "write", fails)
        assert grade(course, ASSIGNMENT)[0] == 1
    path.write_text(nbformat.writes(right()))
    code, rows = grade(course, ASSIGNMENT)
    assert (code, rows) == (0, first)


def test_ctrl_c_ends_it_cleanly(course):
    for index in range(20):
        course.hand_in(f"learner-{index:02}", right())
    command = [BIN / "attnkit", "grade", ASSIGNMENT, "--course", course.folder, "--jobs", "2"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Whoever runs the tests in the background has taught them to ignore it.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 60
    while not list(course.folder.glob("results/*/*/done")):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "interrupted before it was graded" in out
    assert err == ""
    while is_running(process.pid):  # soon no worker is left of the group
        assert time.monotonic() < deadline
    assert main(["grade", ASSIGNMENT, "--course", str(course.folder)]) == 0


def test_two_at_once_do_not_write_over_each_other(course, grade):
    course.hand_in("ada", right())
    assert grade(course, ASSIGNMENT)[0] == 0
    hold = "import fcntl, sys, time; f = open(sys.argv[1], 'w'); fcntl.lockf(f, fcntl.LOCK_EX)\n"
    hold += "print('held', flush=True); time.sleep(60)"
    lock = course.folder / "results" / ".lock"
    with subprocess.Popen([BIN / "python", "-c", hold, lock], stdout=subprocess.PIPE) as holder:
        holder.stdout.readline()
        code, err = grade(course, ASSIGNMENT)
        holder.kill()
    assert code == 2
    assert "is being graded by another process" in err


# ------------------------------------------------------------------ what was asked for


def test_wrong_arguments_are_explained(course, grade, tmp_path):
    def complains(about, *arguments, folder=course):
        code, err = grade(folder, *arguments)
        assert code == 2
        assert err.count("\n") == 1
        assert about in err

    there = ", ".join(sorted(CHAPTERS))
    complains(f"there is no assignment 'attention'; there are: {there}", "attention")
    complains(str(course.folder / "submitted" / "*" / ASSIGNMENT), ASSIGNMENT)
    course.hand_in("ada", right())
    complains("nothing was handed in by bob, eve", ASSIGNMENT, "--student", "eve", "bob", "ada")
    complains("it holds no nbgrader_config.py", ASSIGNMENT, folder=tmp_path)
    with Gradebook(f"sqlite:///{course.folder}/gradebook.db", "attention") as gradebook:
        gradebook.remove_assignment(ASSIGNMENT)
    complains("run: nbgrader generate_assignment notation --force", ASSIGNMENT)
    shutil.rmtree(course.folder / "release")
    assert grade(course, ASSIGNMENT)[0] == 0
    extra = course.folder / "solutions" / ASSIGNMENT / "extra.ipynb"
    nbformat.write(right(), extra)
    complains("run: nbgrader generate_assignment notation --force", ASSIGNMENT)
    extra.unlink()
    (course.folder / "nbgrader_config.py").write_text("c = get_config()\n")
    complains("sets no ATTNKIT_SEED", ASSIGNMENT)
    for bad in (["--jobs", "0"], ["--force", "--resume"], []):
        with pytest.raises(SystemExit) as ended:
            main(["grade", *([ASSIGNMENT] if bad else []), *bad])
        assert ended.value.code == 2


def test_a_machine_that_cannot_confine_says_so_before_anything_runs(course, grade, monkeypatch):
    course.hand_in("ada", right())
    monkeypatch.setattr(confine, "missing", lambda: ["Landlock"])
    code, err = grade(course, ASSIGNMENT)
    assert code == 1
    assert "lacks Landlock" in err
    assert "--unconfined" in err
    code, rows = grade(course, ASSIGNMENT, "--unconfined")
    assert (code, rows["ada"]["points"]) == (0, 4)


# How macOS starts a worker: anew, and not as a fork of the process that writes.
SPAWNING = """
import multiprocessing, sys
from attnkit.cli import main
if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    sys.exit(main(sys.argv[1:]))
"""


def test_workers_need_not_be_forks(course, tmp_path):
    course.hand_in("ada", right())
    course.hand_in("bob", wrong())
    script = tmp_path / "grade.py"
    script.write_text(SPAWNING)
    command = [BIN / "python", script, "grade", ASSIGNMENT, "--unconfined", "--jobs", "2"]
    subprocess.run(command, cwd=course.folder, check=True, timeout=120)
    assert course.marks("ada")["attention_cols_check"] == (4, 4)
    assert course.marks("bob")["attention_cols_check"] == (0, 4)


def test_a_line_for_each_learner_and_a_summary(course, capsys):
    course.hand_in("ada", wrong())
    assert main(["grade", ASSIGNMENT, "--course", str(course.folder)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split(maxsplit=4) == [
        "ada",
        "0.0",
        "4.0",
        "graded",
        "0 of 1 checks right; attention_cols: what you return has shape (4, 3); wanted is (6, 3)",
    ]
    assert lines[-1].startswith("1 submissions: 1 graded")


def test_what_was_lost_is_run_once_more_and_alone(course, grade, monkeypatch):
    """A machine that was busy must not cost a learner the marks."""
    for learner in ("ada", "bob", "eve", "dan"):
        course.hand_in(learner, right())
    before, diary = batch.judged, course.folder / "diary"

    def judged(assignment, folder):
        name = folder.parent.name
        with diary.open("a") as file:
            file.write(f"{name} begins\n")
        graded = before(assignment, folder)
        with diary.open("a") as file:
            file.write(f"{name} ends\n")
        if name == "ada" and diary.read_text().count("ada begins") == 1:
            return dataclasses.replace(graded, result={}, lost=True)
        return graded

    monkeypatch.setattr(batch, "judged", judged)
    code, rows = grade(course, ASSIGNMENT)
    assert (code, rows["ada"]["points"]) == (0, 4)
    assert diary.read_text().splitlines()[-2:] == ["ada begins", "ada ends"]
    assert diary.read_text().count("ada begins") == 2
