"""Runs a reader's answer in the page's worker and gives its verdict as data."""

import io
import json
import linecache
import traceback
from contextlib import redirect_stderr, redirect_stdout

import numpy as np

from attnkit.checking import Exercise, Verdict, judge
from attnkit.exercises import of_chapter

ANSWER = "<your answer>"
PRINTED = 10_000


class Bounded(io.StringIO):
    """What was printed, up to a limit: the check calls a function many times."""

    def write(self, text):
        room = PRINTED - self.tell()
        if room > 0:
            super().write(text if len(text) <= room else text[:room] + " …")
        return len(text)


def run(name, code):
    """The verdict on ``code`` as JSON: whether it passed, its HTML, and what was printed."""
    exercise = _find(name)
    with redirect_stdout(Bounded()) as printed, redirect_stderr(printed):
        verdict = _verdict(exercise, code)
    html = verdict._repr_mimebundle_()["text/html"]
    return json.dumps({"passed": verdict.passed, "html": html, "printed": printed.getvalue()})


def _find(name):
    # The chapter's own module alone: another chapter's may need what a page does not have.
    items = of_chapter(name.partition(".")[0])
    return next(item for item in items if isinstance(item, Exercise) and item.name == name)


def _verdict(exercise, code):
    # The judge quotes the reader's lines from here.
    linecache.cache[ANSWER] = (len(code), None, code.splitlines(keepends=True), ANSWER)
    namespace = {"__name__": "__main__", "np": np}
    try:
        exec(exercise.given, namespace)
        exec(compile(code, ANSWER, "exec"), namespace)
        if exercise.function not in namespace:
            return _fault(exercise, f"your code defines no function `{exercise.function}`")
        return judge(exercise, namespace[exercise.function])
    except BaseException as error:  # SystemExit and KeyboardInterrupt are answers too
        return _fault(exercise, _in_words(error))


def _fault(exercise, message):
    return Verdict(exercise.name, exercise.heading, False, "raised", message)


def _in_words(error):
    """The exception with the reader's own line, and nothing of ours."""
    if isinstance(error, SyntaxError) and error.filename == ANSWER:
        number, said = error.lineno, error.msg
    else:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == ANSWER]
        number, said = frames[-1].lineno if frames else None, error
    what = f"{type(error).__name__}: {said}"
    if number is None:
        return what
    line = linecache.getline(ANSWER, number).strip()
    return f"line {number} of your code, `{line}`, raised {what}"
