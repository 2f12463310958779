"""The text of the chapters: what has to be there is there, and no number is typed by hand."""

import re
from pathlib import Path

import pytest

from attnkit.exercises import CHAPTERS, all_exercises

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "chapters"
PAGES = [
    ROOT / "index.md",
    *sorted(FOLDER.glob("[!_]*.md")),
    *sorted((ROOT / "teaching").glob("*.md")),
]
CELL = re.compile(r"^```\{code-cell\} python\n(---\n.*?^---\n)?(.*?)^```$", re.M | re.S)

# Of the inventory of the notes' ideas, those that the chapter has to place.
CONCEPTS = {
    "cognition": (*range(1, 16), 104, 109, 112),
    "seq2seq": (*range(19, 32), 78, 97, 103, 110),
    "soft_attention": (16, 18, *range(32, 53), 105, 106),
    "hard_attention": (36, *range(53, 58), 96, 100),
    "key_value_attention": (3, 5, *range(48, 51), *range(58, 63), 99),
    "multi_head_attention": range(63, 69),
    "structured_attention": (34, 69, 98),
    "pointer_network": (*range(70, 78), 107),
    "self_attention": (*range(78, 94), 108, 111, 113),
    "transformer": (52, 87, 94, 95, 113),
    "applications": (17, 18, 19, 22, 31, 37, *range(95, 104)),
}
ERRATA = {
    "cognition": (33, 34, 35),
    "seq2seq": (8, 9, 10, 11, 12, 13, 49, 52),
    "soft_attention": (15, 17, 18, 19, 20, 22, 39, 44, 47, 48),
    "hard_attention": (21,),
    "key_value_attention": (14,),
    "multi_head_attention": (27, 28),
    "structured_attention": (29,),
    "pointer_network": (23, 24, 25, 26, 50),
    "self_attention": (1, 2, 3, 4, 5, 6, 7, 16, 30, 31, 32, 40, 41, 46, 51),
    "transformer": (38, 45),
    "applications": (36, 37),
}

pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


def prose(text):
    """The text without front matter, cells, code, math, roles, comments and addresses."""
    text = re.sub(r"\A---\n.*?^---\n", "", text, flags=re.M | re.S)
    text = re.sub(r"^(```|\$\$).*?^\1", "", text, flags=re.M | re.S)
    text = re.sub(r"^%.*$", "", text, flags=re.M)
    text = re.sub(r"\{[\w:]+\}`[^`]*`", "", text)
    return re.sub(r"`[^`\n]*`|\$[^$\n]*\$|https?://\S+", "", text)


@pytest.mark.parametrize("chapter", CONCEPTS)
def test_every_concept_has_its_place_under_a_labelled_heading(chapter):
    text = (FOLDER / f"{chapter}.md").read_text(encoding="utf-8")
    comments = re.findall(r"^% concepts: (.*)$", text, re.M)
    placed = re.findall(r"^\([\w-]+\)=\n##+ .*\n% concepts: (.*)$", text, re.M)
    assert placed == comments
    found = {int(number) for comment in placed for number in comment.split(",")}
    assert not set(CONCEPTS[chapter]) - found


@pytest.mark.parametrize("chapter", ERRATA)
def test_every_erratum_is_printed_corrected_rated_and_run(chapter):
    text = (FOLDER / f"{chapter}.md").read_text(encoding="utf-8")
    for number in ERRATA[chapter]:
        section = re.search(
            rf"^\(erratum-e{number}\)=\n### E{number}: .*?(?=^\([\w-]+\)=|\Z)", text, re.M | re.S
        )
        assert section, f"E{number} has no section"
        for part in ("*Printed:*", "*Better:*", "*Severity ", "{code-cell}"):
            assert part in section[0], f"E{number} lacks {part}"


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_exercises_stand_in_their_order(chapter):
    text = (FOLDER / f"{chapter}.md").read_text(encoding="utf-8")
    shown = re.findall(r"^```\{graded-exercise\} (\S+)$", text, re.M)
    assert shown == [exercise.name for exercise in all_exercises([chapter])]


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_landing_page_counts_the_exercises(chapter):
    text = (ROOT / "index.md").read_text(encoding="utf-8")
    label = chapter.replace("_", "-")
    row = re.search(rf"^\| \{{ref\}}`{label}` \| .*\? \| \d+ \| (\d+) \|$", text, re.M)
    assert row, "no row"
    assert int(row[1]) == len(all_exercises([chapter]))


@pages
def test_a_figure_says_what_it_shows(page):
    for head, code in CELL.findall(page.read_text(encoding="utf-8")):
        if re.search(r"^plots\.", code, re.M):
            alt = re.search(r'alt: "(.*)"', head)
            assert alt, f"no alternative text: {code}"
            assert len(alt[1]) > 80, f"says too little: {alt[1]}"
            # Words, not numbers that another run could change; "walk 1" is a name.
            assert not re.search(r"\d\.\d|\d\d", alt[1])


@pages
def test_no_decimal_number_is_typed(page):
    exercises = {exercise.number for exercise in all_exercises()}
    typed = set(re.findall(r"\d+[.,]\d+", prose(page.read_text(encoding="utf-8"))))
    assert not typed - exercises


@pages
def test_every_citation_is_in_the_bibliography(page):
    bibliography = (FOLDER / "references.bib").read_text(encoding="utf-8")
    known = set(re.findall(r"^@\w+\{([^,]+),", bibliography, re.M))
    cited = re.findall(r"\{cite:\w\}`([^`]+)`", page.read_text(encoding="utf-8"))
    keys = {key.strip() for group in cited for key in group.split(",")}
    assert not keys - known


def test_every_entry_of_the_bibliography_is_cited():
    bibliography = (FOLDER / "references.bib").read_text(encoding="utf-8")
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    cited = ",".join(re.findall(r"\{cite:\w\}`([^`]+)`", text)).replace(" ", "").split(",")
    assert not set(re.findall(r"^@\w+\{([^,]+),", bibliography, re.M)) - set(cited)


@pages
def test_every_number_of_the_prose_is_glued(page):
    text = page.read_text(encoding="utf-8")
    used = set(re.findall(r"\{glue:text\}`([\w-]+)", text))
    names = re.findall(r'glue\(\s*f?"([^"]+)"', text)
    made = [re.compile(re.sub(r"\{.*?\}", ".+", name)) for name in names]
    assert not [name for name in used if not any(m.fullmatch(name) for m in made)]
    assert not [m.pattern for m in made if not any(map(m.fullmatch, used))]


def test_chapters_hold_no_output():
    assert not list(FOLDER.rglob("*.ipynb"))
