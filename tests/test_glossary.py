"""The glossary: each term with its Chinese, and a link from the first use of a term on a page."""

import re
import sys
from pathlib import Path

import pytest
from docutils import nodes

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "_ext"))
import glossary_links  # noqa: E402

TEXT = (ROOT / "chapters" / "glossary.md").read_text(encoding="utf-8")
ENTRY = re.compile(r"((?:^\w.*\n)+)  (\S.*)\n\n  (.*)", re.M)


def test_every_entry_has_a_sentence_and_its_chinese():
    entries = ENTRY.findall(TEXT)
    blocks = re.findall(r"^:::\{glossary\}\n(.*?)^:::", TEXT, re.M | re.S)
    assert len(entries) == sum(len(re.split(r"\n\n(?=\w)", block)) for block in blocks) > 100
    for names, sentence, chinese in entries:
        assert sentence.endswith("."), names
        roles = r"\{hans\}`[^`]*[\u4e00-\u9fffA-Za-z][^`]*`( · \{hant\}`[^`]*`)?"
        assert re.fullmatch(roles, chinese), names


def test_no_term_stands_twice():
    terms = [
        name.lower() for names, *_ in ENTRY.findall(TEXT) for name in names.split("\n") if name
    ]
    assert len(terms) == len(set(terms))


def linked(text, stressed):
    anchors = {"hard attention": "a", "attention": "b", "key": "c"}
    pattern = glossary_links.any_of(anchors)
    parts = glossary_links.split(text, pattern, anchors, stressed, "glossary.html")
    assert not parts or "".join(part.astext() for part in parts) == text
    return [(p.astext(), p["refuri"]) for p in parts if isinstance(p, nodes.reference)]


def test_the_first_use_is_linked_and_the_longest_term_wins():
    found = linked("Hard attention, and again hard attention.", stressed=False)
    assert found == [("Hard attention", "glossary.html#a")]


@pytest.mark.parametrize(("stressed", "count"), [(True, 1), (False, 0)])
def test_a_single_word_is_a_term_only_where_it_is_stressed(stressed, count):
    assert len(linked("keys", stressed)) == count


@pytest.mark.parametrize(
    "text",
    ["monkey", "keyboard", "multi-key", "key-value", "local attention", "very hard attention"],
)
def test_part_of_a_word_or_of_another_term_is_no_term(text):
    found = linked(text, stressed=True)
    assert [name for name, _ in found] == (["hard attention"] if "hard" in text else [])


def test_pages_lead_to_entries_that_are_there_once_each(book):
    glossary = (book / "chapters" / "glossary.html").read_text(encoding="utf-8")
    entries = set(re.findall(r'<dt id="([^"]+)"', glossary))
    assert '<span lang="zh-Hans">' in glossary
    for path in sorted((book / "chapters").glob("*.html")):
        page = path.read_text(encoding="utf-8")
        targets = re.findall(r'<a class="[^"]*\bterm\b[^"]*" href="[^#"]*#([^"]+)"', page)
        assert set(targets) <= entries, path
        assert len(targets) == len(set(targets)), path
        assert not re.search(r"<(h\d|pre|code)[^>]*>[^<]*<a class=\"[^\"]*\bterm\b", page), path
    assert len(targets) > 3  # of soft_attention, the last
