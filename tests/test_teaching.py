"""The pages for teachers: what they say of chapters, exercises and mistakes is so."""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from attnkit.exercises import CHAPTERS, all_exercises

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "_ext"))
import teaching  # noqa: E402

HEADS = ["The one thing", "Open with", "At the board", "Where they stumble", "Ask"]
HEADS.append("If time is short")
BY_NUMBER = {exercise.number: exercise for exercise in all_exercises()}


@pytest.fixture(scope="module")
def notes():
    """The note on each chapter, by its label."""
    text = (ROOT / "teaching" / "lessons.md").read_text(encoding="utf-8")
    parts = re.split(r"^\(lesson-([\w-]+)\)=\n", text, flags=re.M)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


class Text(HTMLParser):
    """The text of a page, and the rows of its tables."""

    def __init__(self, path):
        super().__init__()
        self.text, self.rows, self.in_cell = "", [], False
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])
        if tag == "td":
            self.rows[-1].append("")
        self.in_cell = self.in_cell or tag == "td"

    def handle_endtag(self, tag):
        self.in_cell = self.in_cell and tag != "td"

    def handle_data(self, data):
        self.text += data
        if self.in_cell:
            self.rows[-1][-1] += data.strip("\n")


def in_one_line(text):
    """Without the differences that typesetting makes: quotes, dashes, dots and breaks of lines."""
    for printed, typed in {"“": '"', "”": '"', "‘": "'", "’": "'", "…": "...", "–": "--"}.items():
        text = text.replace(printed, typed)
    return " ".join(text.split())


def test_each_chapter_has_a_note_in_its_order(notes):
    assert list(notes) == [chapter.replace("_", "-") for chapter in CHAPTERS]
    for chapter, note in zip(CHAPTERS, notes.values(), strict=True):
        text = (ROOT / "chapters" / f"{chapter}.md").read_text(encoding="utf-8")
        title = re.search(r"^# (.*)$", text, re.M)[1]
        assert note.startswith(f"## {title}\n")
        assert re.findall(r"^\*\*(.+?)\.\*\* ", note, re.M) == HEADS


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_mistakes_of_a_note_are_known_to_the_checks(notes, chapter):
    note = notes[chapter.replace("_", "-")]
    stumble = re.search(r"^\*\*Where they stumble\.\*\* (.*)$", note, re.M)[1]
    named = re.findall(r"(?<!\*)\*([^*]+)\*(?!\*)", stumble)
    exercises = all_exercises([chapter])
    known = {m.name.replace("`", ""): e.number for e in exercises for m in e.misconceptions}
    assert len(named) >= 2
    for name in named:
        assert known[name.replace("`", "").rstrip(".")] in stumble


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_homework_of_a_note_is_the_chapters_own(notes, chapter):
    note = notes[chapter.replace("_", "-")]
    numbers = set(re.findall(r"\b\d+\.\d\b", note.split("Homework")[1]))
    own = {exercise.number for exercise in all_exercises([chapter])}
    assert numbers
    assert numbers <= own


def test_every_mistake_and_its_hint_stand_on_the_page(book):
    page = Text(book / "teaching" / "mistakes.html")
    text = in_one_line(page.text)
    plain = str.maketrans("", "", "`")
    for exercise in all_exercises():
        for mistake in exercise.misconceptions:
            hint = re.sub(r"(?<![\w*])\*(\w[^*`]*)\*(?![\w*])", r"\1", mistake.hint)
            for words in (mistake.name, hint):
                assert in_one_line(words.translate(plain)) in text


def test_the_tables_of_minutes_and_points_add_up(book):
    rows = Text(book / "teaching" / "course.html").rows
    exercises = BY_NUMBER.values()
    (total,) = (row for row in rows if row[:1] == ["all"])
    assert total[3:6] == [
        str(len(exercises)),
        str(sum(exercise.minutes for exercise in exercises)),
        str(sum(exercise.points for exercise in exercises)),
    ]
    chapters = rows[rows.index(total) - len(CHAPTERS) : rows.index(total)]
    assert [sum(int(row[column]) for row in chapters) for column in (2, 4, 5, 6)] == [
        int(total[column]) for column in (2, 4, 5, 6)
    ]
    meetings = [row for row in rows[rows.index(total) + 1 :] if len(row) == 7]
    assert len(meetings) > 12
    for _, _, _, _, numbers, minutes, points in meetings:
        set_ = [BY_NUMBER[number] for number in numbers.split(", ")]
        assert int(minutes) == sum(exercise.minutes for exercise in set_)
        assert int(points) == sum(exercise.points for exercise in set_)


def test_a_chapter_comes_after_those_it_needs(book):
    rows = [row for row in Text(book / "teaching" / "course.html").rows if len(row) == 7]
    numbers = [row[0].partition(":")[0] for row in rows[: len(CHAPTERS)]]
    assert numbers == [str(number) for number in range(len(CHAPTERS))]
    for number, row in zip(numbers, rows, strict=False):
        needed = re.findall(r"\d+", row[1])
        assert all(int(other) < int(number) for other in needed)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("exchanges W_q and W_k", r"exchanges W\_q and W\_k"),
        ("reads `W_q` as *rows*", r"reads `W_q` as *rows*"),
        ("beta * x, or a*b, below [0, 1]", r"beta * x, or a\*b, below \[0, 1]"),
        ("costs $5 <b>", r"costs \$5 \<b>"),
    ],
)
def test_what_is_no_markup_is_not_taken_for_it(said, shown):
    assert teaching.literal(said) == shown
