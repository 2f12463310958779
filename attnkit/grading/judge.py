"""Judges a notebook: its cells run in the learner's process, what they return is compared here.

Cases, wanted values, laws and mistakes stay in this process; only arguments go over and only data
comes back. The visible checks of all exercises run before the first hidden one, so that nothing a
hidden case showed a function can come back as an output that is shown.
"""

import base64
import builtins
import contextlib
import functools
import os
import signal
import time

import nbformat

from attnkit.checking import CheckFailed, judge
from attnkit.exercises import find
from attnkit.grading import wire
from attnkit.grading.nursery import START, Nursery
from attnkit.notebooks import checked

STEP = 10.0  # seconds that a cell or a call may take


_nursery = functools.cache(Nursery)


class TookTooLong(Exception):
    """A cell or a call did not end in time."""

    told = f"your code did not end within {STEP:.0f} seconds; is there an endless loop?"


class Gone(Exception):
    """The learner's process ended before it answered."""

    told = "your code ended the process it ran in, or used more memory or time than it may"


class Learner:
    """A process that has run the cells of a notebook and answers calls of their functions."""

    def __init__(self, limits):
        self.process, self.target, self.source = _nursery().fork()
        self.failure = None
        self._send(limits, START)
        self._receive(START)

    def ask(self, *request):
        """The reply to a request; TookTooLong or Gone, now and ever after, if there is none."""
        if self.failure:
            raise self.failure
        try:
            self._send(list(request), STEP)
            return self._receive(STEP)
        except TimeoutError:
            self.failure = TookTooLong()
        except wire.Broken:
            self.failure = Gone()
        self.close()
        raise self.failure

    def close(self):
        """End the process; nothing of it is left running."""
        if self.process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.process, signal.SIGKILL)
        for descriptor in (self.process, self.target, self.source):
            os.close(descriptor)
        self.process = None

    def _send(self, value, seconds):
        wire.send(self.target, value, deadline=time.monotonic() + seconds)

    def _receive(self, seconds):
        return wire.receive(self.source, deadline=time.monotonic() + seconds)


def answer(learner, function):
    """The learner's function, as one that can be called here."""

    def call(*arguments, **named):
        kind, *details = learner.ask("call", function, list(arguments), named)
        if kind == "value":
            value, after, named_after = details
            _write_back(arguments, after)
            _write_back(named.values(), named_after.values())
            return wire.tuples(value)
        raise _as_exception(function, kind, *details)

    return call


def _write_back(before, after):
    """Do to the arguments here what the function did to them there."""
    for mine, theirs in zip(before, after, strict=True):
        if hasattr(mine, "shape"):
            mine[...] = theirs


def _as_exception(function, kind, name="", message="", line=None):
    if kind == "missing":
        error = NameError()
        error.told = f"there is no function `{function}`: did the cell that defines it fail?"
        return error
    if kind == "odd":
        error = TypeError()
        error.told = f"your function returns something of type {name}; wanted are numpy arrays"
        return error
    known = getattr(builtins, name, None)
    ours = isinstance(known, type) and issubclass(known, Exception)
    error = known.__new__(known) if ours else type(name, (Exception,), {})()
    where = f"line {line[0]} of your code, `{line[1]}`, raised" if line else "calling it raised"
    error.told = f"{where} {name}: {message}"
    return error


def run(notebook, *, seed, limits):
    """Fill in the outputs of a grafted notebook: those of its cells, and a verdict for each check.

    :param seed: of the hidden cases
    :param limits: of the learner's process, as ``confine`` takes them; None leaves it unconfined
    """
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    checks = [(cell, find(*checked(cell))) for cell in cells if cell.metadata.nbgrader.grade]
    answers = [cell for cell in cells if not cell.metadata.nbgrader.grade]
    runner = _Runner(answers, limits)
    try:
        verdicts = [runner.judge(exercise) for _, exercise in checks]
        for index, (_, exercise) in enumerate(checks):
            if verdicts[index].passed:
                hidden = runner.judge(exercise, seed=seed, hidden=True)
                if not hidden.passed:
                    verdicts[index] = hidden
    finally:
        runner.close()
    for (cell, _), verdict in zip(checks, verdicts, strict=True):
        cell.outputs = _shown(verdict)
    return notebook


class _Runner:
    """Keeps a learner's process at hand; one that was lost is replaced for the next exercise."""

    def __init__(self, cells, limits):
        self.cells, self.limits = cells, limits
        self.skipped = set()
        self.learner = None

    def judge(self, exercise, **options):
        if self.learner is None or self.learner.failure:
            self._start()
        return judge(exercise, answer(self.learner, exercise.function), **options)

    def _start(self):
        """Run every cell anew, but for those that ended an earlier process."""
        while True:
            self.close()
            self.learner = Learner(self.limits)
            lost = next((i for i, cell in enumerate(self.cells) if not self._ran(i, cell)), None)
            if lost is None:
                return
            self.skipped.add(lost)

    def _ran(self, index, cell):
        if index in self.skipped:
            return True
        try:
            _, printed, warned, shown, error = self.learner.ask("cell", cell.source)
        except (TookTooLong, Gone) as failure:
            cell.outputs = [_error(type(failure).__name__, failure.told)]
            return False
        cell.outputs = [nbformat.v4.new_output("display_data", _safe(data)) for data in shown]
        if printed:
            cell.outputs.insert(0, nbformat.v4.new_output("stream", text=printed))
        if error:
            cell.outputs.append(_error(*error))
        if warned:
            # Shown like the rest: on the error stream nbgrader would take it for a failure.
            cell.outputs.append(nbformat.v4.new_output("stream", text=warned))
        return True

    def close(self):
        if self.learner:
            self.learner.close()


def _safe(data):
    """Text and pictures; never HTML or scripts, which would run in the teacher's browser."""
    shown = {}
    if isinstance(data.get("text/plain"), str):
        shown["text/plain"] = data["text/plain"]
    if isinstance(data.get("image/png"), bytes):
        shown["image/png"] = base64.b64encode(data["image/png"]).decode()
    return shown


def _error(name, message):
    line = f"{name}: {message}"
    return nbformat.v4.new_output("error", ename=name, evalue=message, traceback=[line])


def _shown(verdict):
    bundle = verdict._repr_mimebundle_()
    outputs = [nbformat.v4.new_output("display_data", bundle)]
    if not verdict.passed:
        outputs.append(_error(CheckFailed.__name__, str(CheckFailed(verdict))))
    return outputs
