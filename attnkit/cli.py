"""The command ``attnkit``: what a learner and a teacher do at a terminal."""

import argparse
import json
import sys

from tqdm import tqdm

from attnkit.exercises import all_exercises, find


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
    auditing = commands.add_parser("audit", help="grade the checks themselves")
    auditing.add_argument("exercises", nargs="*", metavar="EXERCISE", help="all, if none is named")
    auditing.add_argument("--mutants", action="store_true", help="wrong answers made by machine")
    auditing.add_argument("--json", action="store_true", help="as JSON, for programs")
    auditing.set_defaults(run=_audit)
    chosen = parser.parse_args(arguments)
    return chosen.run(chosen)


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
