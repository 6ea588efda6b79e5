"""The passages that can be quoted: a sentence with what it needs round it, and the terms that stand near it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from manusfs.models.offline.seen import Seen, Source, Text
from manusfs.models.offline.sentences import Sentence, sentences
from manusfs.models.offline.words import terms

__all__ = ["MOST_CHARS", "Passage", "passages"]

MOST_CHARS = 300
"""A quote is widened to its paragraph up to this: longer ones are not read."""
_LEANS = re.compile(
    r"(?:he|she|it|its|they|this|that|these|those|such|his|her|their|here|there|but|and|so|then|also|however|yes|no|yeah|"
    r"他|她|它|其|这|该|此|但|并|而|因此)\b",
    re.IGNORECASE,
)
"""How a sentence begins that says little without the one before it."""
_LABEL = re.compile(r"(?:\*\*)?([^\W\d_][^\n:：|*<>\[\]]{0,39}?)(?:\*\*)?[:：](?:\*\*)?\s")
_BULLET = re.compile(rb"\s*\n\s*(?:[-*+]|\xe2\x80\xa2|\d{1,3}[.)])\s+")
_ENDS = (".", "!", "?", "。", "！", "？", "|", '"', "”", "」", ")")


@dataclass(frozen=True, slots=True)
class Passage:
    """One thing that can be quoted, and where its terms stand."""

    source: Source
    ref: str
    core: Sentence
    """The sentence that it was chosen for."""
    quote: Sentence
    """The words that are quoted: the sentence, with its neighbours in the same paragraph where they fit."""
    own: frozenset[str]
    """Terms of the core."""
    beside: frozenset[str]
    """Terms of the rest of the quote, but for what it asks itself."""
    asked: frozenset[str]
    """Terms of the questions in the paragraph before: this one may be the reply."""
    near: tuple[frozenset[str], ...]
    """Terms of the paragraph before, of the one after, and of the one before the one before."""
    above: frozenset[str]
    """Terms of the source's title, of the heading above, of the table's header, and of the paragraph's label."""
    listed: bool = False
    """Whether it is a short line without an end between others of the kind, as the entries of menus are."""
    label: str = ""
    """Who speaks, or what the paragraph's first words before a colon name."""


def passages(seen: Seen) -> Iterator[Passage]:
    """Yield every passage of what was read, in order; what a border of the read may have cut is left out."""
    for text, starts, ends in _joined(seen.texts):
        source = seen.sources.get(text.ref.removesuffix("/full")) or Source(text.ref.removesuffix("/full"))
        units = list(sentences(text.text))
        if not starts and text.start > 0 and units and units[0].start < 2:
            units = units[1:]
        # Where a text ends with a line end, that is not shown.
        cut = not source.size or text.end + 2 < source.size
        if not ends and units and cut and not units[-1].text.endswith(_ENDS):
            units = units[:-1]
        units = [_placed_under(unit, text.start, seen.outlines.get(text.ref, ())) for unit in units]
        blocks = [list(block) for _, block in groupby(units, key=lambda unit: unit.block)]
        yield from _of_blocks(text, source, blocks)


def _joined(texts: Sequence[Text]) -> Iterator[tuple[Text, bool, bool]]:
    """Yield the texts, those that overlap or touch as one, each with whether its first and last sentence are whole."""
    ordered = sorted(texts, key=lambda text: (text.ref, text.start, -text.end))
    current: tuple[Text, bool, bool] | None = None
    for text in ordered:
        if current is not None and text.ref == current[0].ref and text.start <= current[0].end:
            done, starts, _ = current
            if text.end > done.end:
                more = text.text.encode("utf-8")[done.end - text.start :].decode("utf-8", "ignore")
                current = replace(done, text=done.text + more), starts, text.whole
            continue
        if current is not None:
            yield current
        current = text, text.whole, text.whole
    if current is not None:
        yield current


def _placed_under(unit: Sentence, start: int, outline: Sequence[tuple[int, str]]) -> Sentence:
    """Return `unit` with the heading that stands above it, where what was read begins below that."""
    if unit.heading or not outline:
        return unit
    return replace(unit, heading=next((words for at, words in reversed(outline) if at <= start + unit.start), ""))


def _of_blocks(text: Text, source: Source, blocks: Sequence[Sequence[Sentence]]) -> Iterator[Passage]:
    title = frozenset(terms(source.title))
    held = [_terms(block) for block in blocks]
    asked = [_terms([sentence for sentence in block if _asks(sentence)]) for block in blocks]
    nothing: frozenset[str] = frozenset()
    data = text.text.encode("utf-8")
    short = [_is_short(block) for block in blocks]
    for number, block in enumerate(blocks):
        near = tuple(held[at] if 0 <= at < len(held) else nothing for at in (number - 1, number + 1, number - 2))
        match = _LABEL.match(block[0].text)
        label = match[1].strip() if match else ""
        above = title | frozenset(terms(f"{block[0].heading} {block[0].columns} {label}"))
        for at, core in enumerate(block):
            first, last = _widened(block, at)
            start, end = block[first].start, block[last].end
            items = _items(blocks, number, data) if last == at == len(block) - 1 else []
            while items and items[-1].end > start + MOST_CHARS:
                items.pop()
            end = items[-1].end if items else end
            quote = replace(
                core, text=data[start:end].decode("utf-8"), start=start + text.start, row=core.row and first == last
            )
            own = frozenset(terms(core.text))
            rest = [*block[first:at], *block[at + 1 : last + 1], *items]
            beside = _terms([sentence for sentence in rest if not _asks(sentence)])
            placed = replace(core, start=core.start + text.start)
            replied = asked[number - 1] if number else nothing
            listed = short[number] and any(short[max(0, number - 1) : number]) and any(short[number + 1 : number + 2])
            yield Passage(source, text.ref, placed, quote, own, beside, replied, near, above, listed, label)


def _items(blocks: Sequence[Sequence[Sentence]], number: int, data: bytes) -> list[Sentence]:
    """Return the items of the list that a paragraph leads in to with a colon: without them it says nothing."""
    found: list[Sentence] = []
    last = blocks[number][-1]
    if last.text.endswith((":", "：")):
        for block in blocks[number + 1 :]:
            if not _BULLET.fullmatch(data[last.end : block[0].start]):
                break
            found += block
            last = block[-1]
    return found


def _terms(block: Sequence[Sentence]) -> frozenset[str]:
    return frozenset(term for sentence in block for term in terms(sentence.text))


def _is_short(block: Sequence[Sentence]) -> bool:
    text = block[0].text
    return len(block) == 1 and len(text) < 80 and not block[0].row and not text.endswith(_ENDS)


def _asks(sentence: Sentence) -> bool:
    return sentence.text.rstrip("\"'”’」)* ").endswith(("?", "？"))


def _widened(block: Sequence[Sentence], at: int) -> tuple[int, int]:
    """Return the first and the last sentence of the quote round sentence `at` of a paragraph.

    A short paragraph is quoted whole. Of a long one a sentence stands alone, or with the one before that it leans on.
    """

    def chars(first: int, last: int) -> int:
        return sum(len(sentence.text) + 1 for sentence in block[first : last + 1])

    if chars(0, len(block) - 1) <= MOST_CHARS:
        return 0, len(block) - 1
    first = at
    while first > 0 and _LEANS.match(block[first].text) and chars(first - 1, at) <= MOST_CHARS:
        first -= 1
    return first, at
