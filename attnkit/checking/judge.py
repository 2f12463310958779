"""Judges an answer: runs it on every case and law, and looks for the mistake behind a failure."""

import copy
import inspect
import linecache
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np

from attnkit.checking import laws, shortcuts
from attnkit.checking.calling import Way, call, members
from attnkit.checking.compare import Difference, difference, plain, same
from attnkit.checking.exercise import Case, Exercise
from attnkit.checking.tolerance import wanted
from attnkit.checking.verdict import Verdict

# So often the cases are drawn anew when several misconceptions fit one answer.
EXTRA_DRAWS = 4


@dataclass(frozen=True)
class Failure:
    """What a call ended with that gave no value: the name of the exception, and it in words."""

    name: str
    words: str


@dataclass(frozen=True)
class Outcome:
    """What one call did: the value it returned or how it failed, and what it changed."""

    value: object = None
    failure: Failure | None = None
    changed: tuple[str, ...] = ()

    def like(self, other):
        if self.failure or other.failure:
            return (self.failure and self.failure.name) == (other.failure and other.failure.name)
        return self.changed == other.changed and same(self.value, other.value)


def judge(exercise, answer, *, seed=0, hidden=False):
    """The verdict on ``answer``; with ``hidden`` it tells nothing of the numbers of a case."""
    if not callable(answer):
        message = f"`{exercise.function}` is {type(answer).__name__} here, not a function"
        return verdict(exercise, "type", message)
    used = shortcuts.in_function(answer, exercise)
    if used:
        return not_allowed(exercise, used)
    return Paper(exercise, seed).judge(partial(observe_all, exercise, answer), hidden=hidden)


def observe_all(exercise, answer, asked):
    """The Outcomes of an answer in this process, as a Paper asks for them."""
    return [observe(exercise, answer, each.arguments) for each in asked]


def bind(exercise, arguments):
    """The arguments in the order of the signature, and how many of them are given by place."""
    bound = exercise.signature.bind(**arguments)
    return bound.arguments, len(bound.args)


def verdict(exercise, kind, message, **fields):
    """A Verdict on an answer to the exercise; nothing is earned unless ``fields`` say so."""
    return Verdict(
        exercise=exercise.name,
        title=exercise.heading,
        passed=kind == "passed",
        kind=kind,
        message=message,
        points=exercise.points,
        **fields,
    )


def not_allowed(exercise, used):
    """The verdict on an answer that calls the function it should have written."""
    return verdict(
        exercise,
        "not allowed",
        f"your answer uses `{used}`, which already is what this exercise asks for",
        hint="Knowing it is good, and outside of this exercise it is the right choice. Here, write "
        "the steps that it does; then compare the two.",
    )


@dataclass(eq=False)
class Trial:
    """A case drawn, and what is wanted of it."""

    exercise: Exercise
    case: Case
    arguments: dict
    seed: int

    @cached_property
    def reference(self):
        return partial(_by_name, self.exercise, self.exercise.reference)

    @cached_property
    def wanted(self):
        """The reference's value, with the slack that a right answer has."""
        return wanted(self.reference, self.arguments)

    @cached_property
    def measured(self):
        """What the exercise's measure makes of the reference's value, with its slack."""
        exercise = self.exercise
        return wanted(
            lambda **named: exercise.measure(self.reference(**named), **named), self.arguments
        )

    @cached_property
    def law_calls(self):
        """The calls that each law makes besides the case's own, as if the reference were asked."""
        return [self._calls(law) for law in self.exercise.laws]

    def _calls(self, law):
        calls = []

        def record(**named):
            if self.is_own(named):
                return self.without_gradients(self.wanted.value)
            value = self.reference(**named)
            calls.append(LawCall(copy.deepcopy(named), value))
            return self.without_gradients(value)

        self.test(law, record)
        return calls

    @cached_property
    def close(self):
        """Whether two arrays agree as far as a right answer's do."""
        return laws.within(self.wanted.largest_slack)

    def test(self, law, answer):
        return law.broken_by(answer, self.arguments, self.seed, self.close)

    def is_own(self, named):
        """Whether a law asks for no more than the case itself, whose outcome is known."""
        own = self.arguments
        return named.keys() == own.keys() and all(named[name] is own[name] for name in own)

    def without_gradients(self, value):
        """Laws speak of what the function returns."""
        count = len(self.exercise.gradients)
        kept = value[:-count] if count else value
        return kept[0] if count and len(kept) == 1 else kept

    def fault(self, outcome):
        """What is wrong with the outcome of the case, as fields of a verdict; None if nothing."""
        tried = {"case": self.case.name, "called_with": _in_words(self.arguments)}
        if outcome.failure:
            return {"kind": "raised", "message": outcome.failure.words, **tried}
        found = self._difference(outcome.value)
        if found is None and outcome.changed:
            names = ", ".join(f"`{name}`" for name in outcome.changed)
            found = Difference("arguments changed", f"your function changes its argument {names}")
        if found is None:
            return None
        return {
            "kind": found.kind,
            "message": found.message,
            **tried,
            "given": found.given,
            "wanted": found.wanted,
            "worst": found.worst,
        }

    def _difference(self, value):
        exercise = self.exercise
        parts = exercise.parts
        if exercise.gradients:
            parts = parts or ("what you return",)
            parts += tuple(f"the gradient in {name}" for name in exercise.gradients)
        if exercise.measure is None:
            return difference(value, self.wanted, parts)
        found = difference(value, self.wanted.of_any_value(), parts)
        if found:
            return found
        what = inspect.getdoc(exercise.measure)
        try:
            measure = exercise.measure(copy.deepcopy(value), **copy.deepcopy(self.arguments))
        except Exception:  # the reference's value can be measured, or there would be no paper
            return Difference("value", f"{what} cannot be computed")
        return difference(plain(measure), self.measured, what=what)


@dataclass(eq=False)
class LawCall:
    """Arguments that a law asks the answer about, and what the reference returns for them."""

    arguments: dict
    wanted: object


class _Seen(Exception):
    """Ends the test of a law: the answer did something that no law has to look at."""


@dataclass(eq=False)
class Paper:
    """The cases of an exercise drawn from one seed, with all that is wanted of an answer to them.

    Made once, it judges many answers: what does not depend on an answer is computed once.

    An answer is asked by ``run``: it is given a list of Trials or LawCalls, whose ``arguments``
    are those of a call, and returns the Outcomes. So an answer in another process is asked many
    things at once, and what it is asked is the same object for every answer.
    """

    exercise: Exercise
    seed: int
    trials: list[Trial] = field(init=False)

    def __post_init__(self):
        exercise = self.exercise
        self.trials = [
            Trial(exercise, case, exercise.arguments(index, self.seed), self.seed)
            for index, case in enumerate(exercise.cases)
        ]

    def judge(self, run: Callable, *, hidden=False):
        """The verdict; with ``hidden`` it tells nothing of the numbers of a case."""
        exercise = self.exercise
        outcomes = run(self.trials)
        if outcomes[0].failure and outcomes[0].failure.name == "NotImplementedError":
            message = f"`{exercise.function}` still raises NotImplementedError: write its body"
            return verdict(exercise, "unfinished", message)
        faults = self._faults(run, outcomes)
        if not any(faults):
            message = f"{len(exercise.cases)} cases and every law agree"
            return verdict(exercise, "passed", message, earned=exercise.points)
        fault = self._first(faults, run, outcomes)
        guesses = self._misconceptions(run, outcomes) or self._in_its_part(fault, run, outcomes)
        fault["misconceptions"] = tuple(guess.name for guess in guesses)
        fault["hint"] = guesses[0].hint if guesses else ""
        if hidden:
            fault = _without_numbers(fault)
        wrong = {trial.case.group for trial, f in zip(self.trials, faults, strict=True) if f}
        groups = tuple((name, n, name not in wrong) for name, n in exercise.groups.items())
        earned = exercise.earned(lambda group: group not in wrong)
        return verdict(exercise, **fault, earned=earned, groups=groups)

    def passes(self, answer):
        """Whether ``answer`` would get full marks, without looking for its mistake if not."""
        run = partial(observe_all, self.exercise, answer)
        return not any(self._faults(run, run(self.trials)))

    def _faults(self, run, outcomes):
        """What is wrong with each case: with its outcome, or a law that breaks on its arguments.

        Laws are tried in the groups whose cases are all right; the others have lost their points.
        """
        faults = [t.fault(outcome) for t, outcome in zip(self.trials, outcomes, strict=True)]
        wrong = {trial.case.group for trial, f in zip(self.trials, faults, strict=True) if f}
        tried = [i for i, trial in enumerate(self.trials) if trial.case.group not in wrong]
        for index, fault in self._broken_laws(run, outcomes, tried).items():
            faults[index] = fault
        return faults

    def _first(self, faults, run, outcomes):
        """The first case that fails, the simplest as cases are written in that order; or a law."""
        index, fault = min(
            ((i, fault) for i, fault in enumerate(faults) if fault),
            key=lambda numbered: (numbered[1]["kind"] == "law", numbered[0]),
        )
        if fault["kind"] == "value":
            fault["law"] = self._broken_laws(run, outcomes, [index]).get(index, {}).get("law", "")
        return fault

    @np.errstate(all="ignore")
    def _broken_laws(self, run, outcomes, indices):
        """Of the cases with these indices: the first law that breaks on each, as a fault."""
        asked = [call for i in indices for calls in self.trials[i].law_calls for call in calls]
        known = zip(asked, run(asked), strict=True)
        broken = {}
        for index in indices:
            trial = self.trials[index]
            for law, calls in zip(self.exercise.laws, trial.law_calls, strict=True):
                mine = [next(known) for _ in calls]
                seen = _broken(trial, law, run, outcomes[index], mine)
                if seen and index not in broken:
                    broken[index] = {
                        "kind": "law",
                        "message": seen,
                        "law": law.sentence,
                        "case": trial.case.name,
                        "called_with": _in_words(trial.arguments),
                    }
        return broken

    def _in_its_part(self, fault, run, outcomes):
        """The one known mistake in the fault's group of cases; elsewhere is another mistake."""
        if fault["kind"] != "value":  # what fails, or is no array of that shape, has many causes
            return []
        group = next(t.case.group for t in self.trials if t.case.name == fault["case"])
        indices = [i for i, trial in enumerate(self.trials) if trial.case.group == group]
        found = self._misconceptions(run, outcomes, indices)
        return found if len(found) == 1 else []

    def _misconceptions(self, run, outcomes, indices=None):
        """The known mistakes that do as the answer does on these cases, told apart if possible."""
        indices = range(len(outcomes)) if indices is None else indices
        # Two functions that fail everywhere need not share a mistake: one value has to agree.
        if all(outcomes[index].failure for index in indices):
            return []
        remaining = self._those_like(self.exercise.misconceptions, outcomes, indices)
        for paper in self._drawn_anew if len(remaining) > 1 else ():
            if len(remaining) < 2:
                break
            more = run(paper.trials)
            remaining = paper._those_like(remaining, more, indices) or remaining
        return remaining

    def _those_like(self, misconceptions, outcomes, indices):
        return [
            misconception
            for misconception in misconceptions
            if all(outcomes[index].like(self._mistaken(misconception, index)) for index in indices)
        ]

    def _mistaken(self, misconception, index):
        """What a misconception does on a case, remembered: every wrong answer is held to it."""
        key = misconception.name, index
        if key not in self._mistakes:
            arguments = self.trials[index].arguments
            self._mistakes[key] = observe(self.exercise, misconception.answer, arguments)
        return self._mistakes[key]

    @cached_property
    def _mistakes(self):
        return {}

    @cached_property
    def _drawn_anew(self):
        return [Paper(self.exercise, self.seed + 1000 * i) for i in range(1, EXTRA_DRAWS + 1)]


def _broken(trial, law, run, outcome, known):
    """What the answer does that breaks the law, in words, or None.

    ``known`` are the calls that the law makes of the reference, with their outcomes.
    """
    known = iter(known)

    def answer(**named):
        if trial.is_own(named):
            return _lawful(trial, outcome, trial.wanted.value)
        call, seen = next(known, (None, None))
        if call is None or not _alike(call.arguments, named):
            # What this law asks depends on what it was answered.
            call = LawCall(named, trial.reference(**named))
            (seen,) = run([call])
        return _lawful(trial, seen, call.wanted)

    try:
        return trial.test(law, answer)
    except _Seen as seen:
        return str(seen)


def _lawful(trial, outcome, wanted_value):
    """The value of an outcome, once it has the form that a law can look at."""
    if outcome.failure:
        raise _Seen(outcome.failure.words)
    given, form = members(outcome.value), members(wanted_value)
    if isinstance(outcome.value, tuple) != isinstance(wanted_value, tuple) or len(given) != len(
        form
    ):
        raise _Seen("what it returns has another form than before")
    for one, other in zip(given, form, strict=True):
        if not isinstance(one, np.ndarray) or one.dtype.kind not in "fiu":
            raise _Seen("what it returns is no array of real numbers")
        if one.shape != other.shape:
            raise _Seen(f"what it returns has shape {one.shape}; wanted is {other.shape}")
    return trial.without_gradients(outcome.value)


def _alike(one, other):
    """Whether two sets of arguments are the same to the byte."""
    return one.keys() == other.keys() and all(_identical(one[name], other[name]) for name in one)


def _identical(one, other):
    if not (isinstance(one, np.ndarray) and isinstance(other, np.ndarray)):
        return one is other or (type(one) is type(other) and one == other)
    return (one.dtype, one.shape) == (other.dtype, other.shape) and one.tobytes() == other.tobytes()


def observe(exercise, answer, arguments):
    """Call ``answer`` on a copy of the arguments and write down what happened."""
    try:
        value, changed = _called(exercise, answer, copy.deepcopy(arguments))
    except (Exception, SystemExit) as error:
        words = _error_in_words(exercise, answer, error)
        return Outcome(failure=Failure(type(error).__name__, words))
    return Outcome(value, changed=changed)


def _called(exercise, answer, arguments):
    way = Way(exercise.backend, exercise.gradients)
    ordered, positional = bind(exercise, arguments)
    return call(answer, ordered, way, positional)


def _by_name(exercise, function, **arguments):
    return _called(exercise, function, arguments)[0]


def _without_numbers(fault):
    shown = {
        key: fault[key] for key in ("kind", "case", "law", "misconceptions", "hint") if key in fault
    }
    words = {
        "value": "the values differ from the wanted ones",
        "shape": "the shape differs from the wanted one",
        "raised": "your function raises an exception",
    }
    return {**shown, "message": words.get(fault["kind"], "the contract does not hold")}


def _in_words(arguments):
    """The arguments of a case: of an array its shape, of anything else itself."""
    return ", ".join(
        f"{name} {value.shape}" if isinstance(value, np.ndarray) else f"{name}={value}"
        for name, value in arguments.items()
    )


def _error_in_words(exercise, answer, error):
    """A learner's exception with their own line, and nothing of ours."""
    what = f"{type(error).__name__}: {error}"
    own = getattr(getattr(answer, "__code__", None), "co_filename", None)
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == own]
    if not frames:
        return f"calling `{exercise.function}{exercise.signature}` failed with {what}"
    line = frames[-1].line or linecache.getline(own, frames[-1].lineno).strip()
    return f"line {frames[-1].lineno} of your code, `{line}`, raised {what}"
