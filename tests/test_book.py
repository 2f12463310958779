"""The built pages: nothing from elsewhere, math and figures as they should be, no dead link."""

import os
import re
import subprocess
import sys
from functools import cached_property
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[1]
# What an attribute loads (a link a reader may follow is not loaded).
LOADING = {("link", "href"), ("img", "src"), ("script", "src"), ("source", "src"), ("use", "href")}


class Page(HTMLParser):
    """The elements of a page, in order."""

    def __init__(self, path):
        super().__init__()
        self.elements = []
        self.path = path
        self.text = path.read_text(encoding="utf-8")
        self.feed(self.text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    @cached_property
    def ids(self):
        return {attrs["id"] for _, attrs in self.elements if "id" in attrs}


@pytest.fixture(scope="module")
def pages(book):
    found = {path: Page(path) for path in book.rglob("*.html") if "_static" not in path.parts}
    assert book / "index.html" in found
    return found


def elsewhere(address):
    return bool(urlsplit(address).netloc)


def test_pages_load_nothing_from_another_host(pages):
    loaded = [
        (path.name, attrs[attribute])
        for path, page in pages.items()
        for tag, attrs in page.elements
        for attribute in ("href", "src")
        if (tag, attribute) in LOADING and elsewhere(attrs.get(attribute, ""))
    ]
    assert loaded == []


def test_styles_load_nothing_from_another_host_and_what_they_load_is_there(book):
    missing = []
    for path in book.rglob("*.css"):
        for address in re.findall(r"url\(['\"]?([^'\")]+)", path.read_text(encoding="utf-8")):
            if address.startswith(("data:", "#")):
                continue
            target = path.parent / urlsplit(address).path
            if elsewhere(address) or not target.exists():
                missing.append((path.name, address))
    assert missing == []


def test_math_is_rendered_and_needs_no_script(pages):
    mathjax = re.compile(r"<script[^>]*mathjax|window\.MathJax", re.IGNORECASE)
    assert not [path for path, page in pages.items() if mathjax.search(page.text)]
    assert not [path for path, page in pages.items() if "katex-error" in page.text]
    bare = [
        path.name
        for path, page in pages.items()
        if 'class="math' in page.text and 'class="katex"' not in page.text
    ]
    assert bare == []
    assert any('class="katex"' in page.text for page in pages.values())


def test_every_figure_says_what_it_shows(pages):
    figures = [
        (path.name, attrs.get("aria-label" if tag == "svg" else "alt", ""))
        for path, page in pages.items()
        for tag, attrs in page.elements
        if tag == "img" or (tag == "svg" and attrs.get("class") == "figure")
    ]
    assert [name for name, label in figures if not label.strip() or "_images/" in label] == []


def test_ids_are_used_once(pages):
    for path, page in pages.items():
        ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
        assert sorted(ids) == sorted(set(ids)), path.name


def test_links_within_the_book_lead_somewhere(pages, book):
    dead = []
    for path, page in pages.items():
        for tag, attrs in page.elements:
            link = urlsplit(attrs.get("href", ""))
            if tag != "a" or link.scheme or link.netloc:
                continue
            target = (path.parent / unquote(link.path)).resolve() if link.path else path
            if target.is_dir():
                target /= "index.html"
            there = target in pages if target.suffix == ".html" else target.exists()
            if there and link.fragment and target in pages:
                there = unquote(link.fragment) in pages[target].ids
            if not there:
                dead.append((path.name, attrs["href"]))
    assert dead == []


def test_each_page_describes_itself(pages):
    for path, page in pages.items():
        said = [
            a["content"] for t, a in page.elements if t == "meta" and a.get("name") == "description"
        ]
        assert len(said) == 1, path.name
        assert 0 < len(said[0]) <= 160, path.name


def test_the_build_refuses_wrong_math_and_a_figure_without_words(tmp_path):
    page = "# Page\n\n{math}`\\nosuchcommand`\n\n![](dot.svg)\n\n![a dot](dot.svg)\n"
    (tmp_path / "index.md").write_text(page)
    (tmp_path / "dot.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    extensions = "extensions=myst_parser,katex_math,figures"
    built = subprocess.run(
        [sys.executable, "-m", "sphinx", "-CW", "--keep-going", "-D", extensions, ".", "out"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "_ext")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert built.returncode != 0
    assert "Undefined control sequence: \\nosuchcommand" in built.stderr
    assert built.stderr.count("a figure without alternative text") == 1


def test_what_a_page_cites_anew_is_in_the_bibliography(tmp_path):
    folder = tmp_path / "chapters"
    folder.mkdir()
    (folder / "bibliography.md").write_text("# Papers\n\n```{bibliography}\n```\n")
    (tmp_path / "conf.py").write_text(
        "extensions = ['myst_parser', 'sphinxcontrib.bibtex', 'page']\n"
        f"bibtex_bibfiles = ['{ROOT}/chapters/references.bib']\n"
    )
    contents = "```{toctree}\nchapters/bibliography\n```\n"
    for paper in ("nothing", "{cite:t}`vaswani2017attention`"):
        (tmp_path / "index.md").write_text(f"# Page\n\nIt cites {paper}.\n\n{contents}")
        subprocess.run(
            [sys.executable, "-m", "sphinx", ".", "out"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT / "_ext")},
            capture_output=True,
            timeout=120,
            check=True,
        )
    page = (tmp_path / "out/index.html").read_text()
    (target,) = re.findall(r'bibliography\.html#([\w-]+)"', page)
    assert f'id="{target}"' in (tmp_path / "out/chapters/bibliography.html").read_text()
