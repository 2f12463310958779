"""What an exercise is: written once, it gives the notebooks, the check and the check's tests."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

# What every exercise asks besides its own contract.
RULES = (
    "Return arrays of the kind you are given, no less precise than the arguments, and leave the "
    "arguments alone."
)


@dataclass(frozen=True)
class Case:
    """Arguments to try an answer on; ``draw(rng)`` returns them by name.

    ``group`` names the part of the points that it helps to earn; "" where they are not parted.
    """

    name: str
    draw: Callable[[np.random.Generator], dict[str, Any]]
    group: str


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


@dataclass(eq=False)
class Exercise:
    """One exercise. ``prompt`` is the function whose signature and docstring ask for it.

    ``groups`` parts the points among groups of cases, for partial credit: a group earns its points
    when each of its cases is right and keeps every law, and none does unless the first one is.
    Without groups it is all or nothing.

    ``not_allowed`` are the library functions that would be the answer, by their full names.

    With ``backend="torch"`` the arrays of a case are given as tensors. ``gradients`` names the
    arguments in which the gradient of the output is compared too.

    ``measure(value, **arguments)`` makes of a returned value the array that is compared, where the
    value itself may differ: of trained weights their loss. It runs beside the wanted values, so
    nothing that an answer claims of itself is believed. Its docstring says what it measures, in
    words that follow on "wrong is ...".
    """

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
    groups: dict[str, int] = field(default_factory=dict)
    not_allowed: tuple[str, ...] = ()
    backend: str = "numpy"
    # The label and the heading of the section to reread; the chapter's beginning if left out.
    section: tuple[str, str] | None = None
    gradients: tuple[str, ...] = ()
    measure: Callable | None = None
    # A generic wrong answer that is right in this exercise, or a change of the solution that makes
    # no difference, and the reason.
    right_anyway: dict[str, str] = field(default_factory=dict)
    equivalent_mutants: dict[str, str] = field(default_factory=dict)
    cases: list[Case] = field(default_factory=list)
    misconceptions: list[Misconception] = field(default_factory=list)
    right_answers: list[RightAnswer] = field(default_factory=list)

    def __post_init__(self):
        if self.groups and sum(self.groups.values()) != self.points:
            raise ValueError(
                f"{self.name}: the groups have {sum(self.groups.values())} points together; "
                f"the exercise has {self.points}"
            )
        if self.gradients and self.backend != "torch":
            raise ValueError(f'{self.name}: gradients need backend="torch"')

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
    def reread(self):
        """Heading and page of the section of the book to go back to."""
        label, heading = self.section or ("", "the whole chapter")
        return heading, f"chapters/{self.chapter}.html#{label}"

    @property
    def summary(self):
        return inspect.getdoc(self.prompt).partition("\n")[0]

    @property
    def text(self):
        """The prompt in Markdown, without its first line, the summary."""
        return inspect.getdoc(self.prompt).partition("\n")[2].strip()

    @cached_property
    def signature(self):
        return inspect.signature(self.prompt)

    @property
    def terms(self):
        """What the marks depend on besides right or wrong, in Markdown; often nothing."""
        terms = []
        if self.groups:
            (first, most), *others = self.groups.items()
            rest = ", ".join(f"{points} for {group}" for group, points in others)
            terms.append(
                f"**Points.** {most} for {first}, {rest}. Each part counts by itself, as long as "
                f"{first} is right."
            )
        if self.not_allowed:
            names = ", ".join(f"`{name}`" for name in self.not_allowed)
            terms.append(f"**Write it yourself.** Not allowed here: {names}.")
        return "\n\n".join(terms)

    def earned(self, right):
        """The points for an answer whose groups of cases are right as ``right(group)`` says."""
        groups = self.groups or {"": self.points}
        if not right(next(iter(groups))):
            return 0
        return sum(points for group, points in groups.items() if right(group))

    def case(self, name, *, group=""):
        if group not in (self.groups or {"": self.points}):
            known = ", ".join(map(repr, self.groups)) or "no groups"
            raise ValueError(f"{self.name}: case {name!r} is in group {group!r}; there are {known}")
        return self._collect(self.cases, lambda draw: Case(name, draw, group))

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
