"""Leads from the first use of a term on a page to the glossary, and marks Chinese as Chinese.

A term of several words is linked where it first stands in the text. A single word may be an
everyday word as well ("the key idea"): it is linked where the text stresses it and no other word
with it, as a new term.
"""

import re
from html import escape

from docutils import nodes

PAGE = "chapters/glossary"
PLACES = (nodes.paragraph, nodes.term)
# In these a word is no prose, or leads somewhere already.
CLOSED = (nodes.reference, nodes.literal, nodes.math, nodes.title, nodes.raw, nodes.footnote)


def chinese(tag):
    """A role for text in the script of this language tag."""

    def role(name, rawtext, text, lineno, inliner, options=None, content=None):
        return [nodes.raw("", f'<span lang="{tag}">{escape(text)}</span>', format="html")], []

    return role


def terms(env):
    """The glossary's terms in lower case, and the anchor of each."""
    objects = env.get_domain("std").get_objects()
    return {
        name.lower(): anchor
        for name, _, kind, page, anchor, _ in objects
        if kind == "term" and page == PAGE
    }


def link(app, doctree, docname):
    """Link the first use of each term on a page."""
    anchors = terms(app.env)
    if docname == PAGE or not anchors:
        return
    pattern = any_of(anchors)
    address = app.builder.get_relative_uri(docname, PAGE)
    for text in list(doctree.findall(nodes.Text)):
        around = list(parents(text))
        if not any(isinstance(node, PLACES) for node in around):
            continue
        if any(isinstance(node, CLOSED) for node in around):
            continue
        stressed = isinstance(text.parent, nodes.emphasis)
        parts = split(str(text), pattern, anchors, stressed, address)
        if parts:
            text.parent.replace(text, parts)


def any_of(names):
    """Matches each of the terms, in the plural too, but no part of a longer word or term."""
    longest_first = sorted(names, key=len, reverse=True)
    return re.compile(
        rf"(?<![\w-])({'|'.join(map(re.escape, longest_first))})(?=s?(?![\w-]))", re.IGNORECASE
    )


def parents(node):
    while node.parent is not None:
        node = node.parent
        yield node


def split(text, pattern, anchors, stressed, address):
    """The text with links to the terms that were not linked yet; nothing if there is none."""
    parts, end = [], 0
    for found in pattern.finditer(text):
        term = found[1].lower()
        alone = stressed and text.strip() in (found[1], f"{found[1]}s")
        if term not in anchors or not (alone or re.search(r"[ -]", term)):
            continue
        anchor = anchors.pop(term)
        parts.append(nodes.Text(text[end : found.start()]))
        target = f"{address}#{anchor}"
        parts.append(nodes.reference("", found[1], refuri=target, classes=["term"], internal=True))
        end = found.end()
    return [*parts, nodes.Text(text[end:])] if parts else []


def setup(app):
    """Register the roles and the hook with Sphinx."""
    app.add_role("hans", chinese("zh-Hans"))
    app.add_role("hant", chinese("zh-Hant"))
    app.connect("doctree-resolved", link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
