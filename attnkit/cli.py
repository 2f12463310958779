"""The command ``attnkit``: what a learner and a teacher do at a terminal."""

import argparse
import contextlib
import dataclasses
import gc
import json
import os
import sys
from collections import Counter

from tqdm import tqdm

from attnkit.exercises import CHAPTERS, all_exercises, find


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="attnkit", description=__doc__)
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    listing = commands.add_parser("exercises", help="list the exercises of the book")
    listing.add_argument("--json", action="store_true", help="as JSON, for programs")
    listing.set_defaults(run=_exercises)
    checking = commands.add_parser("check", help="run a notebook and show what is right in it")
    checking.add_argument("notebook", help="the notebook's file")
    checking.add_argument("--json", action="store_true", help="as JSON, for programs")
    checking.set_defaults(run=_check)
    grading = commands.add_parser("grade", help="grade what was handed in for an assignment")
    grading.add_argument("assignment", help="its name")
    grading.add_argument("--course", default=".", metavar="DIR", help="this folder, if not given")
    grading.add_argument(
        "--jobs",
        type=_count,
        default=os.cpu_count(),
        metavar="N",
        help="so many at once (a processor each, if not given)",
    )
    grading.add_argument(
        "--student", nargs="+", action="extend", default=[], metavar="ID", help="only these"
    )
    again = grading.add_mutually_exclusive_group()
    again.add_argument(
        "--resume", action="store_true", help="leave what is graded and unchanged (the default)"
    )
    again.add_argument("--force", action="store_true", help="grade everything again")
    grading.add_argument(
        "--unconfined", action="store_true", help="run submissions with all your rights"
    )
    grading.add_argument("--json", action="store_true", help="as JSON, for programs")
    grading.set_defaults(run=_grade)
    auditing = commands.add_parser("audit", help="grade the checks themselves")
    auditing.add_argument("exercises", nargs="*", metavar="EXERCISE", help="all, if none is named")
    auditing.add_argument("--mutants", action="store_true", help="wrong answers made by machine")
    auditing.add_argument("--json", action="store_true", help="as JSON, for programs")
    auditing.set_defaults(run=_audit)
    _add_teaching(commands)
    chosen = parser.parse_args(arguments)
    if sys.platform == "win32" and chosen.run not in (_exercises, _check, _audit):
        print("attnkit: Windows cannot run a course; install WSL and work there", file=sys.stderr)
        return 2
    try:
        return chosen.run(chosen)
    except BrokenPipeError:  # who reads it has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _add_teaching(commands):
    course = argparse.ArgumentParser(add_help=False)
    course.add_argument("--course", default=".", metavar="DIR", help="the course's folder")
    demo = commands.add_parser(
        "demo-course", parents=[course], help="make a class to rehearse grading with"
    )
    demo.add_argument("folder", metavar="DIR", help="a new folder")
    demo.add_argument("--students", type=int, default=30, metavar="N")
    demo.add_argument("--seed", type=int, default=0, metavar="S")
    demo.add_argument("--assignment", nargs="+", default=CHAPTERS, metavar="NAME")
    demo.set_defaults(run=_teaching(_demo_course))
    assignment = commands.add_parser(
        "assignment", parents=[course], help="make an assignment of some exercises"
    )
    assignment.add_argument("name", metavar="NAME", help="of the assignment, such as week4")
    assignment.add_argument(
        "items", nargs="+", metavar="EXERCISE", help="its number or name, or a question's name"
    )
    assignment.add_argument("--title", metavar="TEXT", help="NAME, if not given")
    assignment.set_defaults(run=_teaching(_assignment))
    feedback = commands.add_parser(
        "feedback", parents=[course], help="write the page that each learner gets back"
    )
    feedback.add_argument("assignment")
    feedback.add_argument("--student", nargs="+", default=(), metavar="ID", help="these only")
    feedback.set_defaults(run=_with_course(_feedback))
    export = commands.add_parser("export", parents=[course], help="write the marks as CSV")
    export.add_argument("--format", choices=("plain", "canvas", "moodle"), default="plain")
    export.add_argument("--to", metavar="FILE", help="instead of the terminal")
    export.set_defaults(run=_with_course(_export))
    report = commands.add_parser(
        "report", parents=[course], help="show what the class has understood"
    )
    report.add_argument("assignment")
    form = report.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="as JSON, for programs")
    form.add_argument("--html", action="store_true", help="as a page without names, for the class")
    report.set_defaults(run=_with_course(_report))


def _exercises(chosen):
    rows = [exercise.describe() for exercise in all_exercises()]
    if chosen.json:
        print(json.dumps(rows, indent=2))
        return 0
    columns = ("number", "name", "points", "minutes", "backend", "cases", "laws", "misconceptions")
    _print_table(columns, [[row[column] for column in columns] for row in rows])
    return 0


def _check(chosen):
    # Only this command needs Jupyter's client, and importing it takes a second.
    from attnkit import self_check

    try:
        notebook = self_check.read(chosen.notebook)
    except self_check.NotANotebook as error:
        print(f"attnkit check: {error}", file=sys.stderr)
        return 2
    results = self_check.verdicts(notebook)
    if chosen.json:
        print(self_check.as_json(results))
    elif not results:
        print(f"{chosen.notebook} holds no check of this book.")
    else:
        _print_table(
            ("exercise", "title", "points", "of", "verdict"),
            [
                (
                    exercise.number,
                    exercise.title,
                    f"{verdict.earned:g}",
                    exercise.points,
                    verdict.state,
                )
                for exercise, verdict in results
            ],
        )
        for _, verdict in results:
            if not verdict.passed:
                print(f"\n{verdict}")
    return 0 if results and all(verdict.passed for _, verdict in results) else 1


def _grade(chosen):
    from attnkit.grading import confine, nursery

    gc.disable()  # nothing of what is imported becomes garbage
    # It gets ready while we do: only this command needs nbgrader, which takes a second to import.
    if chosen.assignment in CHAPTERS and not (chosen.unconfined or confine.missing()):
        exercises = all_exercises([chosen.assignment])
        with_torch = any(exercise.backend == "torch" for exercise in exercises)
        nursery.mine(confined=True, with_torch=with_torch)
    from attnkit.grading import batch

    gc.freeze()  # nor is it looked through here, in each worker and at the end
    gc.enable()

    try:
        rows = batch.grade(
            chosen.course,
            chosen.assignment,
            students=chosen.student,
            jobs=chosen.jobs,
            force=chosen.force,
            unconfined=chosen.unconfined,
        )
    except (batch.CannotGrade, confine.CannotConfine) as error:
        print(f"attnkit grade: {error}", file=sys.stderr)
        return 2 if isinstance(error, batch.CannotGrade) else 1
    except KeyboardInterrupt:
        print("attnkit grade: interrupted", file=sys.stderr)
        return 1
    counts = Counter(row.state for row in rows)
    ok = not counts["fault"]
    elsewhere = batch.not_looked_at(chosen.course)
    if chosen.json:
        rows = [dataclasses.asdict(row) for row in rows]
        result = {"ok": ok, "submissions": rows, "not_looked_at": elsewhere}
        print(json.dumps(result, indent=2))
        return 0 if ok else 1
    marks = [("", "") if row.points is None else (row.points, row.max_points) for row in rows]
    _print_table(
        ("learner", "points", "of", "state", "reason"),
        [
            (row.student, *mark, row.state, row.reason)
            for row, mark in zip(rows, marks, strict=True)
        ],
    )
    print(
        f"\n{len(rows)} submissions: {len(rows) - counts['fault']} graded, of which "
        f"{counts['to mark']} have answers for you to mark; {counts['fault']} without a grade"
    )
    if elsewhere:
        print(f"Not looked at, as no assignment has this place: {', '.join(elsewhere)}")
    if not ok:
        print("Run the same command again to go on with those without a grade.")
    return 0 if ok else 1


def _count(text):
    if not (text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1")
    return int(text)


def _audit(chosen):
    from attnkit import audit

    try:
        exercises = [find(name) for name in chosen.exercises] or all_exercises()
    except ValueError as error:
        print(f"attnkit audit: {error}", file=sys.stderr)
        return 2
    one = audit.audit_mutants if chosen.mutants else audit.audit
    results = [one(exercise) for exercise in tqdm(exercises, leave=False, disable=None)]
    ok = all(result.ok for result in results)
    rows = [result.to_dict() for result in results]
    if chosen.json:
        print(json.dumps({"ok": ok, "exercises": rows}, indent=2))
    else:
        _print_audit(rows)
    return 0 if ok else 1


def _teaching(command):
    """A command on a course: it ends with 2, and says why, if what it needs is not there."""

    def run(chosen):
        # nbgrader takes a second to import, and only these commands need it.
        from attnkit.grading.batch import CannotGrade

        try:
            return command(chosen)
        except CannotGrade as error:
            print(f"attnkit: {error}", file=sys.stderr)
            return 2

    return run


def _with_course(command):
    """A command that is given the course it is about."""

    def run(chosen):
        from attnkit.grading.graded import GradedCourse

        return command(chosen, GradedCourse(chosen.course))

    return _teaching(run)


def _demo_course(chosen):
    from attnkit.grading import demo_course

    rows = demo_course.make(
        chosen.folder, chosen.course, chosen.students, chosen.seed, chosen.assignment
    )
    kinds = {(row.assignment, row.answer) for row in rows}
    print(f"{chosen.students} students, {len(kinds)} kinds of answers, expected.csv has the marks")
    wanted = demo_course.enough(chosen.assignment)
    if chosen.students < wanted:
        print(f"every kind of answer there is needs --students {wanted}")
    return 0


def _assignment(chosen):
    from attnkit.grading import assignment

    path = assignment.make(
        chosen.course, chosen.name, chosen.items, title=chosen.title or chosen.name
    )
    print(f"{path} is written; next: nbgrader generate_assignment {chosen.name}")
    return 0


def _feedback(chosen, course):
    from attnkit.grading import feedback

    written = feedback.write_all(course, chosen.assignment, chosen.student)
    paths = list(tqdm(written, unit="page", leave=False, disable=None))
    if not paths:
        print(f"attnkit feedback: no graded submission of {chosen.assignment}", file=sys.stderr)
        return 1
    print(f"{len(paths)} pages, such as {paths[0]}")
    return 0


def _export(chosen, course):
    from attnkit.grading import export

    with course.gradebook() as gradebook, contextlib.ExitStack() as stack:
        file = sys.stdout
        if chosen.to:
            try:
                file = stack.enter_context(open(chosen.to, "w", encoding="utf-8", newline=""))
            except OSError as error:
                reason = f"{chosen.to} cannot be written: {error.strerror}"
                print(f"attnkit export: {reason}", file=sys.stderr)
                return 2
        waiting = export.write(gradebook, chosen.format, file)
    if waiting:
        print(f"{waiting} submissions have written answers to mark yet", file=sys.stderr)
    return 0


def _report(chosen, course):
    from attnkit.grading.report import report

    result = report(course, chosen.assignment)
    print(result.json() if chosen.json else result.html() if chosen.html else result.text())
    return 0


def _print_audit(rows):
    """Counts in a table, then a line for each entry that is counted by name."""
    counts = [[len(x) if isinstance(x, list) else x for x in row.values()] for row in rows]
    _print_table([column.replace("_", " ") for column in rows[0]], counts)
    for row in rows:
        for column, entries in row.items():
            for entry in entries if isinstance(entries, list) else ():
                print(f"{row['name']}, {column.replace('_', ' ')}: {entry}")


def _print_table(columns, rows):
    lines = [columns, *[[str(field) for field in row] for row in rows]]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    for line in lines:
        fields = zip(line, widths, strict=True)
        print("  ".join(field.ljust(width) for field, width in fields).rstrip())
