"""Checks that explain: what an exercise is, the laws, the comparison, the judge, the verdict."""

from attnkit.checking.exercise import (
    RULES,
    Exercise,
    Question,
    exercise,
    in_single_precision,
)
from attnkit.checking.judge import judge
from attnkit.checking.verdict import CheckFailed, Verdict

__all__ = [
    "RULES",
    "CheckFailed",
    "Exercise",
    "Question",
    "Verdict",
    "exercise",
    "in_single_precision",
    "judge",
]
