"""Runs a learner's notebook from top to bottom and collects the verdict of every check in it."""

import contextlib
import json
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import DeadKernelError
from tqdm import tqdm

from attnkit import notebooks
from attnkit.checking import Verdict
from attnkit.exercises import find


class NotANotebook(ValueError):
    """The file cannot be read as a notebook; the message says why in one sentence."""


def read(path):
    """The notebook at ``path``, in the present format."""
    try:
        notebook = nbformat.read(Path(path), as_version=4)
        nbformat.validate(notebook)
    except OSError as error:
        raise NotANotebook(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, AttributeError, TypeError, nbformat.ValidationError):
        raise NotANotebook(
            f"{path} is no notebook: a notebook is a JSON file as Jupyter saves it"
        ) from None
    return notebook


def verdicts(notebook, *, timeout=60):
    """Run the notebook; give the exercise and the Verdict of each exercise it checks, in order.

    A cell that fails does not stop the ones below it; each has ``timeout`` seconds.
    """
    with tqdm(total=len(notebook.cells), unit="cell", delay=2, leave=False, disable=None) as bar:
        client = NotebookClient(
            notebook,
            timeout=timeout,
            allow_errors=True,
            interrupt_on_timeout=True,
            kernel_name="python3",
            on_cell_start=lambda **_: bar.update(),
        )
        with contextlib.suppress(DeadKernelError):  # what ran until then has its verdict
            client.execute()
    checks = {}
    for cell in notebook.cells:
        if cell.cell_type == "code":
            checks |= dict.fromkeys(notebooks.checked(cell), cell)
    return [_verdict(find(name), cell, notebook) for name, cell in checks.items()]


def _verdict(exercise, cell, notebook):
    for output in cell.outputs:
        data = output.get("data", {}).get(Verdict.MIME)
        if data and data["exercise"] == exercise.name:
            return exercise, Verdict.from_dict(data)
    # A check without a verdict found no function: the cell that should define it says why.
    answers = [c for c in notebook.cells if f"def {exercise.function}(" in c.source]
    errors = [_error(c) for c in (*answers, cell) if c.cell_type == "code" and _error(c)]
    message = (
        errors[0]
        if errors
        else "the check gave no verdict: something ended the run before it or within it"
    )
    if message.startswith("KeyboardInterrupt"):
        message = "the check was stopped because it took too long; is there an endless loop?"
    return exercise, Verdict(exercise.name, exercise.heading, False, "raised", message)


def _error(cell):
    errors = (o for o in cell.outputs if o.output_type == "error")
    return next((f"{o.ename}: {o.evalue}" for o in errors), "")


def as_json(results):
    return json.dumps(
        [{**verdict.to_dict(), "points": exercise.points} for exercise, verdict in results],
        indent=2,
    )
