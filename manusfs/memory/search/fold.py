"""How a text is folded so that a query finds it: one form for the index, for queries and for passages.

The index gets NFKC and folded case, CJK runs as overlapping pairs, and the parts of what is written in one piece.
Plain ASCII, most of what comes, passes almost untouched: FTS5 folds its case itself.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

__all__ = ["CJK", "fold", "fold_with_map", "index_text"]

CJK = (
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff\u1100-\u11ff\uac00-\ud7a3\u0e01-\u0e4e\u0e81-\u0ecf\u1000-\u109f\u1780-\u17d3"
)
"""Scripts that are written without blanks (or, as Korean, with endings joined on), as the inside of a regex class."""

_RUN = re.compile(f"[{CJK}]+")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060\ufeff\x00]")
_JOINED = re.compile(r"[a-z][A-Z]|\d,\d\d\d|[A-Za-z]-\r?\n|\b(?:\w ){4}")
_CAMEL = re.compile(r"\b[A-Za-z]*[a-z][A-Z][A-Za-z]*")
_CAMEL_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_GROUPED = re.compile(r"\b\d{1,3}(?:,\d{3})+\b")
_HYPHENATED = re.compile(r"\b([^\W\d_]+)-\r?\n[ \t]*([^\W\d_]+)")
_SPACED = re.compile(r"(?<!\S)(?:[^\W\d_] ){4,}[^\W\d_](?!\S)")


def index_text(text: str) -> str:
    """Return what the full-text table gets for `text`."""
    if not text.isascii():
        text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
        if _JOINED.search(text):
            text = _with_parts(text)
        return _RUN.sub(_pairs, text.casefold())
    if "\x00" in text:
        text = text.replace("\x00", " ")
    return _with_parts(text) if _JOINED.search(text) else text


def fold(text: str) -> str:
    """Return `text` in the form in which words are compared: NFKC, case folded, nothing invisible."""
    if text.isascii():
        return text.lower()
    return _INVISIBLE.sub("", unicodedata.normalize("NFKC", text)).casefold()


def fold_with_map(text: str) -> tuple[str, list[int] | None]:
    """Return `text` folded, without accents, and for each folded character the index of the one it came from.

    The map is None when both have the same indices.
    """
    if text.isascii():
        return text.lower(), None
    folded: list[str] = []
    origin: list[int] = []
    for at, char in enumerate(text):
        if char.isascii():
            plain = char.lower()
        else:
            plain = "".join(c for c in unicodedata.normalize("NFKD", char) if not "\u0300" <= c <= "\u036f")
            plain = _INVISIBLE.sub("", unicodedata.normalize("NFC", plain)).casefold()
        folded.append(plain)
        origin.extend([at] * len(plain))
    return "".join(folded), origin


def _pairs(match: re.Match[str]) -> str:
    run = match[0]
    # The last character stands alone too, so that every character begins a token and `x*` finds it.
    return f" {' '.join([one + two for one, two in pairwise(run)])} {run[-1]} "


def _with_parts(text: str) -> str:
    """Return `text` with words joined that a line's end or blanks had cut, then the parts of what is one word."""
    extra: list[str] = []
    for match in _CAMEL.finditer(text):
        extra += _CAMEL_PARTS.findall(match[0])
    extra += [match[0].replace(",", "") for match in _GROUPED.finditer(text)]
    extra += [match[0].replace(" ", "") for match in _SPACED.finditer(text)]
    for match in _HYPHENATED.finditer(text):
        extra += match.groups()
    joined = _HYPHENATED.sub(r"\1\2", text)
    return f"{joined}\n{' '.join(extra)}" if extra else joined
