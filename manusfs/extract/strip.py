"""Text of a page by removing its tags: the last resort, in linear time and with nothing but the standard library."""

from __future__ import annotations

import html
import re

from manusfs.extract.job import plain_view

__all__ = ["strip_tags", "without_tag_soup"]

_MOST_CHARS = 20_000_000
_SKIPPED = re.compile(r"<(script|style|template|svg|noscript|head)\b", re.IGNORECASE)
_BLOCK = re.compile(
    r"</?(?:p|div|br|li|ul|ol|dl|dt|dd|tr|table|h[1-6]|section|article|header|footer|nav|main|aside|form|pre|hr|"
    r"blockquote|figure|figcaption|option|title)\b",
    re.IGNORECASE,
)


def strip_tags(source: str) -> str:
    """Return the words of an HTML source without its tags, scripts and styles; never fails."""
    pieces: list[str] = []
    at, end = 0, min(len(source), _MOST_CHARS)
    unclosed: set[str] = set()
    while at < end:
        start = source.find("<", at, end)
        if start < 0:
            pieces.append(source[at:end])
            break
        pieces.append(source[at:start])
        at = _after_tag(source, start, end, pieces, unclosed)
    text = html.unescape("".join(pieces))
    lines = (" ".join(line.split()) for line in plain_view(text).split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _after_tag(source: str, start: int, end: int, pieces: list[str], unclosed: set[str]) -> int:
    if source.startswith("<!--", start):
        return _find_end(source, "-->", start + 4, end)
    following = source[start + 1 : start + 2]
    if not following.isalpha() and following not in ("/", "!", "?"):
        pieces.append("<")
        return start + 1
    skipped = _SKIPPED.match(source, start)
    name = skipped[1].lower() if skipped else "head"
    if name != "head" and name not in unclosed:
        close = re.compile(rf"</{name}\s*>", re.IGNORECASE).search(source, start, end)
        if close:
            return close.end()
        # looked for once only: a page of nothing but openers would cost quadratic time
        unclosed.add(name)
    pieces.append("\n" if _BLOCK.match(source, start) else " ")
    return _find_end(source, ">", start, end)


def _find_end(source: str, mark: str, start: int, end: int) -> int:
    found = source.find(mark, start, end)
    return found + len(mark) if found >= 0 else end


_LONG_TAG = 20_000
_KEPT = re.compile(r"\s(href|alt|title|id|lang|class)\s*=\s*(\"[^\"<>]{0,2000}\"|'[^'<>]{0,2000}')", re.IGNORECASE)
_TAG_NAME = re.compile(r"</?[A-Za-z][\w:-]{0,60}")
_DOCTYPE = re.compile("<!DOCTYPE", re.IGNORECASE)
_SUBSET = re.compile(r"<!DOCTYPE[^>\[]{0,500}\[.{0,65536}?\]\s*>", re.IGNORECASE | re.DOTALL)


def without_tag_soup(source: str) -> tuple[str, tuple[str, ...]]:
    """Return `source` without what only costs time: tags of over 20,000 characters, a DTD's own entities, controls.

    Parsers need quadratic time for a tag of a million attributes. The second value says what was left out.
    """
    notes: list[str] = []
    source = plain_view(source)
    doctype = _DOCTYPE.search(source, 0, 4_096)
    if doctype and (subset := _SUBSET.match(source, doctype.start())):
        source = f"{source[: subset.start()]}<!DOCTYPE html>{source[subset.end() :]}"
        notes.append("the page defines entities of its own; they are not expanded")
    if not _has_long_tag(source):
        return source, tuple(notes)
    pieces = source.split(">")
    shortened = 0
    for number in [number for number, piece in enumerate(pieces[:-1]) if len(piece) > _LONG_TAG]:
        piece = pieces[number]
        start = piece.find("<")
        if 0 <= start < len(piece) - _LONG_TAG and (name := _TAG_NAME.match(piece, start)):
            kept = _KEPT.findall(piece[start : start + 200_000])
            attributes = {key.lower(): value for key, value in reversed(kept)}
            # embedded images are long and of no interest; attributes by the thousand are
            shortened += piece.count("=", start) > 500
            pieces[number] = "".join([piece[:start], name[0], *(f" {key}={of}" for key, of in attributes.items())])
    if shortened:
        notes.append(f"attributes of {shortened} overlong tags were left out")
    return ">".join(pieces), tuple(notes)


def _has_long_tag(source: str) -> bool:
    """Return True if over 20,000 characters stand somewhere without an end of a tag; looks at few of them."""
    at, last = 0, len(source) - _LONG_TAG
    while at < last:
        at = source.rfind(">", at, at + _LONG_TAG + 1) + 1
        if not at:
            return True
    return False
