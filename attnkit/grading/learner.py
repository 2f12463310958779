"""The learner's process: runs the cells of a notebook, then calls their functions when asked.

It is forked from the nursery, confines itself, and only then reads the first line a learner wrote.
It never holds a reference, a case's wanted value or a hidden case that it was not called with.
"""

import contextlib
import io
import os
import sys
import traceback
import types

import numpy as np
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

from attnkit.checking.compare import plain
from attnkit.grading import confine, wire

LONGEST = 100_000  # characters of what one cell prints


def prepare():
    """An IPython shell with what every notebook imports; made once, before any fork."""
    quiet = Config()
    quiet.HistoryManager.enabled = False
    quiet.InteractiveShell.colors = "nocolor"
    shell = InteractiveShell.instance(config=quiet)
    # What a notebook imports to talk to the check; here the judge does that.
    stand_in = types.ModuleType("attnkit.exercises")
    vars(stand_in).update(dict.fromkeys(("check", "example", "hint"), lambda *_, **__: None))
    sys.modules["attnkit.exercises"] = stand_in
    shell.run_cell("import numpy as np")
    return shell


def serve(shell, paths, source, target):
    """Confine this process, then do as the judge asks until it hangs up; never returns."""
    try:
        limits = wire.receive(source)
        if limits is not None:
            confine.confine(paths, **limits)
        _mute()  # until here an error of ours is heard
        wire.send(target, "ready")
        while True:
            kind, *details = wire.receive(source)
            reply = {"cell": _run_cell, "call": _call}[kind](shell, *details)
            try:
                wire.send(target, reply)
            except (TypeError, ValueError, OverflowError):
                wire.send(target, ["odd", type(reply[1]).__name__[:100]])
    except wire.Broken:
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def _mute():
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(1, 2)  # where standard output leads to since the nursery: nowhere


def _run_cell(shell, text):
    """What a cell printed and showed, and its error in a line."""
    with capture_output() as captured:
        result = shell.run_cell(text, silent=False, store_history=False)
    error = result.error_before_exec or result.error_in_exec
    return [
        "ran",
        captured.stdout[:LONGEST],
        captured.stderr[:LONGEST],
        [dict(output.data) for output in captured.outputs][:20],
        error and [type(error).__name__, str(error)[:1000]],
    ]


def _call(shell, name, arguments, named):
    """Call a function of the learner's; what it prints while it is judged is thrown away."""
    function = shell.user_ns.get(name)
    if not callable(function):
        return ["missing", type(function).__name__]
    try:
        with _silence(), np.errstate(all="ignore"):
            value = plain(function(*arguments, **named))
    except BaseException as error:
        return _raised(function, error)
    return ["value", value, arguments, named]


def _raised(function, error):
    """The type, the beginning of the message, and the learner's own line."""
    own = getattr(getattr(function, "__code__", None), "co_filename", None)
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == own]
    line = [frames[-1].lineno, (frames[-1].line or "")[:200]] if frames else None
    return ["raised", type(error).__name__[:100], str(error)[:300], line]


@contextlib.contextmanager
def _silence():
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield
