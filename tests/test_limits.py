"""The page on limits: no mechanism of the book is left out."""

import re
from pathlib import Path

from attnkit.exercises import CHAPTERS

PAGE = Path(__file__).parents[1] / "chapters" / "limits.md"
# What has no mechanism of its own.
OTHERS = {"notation", "applications"}


def test_every_chapter_fills_a_slot():
    rows = re.findall(r"^\| \{ref\}`([\w-]+)`", PAGE.read_text(encoding="utf-8"), re.M)
    assert {name.replace("_", "-") for name in CHAPTERS if name not in OTHERS} <= set(rows)
