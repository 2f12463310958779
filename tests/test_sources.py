"""The pages on the notes: every idea and every erratum has its place in the book."""

import re
import sys
from pathlib import Path

import pytest

from attnkit.exercises import CHAPTERS, all_exercises

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "_ext"))
import sources  # noqa: E402

FOLDER = ROOT / "chapters"
PAGE = (FOLDER / "sources.md").read_text(encoding="utf-8")
TEXTS = {name: (FOLDER / f"{name}.md").read_text(encoding="utf-8") for name in CHAPTERS}
IDEAS, ERRATA = 113, 52

CHAPTER = """\
(made-up-idea)=
## An idea
% concepts: 7, 12

```{code-cell} python
from attnkit import soft_attention as sa
from attnkit.demos import soft_attention as demos
from attnkit.hard_attention import hard_read
from attnkit.plots import soft_attention as plots
```

(made-up-details)=
### Its details
% concepts: 12

```{code-cell} python
---
mystnb:
  image:
    alt: "Text."
---
plots.hull(sa.softmax(scores))
hard_read(sa.softmax(scores), V)
```
```{code-cell} python
:tags: [hide-input]

demos.QueryInThePlane()
plots.hull(0)
```

## Without a label

```{code-cell} python
plots.temperature()
```

(erratum-e3)=
### E3: a title
*Printed:* this. *Better:* that. *Severity C*, for a reason.
"""


def test_a_section_has_what_its_own_cells_use():
    idea, details, erratum = sources.sections("made_up", CHAPTER)
    assert (idea.label, idea.concepts, idea.shown) == ("made-up-idea", {7, 12}, [])
    assert (details.label, details.concepts) == ("made-up-details", {12})
    assert details.functions == ["soft_attention.softmax", "hard_attention.hard_read"]
    assert details.shown == [("figure", "hull"), ("demo", "QueryInThePlane")]
    assert not erratum.concepts


def test_a_label_stands_before_the_first_cell_that_shows_the_thing():
    lines = sources.anchored(CHAPTER).split("\n")
    for label in ("made-up-details-hull", "made-up-details-queryintheplane"):
        assert lines.count(f"({label})=") == 1
        assert lines[lines.index(f"({label})=") + 1].startswith("```{code-cell}")
    assert [line for line in lines if "(made-up-details-" not in line] == CHAPTER.split("\n")


def test_an_erratum_is_read_with_its_rating():
    said = "*Printed:* this. *Better:* that. *Severity C*, for a reason."
    assert sources.errata(CHAPTER) == [(3, "a title", said, "C")]


def test_every_idea_of_the_notes_stands_on_the_page_once():
    rows = re.findall(r"^(\d+) \| (.*?) \| (.*\.)$", PAGE, re.M)
    assert sorted(int(number) for number, *_ in rows) == list(range(1, IDEAS + 1))
    assert {name for _, notes, _ in rows for name in notes.split(", ")} == {
        "textbook",
        "overview",
        "blog",
    }


def test_every_idea_is_taught_and_nothing_else_is_claimed():
    found = [s for name, text in TEXTS.items() for s in sources.sections(name, text)]
    taught = set().union(*(section.concepts for section in found))
    assert sorted(taught) == list(range(1, IDEAS + 1))
    labels = {section.label for section in found}
    assert not [e.name for e in all_exercises() if e.section[0] not in labels]


def test_all_errata_are_there_once():
    texts = [*TEXTS.values(), (FOLDER / "errata.md").read_text(encoding="utf-8")]
    numbers = [number for text in texts for number, *_ in sources.errata(text)]
    assert sorted(numbers) == list(range(1, ERRATA + 1))
    headings = [number for text in texts for number in re.findall(r"^### E(\d+):", text, re.M)]
    assert len(headings) == ERRATA  # none is left out because it is written otherwise


@pytest.fixture
def page(book):
    """The text of one page of the built book."""
    return lambda name: (book / "chapters" / f"{name}.html").read_text(encoding="utf-8")


def test_the_built_page_leads_to_sections_figures_demos_and_exercises(page):
    entries = re.split(r"<li>\s*<p><strong>(\d+)\.</strong>", page("sources"))[1:]
    ideas = dict(zip(entries[::2], entries[1::2], strict=True))
    assert len(ideas) == IDEAS
    own = {number: entry.split("</section>")[0] for number, entry in ideas.items()}
    assert not [number for number, entry in own.items() if 'class="std std-ref"' not in entry]
    for what in (">figure<", ">demo “Query in the plane”<", 'href="self_attention.html#exercise-'):
        assert what in page("sources"), what


def test_the_built_list_of_errata_is_in_order_and_counts(page):
    listed = re.findall(r">E(\d+)</span></a>: ", page("errata"))
    assert listed == [str(number) for number in range(1, ERRATA + 1)]
    rows = re.findall(r"<tr class=\"row.*?</tr>", page("errata"), re.S)
    cells = [re.findall(r"<t[dh][^>]*>(?:<p>)?(.*?)(?:</p>)?</t[dh]>", row, re.S) for row in rows]
    counts = {row[0]: int(row[2]) for row in cells[1:]}
    assert [*counts] == [*"ABCD", "all"]
    assert counts.pop("all") == sum(counts.values()) == ERRATA
