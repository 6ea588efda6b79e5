"""Sentences, list items and table rows of a text, each with the bytes at which it stands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

__all__ = ["Sentence", "sentences"]

_ALONE = re.compile(r"\s*(?:#{1,6}\s|\||```|~~~)")
_ITEM = re.compile(r"\s*(?:[-*•>]\s|\d{1,3}[.)]\s|\(\d{1,3}\)\s)")
_ABBREVIATION = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|vs|etc|al|Fig|Figs|Eq|No|Nos|Vol|pp|ed|eds|cf|ca|approx|Inc|Ltd|Co|Corp|Gen|Col|Lt|Rev|"
    r"Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec|z\.B|d\.h|bzw|usw|e\.g|i\.e|U\.S|U\.K)|\b[A-Z])\.$"
)
_SENTENCE_END = re.compile(r"[.!?…]+[\"'”’)\]*_]*(?:\[\^?\w+\])*(?=\s)|[。！？]+[”’」』）]*")
_SHORT_LINE = 0.6
"""A wrapped line is nearly as long as its neighbours; one below this share of the longest ends something."""
MOST_CHARS = 600
"""A longer unit is no quote; it is cut into pieces at commas or blanks."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One quotable unit: `text` stands at byte `start` of the text that it was taken from."""

    text: str
    start: int
    heading: str = ""
    row: bool = False
    block: int = 0
    """Number of its paragraph, turn, list item or row: sentences of one block belong together."""
    columns: str = ""
    """The header of the table that a row stands in."""

    @property
    def end(self) -> int:
        """The byte after the last."""
        return self.start + len(self.text.encode("utf-8"))


def sentences(text: str) -> Iterator[Sentence]:
    """Yield the quotable units of `text` in order; headings are not yielded but told by what follows them."""
    heading, columns, above, at_char, at_byte = "", "", "", 0, 0
    for block, (start, end) in enumerate(_paragraphs(text)):
        at_byte += len(text[at_char:start].encode("utf-8"))
        at_char = start
        paragraph = text[start:end]
        line = paragraph.strip()
        if not line.startswith("|"):
            columns = above = ""
        elif _is_rule(line):
            columns, above = columns or above, ""
        if line.startswith("#"):
            heading = line.lstrip("#").strip()
        elif _is_table(line):
            yield from (replace(row, block=block) for row in _rows(paragraph, at_byte, heading))
        elif not _is_rule(line) and not line.startswith(("```", "~~~")):
            for unit in _units(paragraph, at_byte, heading):
                yield replace(unit, block=block, columns=columns)
            above = line


def _paragraphs(text: str) -> Iterator[tuple[int, int]]:
    """Yield the character ranges of paragraphs; a heading, table row, fence or list item begins its own."""
    start, at = -1, 0
    for line in text.splitlines(keepends=True):
        alone = _ALONE.match(line) is not None
        if start >= 0 and (alone or not line.strip() or _ITEM.match(line) or _parted(text[start:at], line)):
            yield start, at
            start = -1
        if alone:
            yield at, at + len(line)
        elif line.strip() and start < 0:
            start = at
        at += len(line)
    if start >= 0:
        yield start, at


def _is_table(paragraph: str) -> bool:
    """Return True for lines of delimited values: three or more, with the same number of separators in nearly all."""
    lines = paragraph.split("\n")
    if len(lines) < 3:
        return False
    for separator in (",", "\t", ";"):
        counts = [line.count(separator) for line in lines]
        usual = max(set(counts), key=lambda n: (counts.count(n), n))
        if usual >= 2 and counts.count(usual) >= 0.9 * len(lines):
            return True
    return False


def _rows(paragraph: str, base: int, heading: str) -> Iterator[Sentence]:
    """Yield each line as a row; the first names the columns of the others."""
    at = 0
    names = paragraph.strip().split("\n", 1)[0]
    for line in paragraph.split("\n"):
        text = line.strip()
        if text:
            start = base + len(paragraph[: at + line.index(text)].encode("utf-8"))
            yield Sentence(text, start, heading, row=True, columns="" if text == names else names)
        at += len(line) + 1


def _parted(above: str, line: str) -> bool:
    """Return True if `line` begins anew: the line above is much shorter and has no end, as headings do."""
    lines = above.rstrip().split("\n")
    last, opens = lines[-1].rstrip(), line.lstrip()[:1]
    widest = max(len(line), *map(len, lines))
    short = len(last) < _SHORT_LINE * widest and last[-1:] not in ".!?,;:-–—。，；："
    return short and (opens.isupper() or opens.isdigit())


def _is_rule(line: str) -> bool:
    return not line or re.fullmatch(r"[-=|:*_\s+]+", line) is not None


def _units(paragraph: str, base: int, heading: str) -> Iterator[Sentence]:
    if paragraph.lstrip().startswith("|") and len(paragraph) <= MOST_CHARS:
        yield from _placed(paragraph, 0, len(paragraph), base, heading, row=True)
        return
    start = 0
    for match in _SENTENCE_END.finditer(paragraph):
        end = match.end()
        if paragraph[match.start()] == "." and _ABBREVIATION.search(
            paragraph[max(0, match.start() - 12) : match.start() + 1]
        ):
            continue
        yield from _placed(paragraph, start, end, base, heading)
        start = end
    yield from _placed(paragraph, start, len(paragraph), base, heading)


def _placed(paragraph: str, start: int, end: int, base: int, heading: str, row: bool = False) -> Iterator[Sentence]:
    piece = paragraph[start:end]
    left = len(piece) - len(piece.lstrip())
    marker = re.match(r"(?:[-*•>]\s+|\d{1,3}[.)]\s+)+", piece[left:])
    start += left + (marker.end() if marker else 0)
    piece = paragraph[start:end].rstrip()
    if len(piece) > MOST_CHARS:
        for offset, part in _cut(piece):
            yield Sentence(part, base + len(paragraph[: start + offset].encode("utf-8")), heading)
    elif piece:
        yield Sentence(piece, base + len(paragraph[:start].encode("utf-8")), heading, row)


def _cut(piece: str) -> Iterator[tuple[int, str]]:
    start = 0
    while start < len(piece):
        end = min(len(piece), start + 400)
        if end < len(piece):
            stops = [piece.rfind(stop, start + 100, end) for stop in ("; ", ", ", "；", "，", "\n", " ")]
            end = next((stop + 1 for stop in stops if stop > 0), end)
        part = piece[start:end]
        lead = len(part) - len(part.lstrip())
        if part.strip():
            yield start + lead, part.strip()
        start = end
