"""The learner's process: runs the cells of a notebook, then calls their functions when asked.

It is forked from the nursery, confines itself, and only then reads the first line a learner wrote.
It never holds a reference, a case's wanted value or a hidden case that it was not called with.
"""

import itertools
import os
import signal
import sys
import traceback
import types

import numpy as np
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

from attnkit.checking.calling import Way, call
from attnkit.grading import confine, replies, wire


def prepare(with_torch):
    """An IPython shell with what every notebook imports; made once, before any fork."""
    if with_torch:
        import torch

        torch.set_num_threads(1)
    quiet = Config()
    quiet.HistoryManager.enabled = False
    quiet.InteractiveShell.colors = "nocolor"
    shell = InteractiveShell.instance(config=quiet)
    # What a notebook imports to talk to the check; here the judge does that.
    stand_in = types.ModuleType("attnkit.exercises")
    vars(stand_in).update(dict.fromkeys(("check", "example", "hint"), lambda *_, **__: None))
    sys.modules["attnkit.exercises"] = stand_in
    _warm(shell)
    return shell


def _warm(shell):
    """What is slow for the first few times is not slow again in a fork."""
    cell = "import numpy as np\n\ndef softmax(scores): return np.exp(scores)"
    call = wire.pack([{"scores": np.ones((2, 3))}, 1])
    for _ in range(5):
        list(_run_cell(shell, cell))
        list(_call_all(shell, "softmax", "numpy", [], [call]))
    del shell.user_ns["softmax"]


def serve(shell, rules, source, target):
    """Confine this process, then do as the judge asks until it hangs up; never returns."""
    try:
        requests = wire.Source(source)
        limits = requests.receive()
        if limits is not None:
            confine.confine(rules, **limits)
        _mute()  # until here an error of ours is heard
        signal.signal(signal.SIGALRM, _interrupt)
        wire.send(target, "ready")
        while True:
            first, kind, *details = requests.receive()
            number = itertools.count(first)
            for reply in {"cell": _run_cell, "calls": _call_all}[kind](shell, *details):
                wire.send(target, [next(number), *reply])
    except wire.Broken:
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


class _Late(BaseException):
    """The judge says that it takes too long; not an Exception, which a learner may catch."""


class _Limited:
    """While a learner's code runs in it, the judge's signal ends that code; else it is nothing."""

    running = False

    def __enter__(self):
        _Limited.running = True

    def __exit__(self, *error):
        _Limited.running = False


def _interrupt(number, frame):
    if _Limited.running:
        _Limited.running = False
        raise _Late


def _mute():
    """What is printed while a function is called leads nowhere, as standard output does anyway."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(1, 2)
    sys.stdout.reconfigure(errors="replace")


def _run_cell(shell, text):
    """What a cell printed and showed, and its error in a line."""
    try:
        with capture_output() as captured, _Limited():
            result = shell.run_cell(text, silent=False, store_history=False)
        error = result.error_before_exec or result.error_in_exec
    except _Late as late:
        error = late
    if isinstance(error, _Late):
        yield ["late", _own_line(error, "<ipython-input")]
        return
    yield [
        "ran",
        _text(captured.stdout, replies.TEXT),
        _text(captured.stderr, replies.TEXT),
        [_shown(output.data) for output in captured.outputs[: replies.SHOWN]],
        error and _named(error),
    ]


def _shown(data):
    shown = {"text/plain": _text(data.get("text/plain", ""), replies.TEXT)}
    picture = data.get("image/png")
    if isinstance(picture, bytes) and len(picture) <= replies.PICTURE:
        shown["image/png"] = picture
    return shown


def _call_all(shell, name, backend, gradients, calls):
    """Call a learner's function again and again, until one call takes too long."""
    way = Way(backend, tuple(gradients))
    for packed in calls:
        reply = _call(shell.user_ns.get(name), *wire.unpack(packed), way)
        yield reply
        if reply[0] == "late":
            return


def _call(function, arguments, positional, way):
    if not callable(function):
        return ["missing"]
    given = {name: wire.tuples(value) for name, value in arguments.items()}
    own = getattr(getattr(function, "__code__", None), "co_filename", "")
    try:
        with _Limited():
            value, changed = call(function, given, way, positional)
        return ["value", replies.crossing(value), list(changed)]
    except _Late as late:
        return ["late", _own_line(late, own)]
    except BaseException as error:
        return ["raised", *_named(error), _own_line(error, own)]


def _named(error):
    name = type(error).__name__
    if not (name.isidentifier() and len(name) <= replies.NAME):
        name = "Exception"
    return [name, _text(error, 300)]


def _text(thing, longest):
    """The beginning of it as text that can be encoded."""
    try:
        return str(thing)[:longest].encode(errors="replace").decode()
    except BaseException as another:  # even this is a learner's code
        return f"({type(another).__name__} in its text)"


def _own_line(error, file):
    """The last line of the learner's that an exception came by, and its number."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if file and frame.filename.startswith(file)]
    return [own[-1].lineno, _text(own[-1].line or "", 200)] if own else None
