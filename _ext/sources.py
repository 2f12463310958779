"""Where the book treats what the notes say: ``{concepts}`` and ``{errata}``, read off the chapters.

A section says under its heading which ideas of the notes it teaches (``% concepts: 12, 13``); what
it has to show for them, its cells say. An erratum stands in a chapter, beside the cell that runs
it; here all are gathered in their order.
"""

import ast
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from exercise import identifier
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from attnkit.exercises import CHAPTERS, all_exercises
from attnkit.notebooks import TITLES

CELL = re.compile(
    r"^```\{code-cell\} python\n(?:---\n.*?^---\n|(?::[^\n]*\n)*)(.*?)^```$", re.M | re.S
)
SECTION = re.compile(
    r"^\(([\w-]+)\)=\n##+ [^\n]*\n(?:% concepts: ([^\n]*)\n)?(.*?)(?=^(?:\([\w-]+\)=\n)?##+ |\Z)",
    re.M | re.S,
)
ERRATUM = re.compile(
    r"^\(erratum-e(\d+)\)=\n### E\1: (.*)\n(\*Printed:\* .*\*Severity ([A-D])\b.*)$", re.M
)
SHOWN = re.compile(r"attnkit\.(plots|demos)\.(\w+)\.(\w+)")
KINDS = {"plots": "figure", "demos": "demo"}
logger = logging.getLogger(__name__)


@dataclass
class Section:
    """A part of a chapter: the ideas it teaches, and what its cells use."""

    chapter: str
    label: str
    concepts: set
    functions: list
    shown: list  # (figure or demo, its name)


def names(code):
    """What each name that some code imports stands for, with all dots."""
    found = {}
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom):
            found |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
    return found


def used(code, known):
    """The imported things that some code uses, each once, in their order."""
    places = {}
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            name = f"{known.get(node.value.id)}.{node.attr}"
        elif isinstance(node, ast.Name):
            name = str(known.get(node.id))
        else:
            continue
        places.setdefault(name, (node.lineno, node.col_offset))
    return sorted(places, key=places.get)


def sections(chapter, text):
    """The labelled sections of a chapter, each up to the next heading."""
    known = names("\n".join(CELL.findall(text)))
    for label, concepts, body in SECTION.findall(text):
        code = used("\n".join(CELL.findall(body)), known)
        yield Section(
            chapter,
            label,
            {int(number) for number in concepts.split(",") if number.strip()},
            [n.removeprefix("attnkit.") for n in code if of_chapter(n)],
            [(KINDS[found[1]], found[3]) for found in map(SHOWN.fullmatch, code) if found],
        )


def of_chapter(name):
    """Whether it is a function, not a constant, of a chapter's own module."""
    parts = name.split(".")
    return len(parts) == 3 and parts[1] in CHAPTERS and parts[2].islower()


def anchor(section, name):
    """The label of the place where a section first shows a figure or a demo."""
    return f"{section}-{name.lower().replace('_', '-')}"


def anchored(text):
    """A chapter's text with a label before each figure and demo."""
    known, made = names("\n".join(CELL.findall(text))), set()

    def with_labels(section):
        def with_label(cell):
            shown = [found[3] for found in map(SHOWN.fullmatch, used(cell[1], known)) if found]
            new = [label for n in shown if (label := anchor(section[1], n)) not in made]
            made.update(new)
            return "".join(f"({label})=\n" for label in new) + cell[0]

        return CELL.sub(with_label, section[0])

    return SECTION.sub(with_labels, text)


def in_words(name):
    """Of ``QueryInThePlane`` the words."""
    return re.sub(r"(?<!^)(?=[A-Z])", " ", name).capitalize()


def errata(text):
    """The number, the title, the text and the severity of each erratum."""
    return [(int(n), title, said, rating) for n, title, said, rating in ERRATUM.findall(text)]


class Written(SphinxDirective):
    """Writes a text of its own from what it is given, a line each: ``one | another``."""

    has_content = True

    def run(self):
        box = nodes.container(classes=[self.name])
        lines = self.lines([line.split(" | ") for line in self.content])
        self.state.nested_parse(StringList(list(lines), self.env.docname), 0, box)
        return [box]


class FromChapters(Written):
    """Reads the text of all chapters."""

    def chapters(self):
        """The name and the text of each chapter."""
        for chapter in CHAPTERS:
            path = Path(self.env.srcdir, "chapters", f"{chapter}.md")
            self.env.note_dependency(str(path))
            yield chapter, path.read_text(encoding="utf-8")


class Concepts(FromChapters):
    """``number | notes | idea``, a line each: where the book teaches it."""

    def lines(self, rows):
        found = [section for name, text in self.chapters() for section in sections(name, text)]
        for number, notes, idea in rows:
            yield f"- **{number}.** {idea} *({notes})*"
            teaching = [section for section in found if int(number) in section.concepts]
            if not teaching:
                logger.warning("no section teaches idea %s", number, location=self.get_location())
            for chapter in dict.fromkeys(section.chapter for section in teaching):
                here = [self.place(s) for s in teaching if s.chapter == chapter]
                yield f"  - {{doc}}`{TITLES[chapter]} <{chapter}>`: {'; '.join(here)}"

    def place(self, section):
        """A section, and what it has."""
        own = f"{section.chapter}."
        has = [f"`{name.removeprefix(own)}`" for name in section.functions]
        for kind, name in section.shown:
            what = kind if kind == "figure" else f"demo “{in_words(name)}”"
            has.append(f"{{ref}}`{what} <{anchor(section.label, name)}>`")
        for exercise in all_exercises():
            if exercise.section[0] == section.label:
                page = f"{exercise.chapter}.html#{identifier(exercise)}"
                has.append(f'<a href="{page}">exercise {exercise.number}</a>')
        return f"{{ref}}`{section.label}`" + (f" ({', '.join(has)})" if has else "")


class Errata(FromChapters):
    """``letter | meaning``, a line each: how many there are; then all errata, in their order."""

    def lines(self, rows):
        texts = [text for _, text in self.chapters()]
        texts.append(Path(self.env.doc2path(self.env.docname)).read_text(encoding="utf-8"))
        found = sorted(erratum for text in texts for erratum in errata(text))
        count = Counter(rating for *_, rating in found)
        yield from ("| severity | meaning | how many |", "| --- | --- | --- |")
        for letter, meaning in rows:
            yield f"| {letter} | {meaning} | {count[letter]} |"
        yield from (f"| all | | {len(found)} |", "")
        for number, title, said, _ in found:
            yield f"- **{{ref}}`E{number} <erratum-e{number}>`: {title}.** {said}"


def add_anchors(app, docname, source):
    """A chapter's figures and demos can be linked."""
    folder, _, chapter = docname.rpartition("/")
    if folder == "chapters" and chapter in CHAPTERS:
        source[0] = anchored(source[0])


def setup(app):
    """Register the directives and the hook with Sphinx."""
    app.add_directive("concepts", Concepts)
    app.add_directive("errata", Errata)
    app.connect("source-read", add_anchors)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
