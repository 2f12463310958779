"""Turns what learners wrote into safe HTML, and fills the templates of the pages for a class.

Whatever comes from a learner is taken for hostile: it is shown as text, never as markup, a link,
a picture of another host or a control character.
"""

import base64
import binascii
import functools
import re
from dataclasses import dataclass

from jinja2 import Environment, PackageLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from attnkit.checking.verdict import marked

LONGEST = 5_000  # characters of a text that are shown
LARGEST = 500_000  # characters of a picture, as base64
PNG = b"\x89PNG\r\n\x1a\n"

ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-_])")
# Control characters, and those that turn the direction of what is read.
UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")

_markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
_markdown.disable(["image", "link", "autolink", "reference"])
_formatter = HtmlFormatter(nowrap=True)


@functools.cache
def _environment():
    environment = Environment(
        loader=PackageLoader("attnkit.grading"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number
    environment.filters["marked"] = lambda text: Markup(marked(text))
    environment.globals["code_colours"] = Markup(_code_colours())
    return environment


def fill(template, **values):
    """The page that a template makes of the values; every text among them is escaped."""
    return _environment().get_template(f"{template}.html").render(**values)


def number(value):
    """Points without a needless decimal point: 4 and 3.5, not 4.0."""
    return f"{value:.10g}"


@dataclass(frozen=True)
class Output:
    """Something a cell printed, showed or raised: a text, or the data of a picture."""

    text: str = ""
    picture: str = ""


def outputs(cell):
    """What a cell of the learner's put out, in order."""
    for output in cell.get("outputs", ()):
        kind, data = output.get("output_type"), output.get("data", {})
        if kind == "stream":
            yield Output(plain(output.get("text", "")))
        elif kind == "error":
            yield Output(plain(f"{output.get('ename')}: {output.get('evalue')}"))
        elif _is_picture(data.get("image/png")):
            yield Output(picture=re.sub(r"\s", "", data["image/png"]))
        elif "text/plain" in data:
            yield Output(plain(data["text/plain"]))


def plain(text):
    """A text without what a terminal would act on, cut if it is long."""
    text = "".join(text)  # a notebook may hold a list of lines
    shown = UNSEEN.sub("", ESCAPES.sub("", text[:LONGEST])).strip("\n")
    more = len(text) - LONGEST
    return f"{shown}\n… and {more:,} more characters" if more > 0 else shown


def code(source):
    """Python in colour."""
    return Markup(highlight(plain(source), PythonLexer(), _formatter))


def prose(text):
    """Markdown that can hold no markup of its own, no link and no picture."""
    return Markup(_markdown.render(plain(text)))


def _is_picture(data):
    if not isinstance(data, str) or len(data) > LARGEST:
        return False
    try:
        return base64.b64decode(re.sub(r"\s", "", data), validate=True).startswith(PNG)
    except (binascii.Error, ValueError):
        return False


def _code_colours():
    light, dark = (
        HtmlFormatter(style=f"a11y-high-contrast-{theme}").get_style_defs("pre")
        for theme in ("light", "dark")
    )
    return f"{light}\n@media screen and (prefers-color-scheme: dark) {{\n{dark}\n}}"
