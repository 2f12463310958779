"""What a check says: as data for programs, as HTML in a notebook, as text elsewhere."""

import re
import textwrap
from dataclasses import dataclass, field
from html import escape
from typing import ClassVar

import numpy as np

# Code, or emphasis at the edges of words.
MARKS = re.compile(r"`([^`]+)`|(?<![\w*])\*(\w[^*`]*)\*(?![\w*])")


@dataclass(frozen=True)
class Verdict:
    """The result of a check.

    ``kind`` is passed, unfinished, not allowed, raised, arguments changed, type, shape, dtype,
    value or law. ``earned`` are the points, of ``points``; ``groups`` says of each group of cases
    its name, its points and whether it is right, where the points are parted.
    ``misconceptions`` are the known mistakes that give the same output on every case, or else the
    one that does in the failing group; ``hint`` belongs to the first. ``called_with`` says the
    arguments of the case in words; it, ``given`` and ``wanted`` are left out when the case is
    hidden.
    """

    exercise: str
    title: str
    passed: bool
    kind: str
    message: str
    earned: float = 0
    points: float = 0
    groups: tuple[tuple[str, float, bool], ...] = ()
    misconceptions: tuple[str, ...] = ()
    hint: str = ""
    case: str = ""
    called_with: str = ""
    law: str = ""
    given: np.ndarray | None = field(default=None, repr=False)
    wanted: np.ndarray | None = field(default=None, repr=False)
    worst: tuple[int, ...] = ()

    MIME: ClassVar[str] = "application/vnd.attnkit.verdict+json"

    @property
    def state(self):
        if self.earned and not self.passed:
            return f"partly right, {self.earned:g} of {self.points:g} points"
        return {
            "passed": "right",
            "unfinished": "not filled in yet",
            "not allowed": "please write it yourself",
        }.get(self.kind, "not yet")

    @property
    def headline(self):
        return f"{self.title}: {self.state}"

    @property
    def diagnosis(self):
        """The mistake's name in one sentence, or nothing if it is none we know."""
        if not self.misconceptions:
            return ""
        mistakes = ", or that ".join(self.misconceptions)
        if self.kind == "raised":
            return f"Your function fails where one fails that {mistakes}; perhaps yours does too"
        return f"Your output is that of a function that {mistakes}"

    def to_dict(self):
        """Everything as plain data, ready for JSON."""
        return {
            "exercise": self.exercise,
            "title": self.title,
            "passed": self.passed,
            "kind": self.kind,
            "message": self.message,
            "earned": self.earned,
            "points": self.points,
            "groups": [list(group) for group in self.groups],
            "misconceptions": list(self.misconceptions),
            "hint": self.hint,
            "case": self.case,
            "called_with": self.called_with,
            "law": self.law,
            "given": _plain(self.given),
            "wanted": _plain(self.wanted),
            "worst": list(self.worst),
        }

    @classmethod
    def from_dict(cls, data):
        """The verdict that ``to_dict`` wrote down."""
        lists = {name: tuple(data[name]) for name in ("misconceptions", "worst")}
        lists["groups"] = tuple(tuple(group) for group in data["groups"])
        arrays = {
            name: None if data[name] is None else np.array(data[name], dtype=float)
            for name in ("given", "wanted")
        }
        return cls(**{**data, **lists, **arrays})

    def _sentences(self):
        if self.groups and not self.passed:
            yield (
                "Parts",
                ", ".join(
                    f"{'✓' if right else '✗'} {name} ({points:g})"
                    for name, points, right in self.groups
                ),
            )
        if self.case:
            yield "Case", self.case + (f": {self.called_with}" if self.called_with else "")
        yield "Seen", self.message
        if self.law:
            yield "Broken law", self.law
        if self.diagnosis:
            yield "Mistake", self.diagnosis + "."
        if self.hint:
            yield "Hint", self.hint

    def __str__(self):
        lines = [("✓ " if self.passed else "✗ ") + self.headline]
        for label, sentence in self._sentences():
            lines += textwrap.wrap(
                sentence, 88, initial_indent=f"  {label + ':':12}", subsequent_indent=" " * 14
            )
        for label, array in (("Wanted", self.wanted), ("Given", self.given)):
            if array is not None:
                shown = np.array2string(array, precision=4, suppress_small=True, threshold=40)
                lines += [f"  {label}:", textwrap.indent(shown, "    ")]
        return "\n".join(lines)

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/html": self._html(), "text/plain": str(self), self.MIME: self.to_dict()}

    def _html(self):
        rows = "".join(
            f"<div><b>{label}</b>: {marked(sentence)}</div>"
            for label, sentence in self._sentences()
        )
        arrays = "".join(
            _table(label, array, self.worst)
            for label, array in (("Wanted", self.wanted), ("Given", self.given))
            if array is not None and array.size
        )
        mark, colour = ("✓", "#2f8f5b") if self.passed else ("✗", "#c2541b")
        return (
            f'<section aria-label="Verdict: {escape(self.headline)}" '
            f'style="border-left:4px solid {colour};padding:.4em 0 .4em .8em;margin:.4em 0">'
            f"<div><b>{mark} {escape(self.headline)}</b></div>{rows}"
            f'<div style="display:flex;flex-wrap:wrap;gap:1.5em">{arrays}</div></section>'
        )


class CheckFailed(AssertionError):
    """Raised by a check in a notebook, so that nbgrader gives no points; shown in one line."""

    def __init__(self, verdict):
        self.verdict = verdict
        reason = verdict.diagnosis or verdict.message
        super().__init__(f"{verdict.headline}. {reason}")

    def _render_traceback_(self):
        return [f"CheckFailed: {self}"]


def marked(text):
    """A text as HTML, with its `code` and its *emphasis*."""
    return MARKS.sub(lambda m: f"<code>{m[1]}</code>" if m[1] else f"<em>{m[2]}</em>", escape(text))


def _plain(array):
    """Nested lists that JSON can hold: it has no NaN and no infinity, so these become words."""
    if array is None:
        return None
    if array.ndim:
        return [_plain(member) for member in array]
    return float(array) if np.isfinite(array) else str(array)


def _slice(array, worst):
    """The matrix that holds the worst element, its place in the array, and the element's in it."""
    front, focus = worst[: array.ndim - 2], worst[max(array.ndim - 2, 0) :]
    place = f", part {list(front)}" if front else ""
    if array.ndim > 2 and not front:
        front, place = (0,) * (array.ndim - 2), ", its first part"
    return np.atleast_2d(array[front]), place, (0, *focus) if array.ndim == 1 else focus


def _table(label, array, worst):
    """A matrix as a small picture: the larger a number, the darker its cell."""
    matrix, place, focus = _slice(array, worst)
    rows, columns = 6, 8
    largest = np.max(np.abs(matrix[np.isfinite(matrix)]), initial=1e-300)
    body = "".join(
        "<tr>"
        + "".join(_cell(x, (i, j) == focus, largest) for j, x in enumerate(row[:columns]))
        + ("<td>…</td>" if len(row) > columns else "")
        + "</tr>"
        for i, row in enumerate(matrix[:rows])
    )
    more = f", the first {rows} rows" if len(matrix) > rows else ""
    caption = f"{label}, shape {array.shape}{place}{more}"
    head = f'<caption style="color:inherit">{caption}</caption>'
    return f"<table>{head}<tbody>{body}</tbody></table>"


def _cell(value, is_worst, largest):
    strength = min(abs(value) / largest, 1) if np.isfinite(value) else 0
    number = f"{value:.4g}"
    if is_worst:
        number = f"<strong><u>{number}</u></strong>"
    return (
        f'<td style="padding:.1em .5em;text-align:right;background:rgba(128,128,128,'
        f'{0.45 * strength:.2f})">{number}</td>'
    )
