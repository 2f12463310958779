"""Writes _build/bench/grading.json: one class through stock nbgrader and through attnkit grade."""

import compileall
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, sleep

import psutil

from attnkit import notebooks
from tests.course import BIN, ROOT, Course

RESULT = ROOT / "_build" / "bench" / "grading.json"
ASSIGNMENT = "soft_attention"
RIGHT, FAULTY, LARGE, PART, JOBS = 40, 20, 300, 50, 2
TIMES = 3  # ours takes seconds, in which a machine may be busy with something else: the median
STOCK = 'c = get_config()\nc.CourseDirectory.source_directory = "solutions"\n'
# What is done to an answer; stock nbgrader goes on after each.
FAULTS = {
    "wrong": lambda source: source.replace("np.tanh(", "("),
    "raises": lambda source: source.replace("    return", "    raise KeyError('x')\n    return"),
    "no Python": lambda source: f"{source}\n    return (",
    "empty": lambda source: "",
    "prints": lambda source: f"print('x' * 10_000)\n{source}",
}


def hand_in(course, right, faulty=0):
    """A class of so many right and so many faulty submissions."""
    for index in range(right):
        course.hand_in(f"right-{index:03}", notebooks.teacher(ASSIGNMENT))
    for index in range(faulty):
        spoil = list(FAULTS.values())[index % len(FAULTS)]
        notebook = notebooks.teacher(ASSIGNMENT)
        for cell in notebook.cells:
            if cell.metadata.nbgrader.grade_id in ("softmax", "additive_scores"):
                cell.source = spoil(cell.source)
        course.hand_in(f"faulty-{index:03}", notebook)


def timed(command, folder, look=lambda process: None):
    """Wall seconds of a command; ``look`` is shown it now and then while it runs."""
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    start = perf_counter()
    with subprocess.Popen(
        [BIN / command[0], *command[1:]], cwd=folder, env=os.environ | {"PATH": path}
    ) as process:
        while process.poll() is None:
            look(process.pid)
            sleep(0.02)
    if process.returncode:
        sys.exit(f"{command} ended with {process.returncode}")
    return perf_counter() - start


def peak(command, folder):
    """The most that a command and its children hold in memory, in MB; to look takes time."""
    most = 0

    def look(number):
        nonlocal most
        whole = psutil.Process(number)
        most = max(most, sum(map(held, [whole, *children(whole)])))

    timed(command, folder, look)
    return most / 2**20


def children(process):
    try:
        return process.children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def held(process):
    """Bytes of a process, what it shares counted once among those that share it."""
    try:
        return process.memory_full_info().pss
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return 0


def summary(seconds, submissions):
    return {
        "submissions": submissions,
        "wall_s": seconds,
        "per_submission_s": seconds / submissions,
    }


def parts(course):
    """Seconds in which the first and the last submissions of a class were done."""
    done = sorted(path.stat().st_mtime for path in course.folder.glob("results/*/*/done"))
    return done[PART - 1] - done[0], done[-1] - done[-PART]


def main():
    """Grade the class both ways, then a large one."""
    grade = ["attnkit", "grade", ASSIGNMENT, "--jobs", str(JOBS)]
    # Both find the package compiled, as whoever grades for the second time.
    compileall.compile_dir(ROOT / "attnkit", quiet=1)
    with TemporaryDirectory() as folder:
        stock = Course(Path(folder, "stock"), ASSIGNMENT, release=False)
        (stock.folder / "nbgrader_config.py").write_text(STOCK)
        hand_in(stock, RIGHT, FAULTY)
        ours = [Course(Path(folder, f"ours-{i}"), ASSIGNMENT, release=False) for i in range(TIMES)]
        for course in ours:
            shutil.copytree(stock.folder / "submitted", course.folder / "submitted")
        large = Course(Path(folder, "large"), ASSIGNMENT, release=False)
        hand_in(large, LARGE)
        for course in (stock, *ours, large):
            course.nbgrader("generate_assignment", ASSIGNMENT)
        mine = median(timed(grade, course.folder) for course in ours)
        grown = timed(grade, large.folder)
        theirs = timed(["nbgrader", "autograde", ASSIGNMENT], stock.folder)
        first, last = parts(large)
        honest = [f"right-{index:03}" for index in range(RIGHT)]
        result = {
            "jobs": JOBS,
            "stock": summary(theirs, RIGHT + FAULTY),
            "attnkit": summary(mine, RIGHT + FAULTY),
            "ratio": theirs / mine,
            "same_marks_for_the_right": all(
                ours[0].marks(name) == stock.marks(name) for name in honest
            ),
            "large": {
                **summary(grown, LARGE),
                "first_50_s": first,
                "last_50_s": last,
                "last_over_first": last / first,
                "peak_mb": peak([*grade, "--force"], large.folder),
            },
        }
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(RESULT.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
