"""The exercises of the book by name, and what a learner needs: check, hint and example."""

import difflib
import importlib
import os
import sys

from attnkit.checking import CheckFailed, Exercise, Question, judge
from attnkit.checking.calling import tensors

CHAPTERS = (
    "notation",
    "cognition",
    "seq2seq",
    "soft_attention",
    "hard_attention",
    "key_value_attention",
    "multi_head_attention",
    "structured_attention",
    "pointer_network",
    "self_attention",
    "transformer",
    "applications",
)


def of_chapter(chapter):
    """The chapter's exercises and questions, in the order they are written in."""
    module = importlib.import_module(f"attnkit.exercises.{chapter}")
    return [item for item in vars(module).values() if isinstance(item, Exercise | Question)]


def all_exercises(chapters=CHAPTERS):
    """Every exercise that is checked, in the order of the book."""
    return [
        item for chapter in chapters for item in of_chapter(chapter) if isinstance(item, Exercise)
    ]


class NotFound(ValueError):
    """Something was asked for by a name or number that does not exist; says which are near."""

    def _render_traceback_(self):
        return [f"{type(self).__name__}: {self}"]


def find(name):
    """The exercise called ``name``, such as ``"soft_attention.softmax"``."""
    # The other chapters are imported only where the one in the name has no such exercise.
    chapter = str(name).partition(".")[0]
    for chapters in ([chapter] if chapter in CHAPTERS else [], CHAPTERS):
        known = {exercise.name: exercise for exercise in all_exercises(chapters)}
        if name in known:
            return known[name]
    return _among(known, name, "exercise")


def pick(names):
    """The exercises of these numbers or names, and the questions of these names, each once."""
    known = {}
    for item in (item for chapter in CHAPTERS for item in of_chapter(chapter)):
        known[item.name] = item
        if isinstance(item, Exercise):
            known[item.number] = item
    return list(dict.fromkeys(_among(known, name, "exercise") for name in names))


def _among(known, name, what):
    if name not in known:
        near = difflib.get_close_matches(str(name), known, n=3, cutoff=0.4) or list(known)
        raise NotFound(f"there is no {what} {name!r}; did you mean {' or '.join(map(repr, near))}?")
    return known[name]


def check(name, answer, *, hidden=False):
    """Check an answer, show the verdict, and raise CheckFailed if it earns nothing.

    ``hidden`` draws the cases from the course's own seed and keeps their numbers to itself.

    :returns: the points of an answer that is partly right, which nbgrader takes from the cell's
        result; nothing for one that is right
    """
    seed = int(os.environ.get("ATTNKIT_SEED", "0"), 16) if hidden else 0
    verdict = judge(find(name), answer, seed=seed, hidden=hidden)
    _show(verdict)
    if not verdict.earned:
        raise CheckFailed(verdict)
    return None if verdict.passed else verdict.earned


def _show(verdict):
    ipython = sys.modules.get("IPython")
    if ipython and ipython.get_ipython():
        ipython.display.display(verdict)
    else:
        print(verdict)


def example(name, case):
    """The arguments of the case that ``check`` names, to run your function on yourself."""
    exercise = find(name)
    names = [case.name for case in exercise.cases]
    chosen = _among({name: index for index, name in enumerate(names)}, case, "case")
    arguments = exercise.arguments(chosen, seed=0)
    return tensors(arguments, exercise.gradients) if exercise.backend == "torch" else arguments


class Hint(str):
    """A hint that a notebook renders as Markdown."""

    def _repr_markdown_(self):
        return str(self)


def hint(name, step=1):
    """Hint number ``step`` of an exercise: 1 a question, 2 the idea, 3 the line."""
    hints = find(name).hints
    if step not in range(1, len(hints) + 1):
        raise NotFound(f"step is {step!r}; there are hints 1 to {len(hints)}")
    return Hint(f"Hint {step} of {len(hints)}: {hints[step - 1]}")
