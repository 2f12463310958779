"""The command ``attnkit``: what a learner and a teacher do at a terminal."""

import argparse
import json
import sys

from attnkit.exercises import all_exercises


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
                    verdict.passed * exercise.points,
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


def _print_table(columns, rows):
    lines = [columns, *[[str(field) for field in row] for row in rows]]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    for line in lines:
        fields = zip(line, widths, strict=True)
        print("  ".join(field.ljust(width) for field, width in fields).rstrip())
