"""How a text is folded so that a query finds it: one form for the index, for queries and for passages.

The index gets NFKC and folded case, CJK runs as overlapping pairs, and the parts of what is written in one piece.
Plain ASCII, most of what comes, passes almost untouched: FTS5 folds its case itself.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

__all__ = ["CJK", "fold", "fold_plain", "fold_with_map", "index_text", "index_texts"]

CJK = (
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff\u1100-\u11ff\uac00-\ud7a3\u0e01-\u0e4e\u0e81-\u0ecf\u1000-\u109f\u1780-\u17d3"
)
"""Scripts that are written without blanks (or, as Korean, with endings joined on), as the inside of a regex class."""

_INVISIBLE_CHARS = "\u00ad\u200b-\u200f\u202a-\u202e\u2060\ufeff\x00"
_INVISIBLE = re.compile(f"[{_INVISIBLE_CHARS}]")
_RUN_OR_INVISIBLE = re.compile(f"[{CJK}]+|[{_INVISIBLE_CHARS}]")
_CAMEL_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_WIDE = re.compile("[\u3000\uff01-\uff5e]")
_ACCENTS = re.compile("[\u0300-\u036f]")
_CAMEL_MOST = 40
_GROUPED = re.compile(r"\b\d{1,3}(?:,\d{3})+(?:\.\d+)?\b")
_HYPHENATED = re.compile(r"\b([^\W\d_]+)-\r?\n[ \t]*([^\W\d_]+)")
_SPACED = re.compile(r"(?<!\S)(?:[^\W\d_] ){4,}[^\W\d_](?!\S)")


def _class(byte: int) -> int:
    char = chr(byte)
    if byte >= 128:
        # C: may begin a CJK character; I: may begin an invisible one.
        return ord("C" if byte in (0xE0, 0xE1, 0xEF) or 0xE3 <= byte <= 0xED or byte >= 0xF0 else "I")
    if char.isalpha():
        return ord("a" if char.islower() else "A")
    return ord("0") if char.isdigit() else byte if char in " -,\r\n\x00" else ord(".")


_CLASSES = bytes(_class(byte) for byte in range(256))
_MARKS = (b"aA", b"0,000", b"-\n", b"-\r\n", b"\x00")
"""What is folded in ASCII beside words with blanks in them, in the classes of its bytes."""
_LETTERS = bytes(ord("a") if byte < 128 and chr(byte).isalpha() else ord(" ") for byte in range(256))


def index_text(data: bytes) -> str:
    """Return what the full-text table gets for a text, given as UTF-8."""
    plain = data.isascii()
    if not plain:
        data = _normalized(data.decode("utf-8", "replace")).encode("utf-8")
    # Classes of bytes and plain searches cost a tenth of regular expressions, and most texts have nothing to fold.
    classes = data.translate(_CLASSES)
    extra = _parts(data, classes)
    text = data.decode("utf-8")
    if b"-\n" in classes or b"-\r\n" in classes:
        extra += [part for match in _HYPHENATED.finditer(text) for part in match.groups()]
        text = _HYPHENATED.sub(r"\1\2", text)
    if extra:
        text = f"{text}\n{' '.join(extra)}"
    if not plain:
        text = text.casefold()
    if b"C" in classes or b"I" in classes or b"\x00" in classes:
        text = _RUN_OR_INVISIBLE.sub(_pairs, text)
    return text


def _normalized(text: str) -> str:
    """Return `text` in NFKC."""
    if unicodedata.is_normalized("NFKC", text):
        return text
    # Chinese text is normal but for its wide punctuation: to replace that and look again takes a quarter of the time.
    plain = _WIDE.sub(lambda match: chr(ord(match[0]) - 0xFEE0) if match[0] != "\u3000" else " ", text)
    return plain if unicodedata.is_normalized("NFKC", plain) else unicodedata.normalize("NFKC", text)


def index_texts(data: bytes, borders: Sequence[int]) -> list[str]:
    """Return `index_text` of each piece of `data`; `borders` are where pieces end, 0 first and its length last.

    One look at the whole finds the pieces that there is something to fold in; the others are taken as they are.
    """
    classes = data.translate(_CLASSES)
    if any(b"    " in classes[half::2] for half in (0, 1)):
        # It may hold words that blanks take apart, which plain searches find only slowly.
        return [index_text(data[start:end]) for start, end in pairwise(borders)]
    odd: set[int] = set()
    for mark in _MARKS:
        at = classes.find(mark)
        while at >= 0:
            number = bisect_right(borders, at)
            odd.add(number - 1)
            at = classes.find(mark, borders[number])
    pieces = [data[start:end] for start, end in pairwise(borders)]
    return [
        piece.decode("ascii") if number not in odd and piece.isascii() else index_text(piece)
        for number, piece in enumerate(pieces)
    ]


def _parts(data: bytes, classes: bytes) -> list[str]:
    """Return the parts of what is written as one word, and what blanks or commas take apart as one."""
    extra: list[str] = []
    if b"aA" in classes:
        extra += _camel(data, classes)
    if b"0,000" in classes:
        extra += [match[0].replace(",", "") for match in _GROUPED.finditer(data.decode("utf-8"))]
    if b" a a a a" in classes or b" A A A A" in classes:
        extra += [match[0].replace(" ", "") for match in _SPACED.finditer(data.decode("utf-8"))]
    return extra


def _camel(data: bytes, classes: bytes) -> list[str]:
    letters = data.translate(_LETTERS)
    words: dict[bytes, None] = {}
    at = classes.find(b"aA")
    while at >= 0:
        start, end = letters.rfind(b" ", 0, at) + 1, letters.find(b" ", at)
        end = len(data) if end < 0 else end
        if end - start <= _CAMEL_MOST:
            words[data[start:end]] = None
        at = classes.find(b"aA", end)
    return [part for word in words for part in _CAMEL_PARTS.findall(word.decode("ascii"))]


def fold(text: str) -> str:
    """Return `text` in the form in which words are compared: NFKC, case folded, nothing invisible."""
    if text.isascii():
        return text.lower()
    return _INVISIBLE.sub("", unicodedata.normalize("NFKC", text)).casefold()


def fold_plain(text: str) -> str:
    """Return `text` folded and without accents, as `fold_with_map` gives it, but faster."""
    if text.isascii():
        return text.lower()
    bare = _ACCENTS.sub("", unicodedata.normalize("NFKD", text))
    return _INVISIBLE.sub("", unicodedata.normalize("NFC", bare)).casefold()


def fold_with_map(text: str) -> tuple[str, list[int] | None]:
    """Return `text` folded, without accents, and for each folded character the index of the one it came from.

    The map is None when both have the same indices.
    """
    if text.isascii():
        return text.lower(), None
    folded: list[str] = []
    origin: list[int] = []
    for at, char in enumerate(text):
        plain = char.lower() if char.isascii() else fold_plain(char)
        folded.append(plain)
        origin.extend([at] * len(plain))
    return "".join(folded), origin


def _pairs(match: re.Match[str]) -> str:
    run = match[0]
    if len(run) == 1 and _INVISIBLE.match(run):
        return " " if run == "\x00" else ""
    # The last character stands alone too, so that every character begins a token and `x*` finds it.
    return f" {' '.join([one + two for one, two in pairwise(run)])} {run[-1]} "
