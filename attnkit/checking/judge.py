"""Judges an answer: runs it on every case and law, and looks for the mistake behind a failure."""

import copy
import linecache
import traceback
import warnings
from dataclasses import dataclass

import numpy as np

from attnkit.checking import laws
from attnkit.checking.compare import Difference, difference, plain, same
from attnkit.checking.exercise import Case
from attnkit.checking.tolerance import Wanted, wanted
from attnkit.checking.verdict import Verdict

# So often the cases are drawn anew when several misconceptions fit one answer.
EXTRA_DRAWS = 4


@dataclass(frozen=True)
class Outcome:
    """What one call did: the value it returned or the exception it raised, and what it changed."""

    value: object = None
    error: BaseException | None = None
    changed: tuple[str, ...] = ()

    def like(self, other):
        if self.error or other.error:
            return type(self.error) is type(other.error)
        return self.changed == other.changed and same(self.value, other.value)


@dataclass(frozen=True)
class Trial:
    """A case drawn, what is wanted of it, and what the answer did."""

    case: Case
    arguments: dict
    wanted: Wanted
    outcome: Outcome


def judge(exercise, answer, *, seed=0, hidden=False):
    """The verdict on ``answer``; with ``hidden`` it tells nothing of the numbers of a case."""
    if not callable(answer):
        message = f"`{exercise.function}` is {type(answer).__name__} here, not a function"
        return _verdict(exercise, "type", message)
    trials = list(_trials(exercise, answer, seed))
    fault = _first_fault(exercise, answer, trials, seed)
    if fault is None:
        return _verdict(exercise, "passed", f"{len(exercise.cases)} cases and every law agree")
    if fault["kind"] == "unfinished":
        return _verdict(exercise, **fault)
    guesses = _misconceptions(exercise, answer, trials, seed)
    fault["misconceptions"] = tuple(guess.name for guess in guesses)
    fault["hint"] = guesses[0].hint if guesses else ""
    if hidden:
        fault = _without_numbers(fault)
    return _verdict(exercise, **fault)


def passes(exercise, answer, *, seed=0):
    """Whether the verdict would be right, without looking for the mistake if it is not."""
    trials = list(_trials(exercise, answer, seed))
    return _first_fault(exercise, answer, trials, seed) is None


def observe(exercise, answer, arguments):
    """Call ``answer`` on a copy of the arguments and write down what happened."""
    mine = copy.deepcopy(arguments)
    bound = exercise.signature.bind(**mine)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            value = plain(answer(*bound.args, **bound.kwargs))
        except (Exception, SystemExit) as error:
            return Outcome(error=error)
    changed = tuple(
        name
        for name, before in arguments.items()
        if isinstance(before, np.ndarray) and not np.array_equal(before, mine[name], equal_nan=True)
    )
    return Outcome(value, changed=changed)


def _trials(exercise, answer, seed):
    for index, case in enumerate(exercise.cases):
        arguments = exercise.arguments(index, seed)
        outcome = observe(exercise, answer, arguments)
        yield Trial(case, arguments, wanted(exercise.reference, arguments), outcome)


def _first_fault(exercise, answer, trials, seed):
    """The first case that fails, the simplest since cases are written in that order; else a law."""
    for trial in trials:
        fault = _fault(exercise, answer, trial)
        if fault:
            if fault["kind"] == "value":
                fault["law"] = (_broken_law(exercise, answer, [trial], seed) or {}).get("law", "")
            return fault
    return _broken_law(exercise, answer, trials, seed)


def _broken_law(exercise, answer, trials, seed):
    for trial in trials:
        for law in exercise.laws:
            seen = _broken(exercise, answer, law, trial, seed)
            if seen:
                return {
                    "kind": "law",
                    "message": seen,
                    "law": law.sentence,
                    "case": trial.case.name,
                    "called_with": _in_words(trial.arguments),
                }
    return None


def _fault(exercise, answer, trial):
    outcome = trial.outcome
    tried = {"case": trial.case.name, "called_with": _in_words(trial.arguments)}
    if type(outcome.error) is NotImplementedError:
        message = f"`{exercise.function}` still raises NotImplementedError: write its body"
        return {"kind": "unfinished", "message": message}
    if outcome.error:
        return {
            "kind": "raised",
            "message": _error_in_words(exercise, answer, outcome.error),
            **tried,
        }
    found = difference(outcome.value, trial.wanted, exercise.parts)
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


def _broken(exercise, answer, law, trial, seed):
    def call(**named):
        outcome = observe(exercise, answer, named)
        if outcome.error:
            raise outcome.error
        return outcome.value

    try:
        with np.errstate(all="ignore"):
            rng, close = np.random.default_rng(seed), laws.within(trial.wanted.largest_slack)
            return law.broken_by(call, trial.arguments, rng, close)
    except Exception as error:
        return _error_in_words(exercise, answer, error)


def _misconceptions(exercise, answer, trials, seed):
    """The known mistakes that do the same as the answer on every case, told apart if possible."""
    remaining = [
        misconception
        for misconception in exercise.misconceptions
        if _agrees(exercise, misconception, trials)
    ]
    for extra in range(1, EXTRA_DRAWS + 1):
        if len(remaining) < 2:
            break
        more = list(_trials(exercise, answer, seed + 1000 * extra))
        remaining = [m for m in remaining if _agrees(exercise, m, more)] or remaining
    return remaining


def _agrees(exercise, misconception, trials):
    # Two functions that fail everywhere need not share a mistake: one value at least must agree.
    return any(trial.outcome.error is None for trial in trials) and all(
        trial.outcome.like(observe(exercise, misconception.answer, trial.arguments))
        for trial in trials
    )


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
    if hasattr(error, "told"):  # it happened in another process, which found the words
        return error.told
    what = f"{type(error).__name__}: {error}"
    own = getattr(getattr(answer, "__code__", None), "co_filename", None)
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == own]
    if not frames:
        return f"calling `{exercise.function}{exercise.signature}` failed with {what}"
    line = frames[-1].line or linecache.getline(own, frames[-1].lineno).strip()
    return f"line {frames[-1].lineno} of your code, `{line}`, raised {what}"


def _verdict(exercise, kind, message, **fields):
    return Verdict(
        exercise=exercise.name,
        title=exercise.heading,
        passed=kind == "passed",
        kind=kind,
        message=message,
        **fields,
    )
