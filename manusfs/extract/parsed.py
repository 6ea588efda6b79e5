"""A page parsed as browsers parse it, and the same tree held by lxml, which is walked ten times faster."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import lxml.html
from lxml import etree
from resiliparse.parse.html import HTMLTree

__all__ = ["DeepNode", "Parsed", "as_block", "parse"]

_BLOCKS = frozenset(
    "address article aside blockquote center dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 "
    "h5 h6 header hr li main nav ol p pre section summary table tbody td tfoot th thead tr ul".split()
)
_HEADINGS = frozenset(f"h{level}" for level in range(1, 7))
_IN_HEADINGS = ", ".join(f"{heading} p" for heading in sorted(_HEADINGS))
_FEW = 20
_UNREAD = "script, style, svg"
_UNREAD_START = re.compile(rb"<(!--|(?:script|style|svg)(?=[ >]))")


@dataclass(frozen=True, slots=True)
class Parsed:
    """A page. `root` is lxml's, None if it cannot hold the page."""

    tree: Any
    root: Any
    chars: int
    """Characters of the page as a browser would write it."""


class DeepNode:
    """A node of a page that is nested too deep for lxml, with the face of the other parser's elements."""

    __slots__ = ("_node", "tag")

    def __init__(self, node: Any) -> None:
        self._node = node
        self.tag = node.tag

    def get(self, name: str) -> str | None:
        """Return the value of an attribute."""
        value: str | None = self._node.getattr(name) if self._node.hasattr(name) else None
        return value

    def find(self, path: str) -> None:
        """Return nothing: of such a page only the words count."""

    def text_content(self) -> str:
        """Return all words below."""
        return self._node.text or ""


def parse(source: str) -> Parsed:
    """Return the page that `source` holds."""
    tree: Any = HTMLTree.parse(source)
    # libxml2 would put these behind the heading, and leave that empty
    for node in _in_headings(tree.document):
        span = tree.create_element("span")
        while (child := node.first_child) is not None:
            span.append_child(child)
        node.parent.replace_child(span, node)
    page = tree.document.html
    # counting is fast, a look at each is not
    unread = len(tree.document.query_selector_all(_UNREAD))
    return Parsed(tree, _lxml(without_unread(page.encode("utf-8", "replace"), unread)), len(page))


def _in_headings(document: Any) -> list[Any]:
    found = document.query_selector_all(_IN_HEADINGS)
    # this parser's lists need quadratic time to be gone through: 12 s for 2,000 entries
    return list(found) if len(found) <= _FEW else list(_walked(document))


def _walked(document: Any) -> Iterator[Any]:
    """Yield the paragraphs in headings by one walk over everything."""
    stack: list[Any] = []
    headings = 0
    node = document
    while node is not None:
        if headings and node.tag == "p":
            yield node
        following = node.first_child
        if following is not None:
            stack.append(node)
            headings += node.tag in _HEADINGS
        else:
            following = node.next
        while following is None and stack:
            node = stack.pop()
            headings -= node.tag in _HEADINGS
            following = node.next if stack else None
        node = following


def without_unread(page: bytes, elements: int) -> bytes:
    """Return `page`, as a browser would write it, without scripts, style sheets and drawings: half of many pages.

    `elements` is how many of these it has. If anything else looks like one (in an attribute, in raw text), nothing is
    taken out. JSON-LD stays, since articles are found in it.
    """
    starts = [(match.start(), match[1]) for match in _UNREAD_START.finditer(page)]
    pieces: list[bytes] = []
    found = kept = number = 0
    while number < len(starts):
        start, name = starts[number]
        close = b"-->" if name == b"!--" else b"</" + name + b">"
        end = page.find(close, start) + len(close)
        if end < len(close):
            return page
        number += 1
        inside = []
        while number < len(starts) and starts[number][0] < end:
            inside.append(starts[number][1])
            number += 1
        if name == b"!--":
            continue
        found += 1 + (len(inside) - inside.count(b"!--") if name == b"svg" else 0)
        if name not in inside and page.find(b"ld+json", start, start + 300) < 0:
            pieces.append(page[kept:start])
            kept = end
    return b"".join([*pieces, page[kept:]]) if found == elements else page


def as_block(node: Any, name: str = "div") -> None:
    """Make `node` an element `name` without attributes; words of a `div` come into paragraphs.

    trafilatura keeps little of what stands in cells, and drops words without an element of their own.
    """
    node.tag = name
    node.attrib.clear()
    if name != "div":
        return
    pieces: list[Any] = [node.text]
    for child in list(node):
        pieces += [child, child.tail]
        child.tail = None
    node.text = None
    made: list[Any] = []
    loose = None
    for piece in pieces:
        if piece is None or (loose is None and isinstance(piece, str) and not piece.strip()):
            continue
        if not isinstance(piece, str) and piece.tag in _BLOCKS:
            made.append(piece)
            loose = None
            continue
        if loose is None:
            loose = node.makeelement("p")
            made.append(loose)
        _append(loose, piece)
    node[:] = made


def _append(element: Any, piece: Any) -> None:
    if not isinstance(piece, str):
        element.append(piece)
    elif len(element):
        element[-1].tail = (element[-1].tail or "") + piece
    else:
        element.text = (element.text or "") + piece


def _lxml(page: bytes) -> Any:
    parser = lxml.html.HTMLParser(
        encoding="utf-8", remove_comments=True, remove_pis=True, no_network=True, huge_tree=True, collect_ids=False
    )
    # lxml.html asks a function in Python for the class of each element; one class serves here
    parser.set_element_class_lookup(etree.ElementDefaultClassLookup(element=lxml.html.HtmlElement))
    try:
        root = etree.fromstring(page, parser=parser)
    except etree.LxmlError:
        return None
    # what follows the place that was too deep would be lost
    return None if parser.error_log.filter_from_fatals() else root
