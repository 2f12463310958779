"""Checks that explain: what an exercise is, the laws, the comparison, the judge, the verdict."""

from attnkit.checking.exercise import Exercise, Question, exercise
from attnkit.checking.judge import judge
from attnkit.checking.verdict import CheckFailed, Verdict

__all__ = ["CheckFailed", "Exercise", "Question", "Verdict", "exercise", "judge"]
