"""Grades the checks: right answers have to pass, wrong ones to fail, each under its own name."""

import textwrap
from dataclasses import asdict, dataclass, field
from functools import partial

import numpy as np

from attnkit.checking import generic, mutants
from attnkit.checking.judge import Paper, observe_all
from attnkit.notebooks import solution

# Cases are drawn from each of these seeds: a check has to hold for all of them.
SEEDS = (0, 1)


@dataclass
class Audit:
    """What became of the answers to one exercise; the lists name those that went wrong."""

    name: str
    right_accepted: int = 0
    right_refused: list[str] = field(default_factory=list)
    wrong_rejected: int = 0
    wrong_survived: list[str] = field(default_factory=list)
    # What a known mistake earns where the points are parted.
    partly: list[str] = field(default_factory=list)
    misnamed: list[str] = field(default_factory=list)
    indistinct: list[str] = field(default_factory=list)

    @property
    def ok(self):
        return not (self.right_refused or self.wrong_survived or self.misnamed or self.indistinct)

    def to_dict(self):
        return asdict(self)


@dataclass
class MutantAudit:
    """What became of the mutants of one exercise's solution."""

    name: str
    killed: int = 0
    equivalent: list[str] = field(default_factory=list)
    survived: list[str] = field(default_factory=list)
    # A reason that no surviving mutant needs is a mistake too.
    stale: list[str] = field(default_factory=list)

    @property
    def ok(self):
        return not (self.survived or self.stale)

    @property
    def kill_rate(self):
        return self.killed / (self.killed + len(self.survived))

    def to_dict(self):
        return asdict(self) | {"kill_rate": self.kill_rate}


def audit(exercise):
    """Try every right and wrong answer that is known for the exercise."""
    result = Audit(exercise.name)
    papers = [Paper(exercise, seed) for seed in SEEDS]
    right = [("the reference", exercise.reference), ("the solution", _compiled(exercise))]
    right += [(answer.name, answer.answer) for answer in exercise.right_answers]
    for name, answer in right:
        if all(paper.passes(answer) for paper in papers):
            result.right_accepted += 1
        else:
            result.right_refused.append(name)
    for name, answer in generic.wrong_answers(exercise):
        verdict = papers[0].judge(partial(observe_all, exercise, answer))
        # Not a point for what knows nothing of the exercise.
        _reject(result, name, exercise.right_anyway, verdict.earned > 0)
    for mistake in exercise.misconceptions:
        run = partial(observe_all, exercise, mistake.answer)
        verdicts = [paper.judge(run) for paper in papers]
        most = max(verdict.earned for verdict in verdicts)
        if 0 < most < exercise.points:
            result.partly.append(f"{mistake.name}: {most:g} of {exercise.points}")
        _reject(result, mistake.name, {}, any(verdict.passed for verdict in verdicts))
        for named in {verdict.misconceptions for verdict in verdicts}:
            if mistake.name not in named:
                result.misnamed.append(f"{mistake.name}: named as {', '.join(named) or 'nothing'}")
            elif len(named) > 1:
                result.indistinct.append(" = ".join(named))
    return result


def audit_mutants(exercise):
    """Change the solution in every small way; each change has to be noticed by the check."""
    result = MutantAudit(exercise.name)
    needed = set()
    paper = Paper(exercise, seed=0)
    for change, source in mutants.mutants(_source(exercise)):
        if not _mutant_passes(paper, source):
            result.killed += 1
        elif change in exercise.equivalent_mutants:
            needed.add(change)
            result.equivalent.append(f"{change}: {exercise.equivalent_mutants[change]}")
        else:
            result.survived.append(change)
    result.stale = [change for change in exercise.equivalent_mutants if change not in needed]
    return result


def _reject(result, name, right_anyway, passed):
    if not passed:
        result.wrong_rejected += 1
        if name in right_anyway:
            result.right_refused.append(f"{name}, which is right here")
    elif name not in right_anyway:
        result.wrong_survived.append(name)


def _source(exercise):
    body = textwrap.indent(solution(exercise), "    ")
    return f"def {exercise.function}{exercise.signature}:\n{body}"


def _compiled(exercise, source=None):
    namespace = {"np": np}
    exec(exercise.given, namespace)
    exec(source or _source(exercise), namespace)
    return namespace[exercise.function]


def _mutant_passes(paper, source):
    try:
        answer = _compiled(paper.exercise, source)
    except SyntaxError:
        return False
    return paper.passes(answer)
