"""What an exercise is: written once, it gives the notebooks, the check and the check's tests."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

# What every exercise asks besides its own contract.
RULES = "Return numpy arrays, no less precise than the arguments, and leave the arguments alone."


@dataclass(frozen=True)
class Case:
    """Arguments to try an answer on; ``draw(rng)`` returns them by name."""

    name: str
    draw: Callable[[np.random.Generator], dict[str, Any]]


@dataclass(frozen=True)
class Misconception:
    """A wrong answer people give, as a function that runs, and the hint that helps."""

    name: str
    answer: Callable
    hint: str


@dataclass(frozen=True)
class RightAnswer:
    """An independent right answer, which the check must accept."""

    name: str
    answer: Callable


@dataclass(frozen=True)
class Question:
    """A written question: no check can mark it, so it carries its marking scheme."""

    name: str
    title: str
    points: int
    prompt: str
    answer: str
    scheme: str


@dataclass
class Exercise:
    """One exercise. ``prompt`` is the function whose signature and docstring ask for it."""

    prompt: Callable
    reference: Callable
    number: str
    title: str
    points: int
    minutes: int
    difficulty: int
    contract: str
    hints: tuple[str, str, str]
    laws: tuple = ()
    parts: tuple[str, ...] = ()
    given: str = ""
    backend: str = "numpy"
    # A generic wrong answer that is right in this exercise, or a change of the solution that makes
    # no difference, and the reason.
    right_anyway: dict[str, str] = field(default_factory=dict)
    equivalent_mutants: dict[str, str] = field(default_factory=dict)
    cases: list[Case] = field(default_factory=list)
    misconceptions: list[Misconception] = field(default_factory=list)
    right_answers: list[RightAnswer] = field(default_factory=list)

    @property
    def chapter(self):
        return self.prompt.__module__.rpartition(".")[2]

    @property
    def function(self):
        """The name of the function that the learner writes."""
        return self.prompt.__name__

    @property
    def name(self):
        return f"{self.chapter}.{self.function}"

    @property
    def heading(self):
        return f"Exercise {self.number}, {self.title}"

    @property
    def summary(self):
        return inspect.getdoc(self.prompt).partition("\n")[0]

    @property
    def text(self):
        """The prompt in Markdown, without its first line, the summary."""
        return inspect.getdoc(self.prompt).partition("\n")[2].strip()

    @property
    def signature(self):
        return inspect.signature(self.prompt)

    def case(self, name):
        return self._collect(self.cases, lambda draw: Case(name, draw))

    def misconception(self, name, *, hint):
        return self._collect(
            self.misconceptions, lambda answer: Misconception(name, answer, " ".join(hint.split()))
        )

    def right_answer(self, name):
        return self._collect(self.right_answers, lambda answer: RightAnswer(name, answer))

    def _collect(self, collection, make):
        def decorate(function):
            collection.append(make(function))
            return function

        return decorate

    def arguments(self, index, seed):
        """The arguments of case number ``index``, the same for the same seed."""
        return self.cases[index].draw(np.random.default_rng([seed, index]))

    def describe(self):
        """What the list of exercises says of it, as plain data."""
        return {
            "name": self.name,
            "number": self.number,
            "title": self.title,
            "chapter": self.chapter,
            "points": self.points,
            "minutes": self.minutes,
            "difficulty": self.difficulty,
            "backend": self.backend,
            "cases": len(self.cases),
            "laws": len(self.laws),
            "misconceptions": len(self.misconceptions),
        }


def in_single_precision(arguments):
    """The arguments of a case with every array of floats in float32."""

    def floating(value):
        return isinstance(value, np.ndarray) and value.dtype.kind == "f"

    return {k: v.astype(np.float32) if floating(v) else v for k, v in arguments.items()}


def exercise(**fields):
    """Turn a function that has a signature and a docstring, but no body, into an Exercise."""
    return lambda prompt: Exercise(prompt, **fields)
