"""The best passages of one text for a query, without an index: what a stub shows of a call that said what it wants."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator

from manusfs.memory.search.chunk import Chunk, chunks
from manusfs.memory.search.fold import fold_plain
from manusfs.memory.search.match import Matcher
from manusfs.memory.search.query import parse
from manusfs.records import Span, valid_text

__all__ = ["passages", "window"]

_NEIGHBOURS = ((1, 0.5), (-1, 0.3), (2, 0.3), (-2, 0.15))


def passages(text: bytes | str, query: str, count: int, size: int) -> list[Span]:
    """Return the spans of up to `count` passages of at most `size` characters that fit `query` best, by offset.

    Offsets are bytes. They do not overlap and lie on code-point borders; none when no word of the query stands there.
    """
    if isinstance(text, str):
        text = valid_text(text).encode("utf-8")
    matcher = Matcher(parse(query).wanted)
    if not matcher.terms or count <= 0 or size <= 0:
        return []
    parts = chunks(text)
    scored = _scored(text, parts, matcher)
    found: list[Span] = []
    for at in sorted(scored, key=lambda at: (-scored[at], at)):
        span = window(text, parts[at], matcher, size)
        if all(span.end <= other.start or other.end <= span.start for other in found):
            found.append(span)
        if len(found) >= count:
            break
    return sorted(found)


def _scored(text: bytes, parts: list[Chunk], matcher: Matcher) -> dict[int, float]:
    counts: dict[int, Counter[int]] = {}
    for at, term in _matches(text, parts, matcher):
        counts.setdefault(at, Counter())[term] += 1
    documents = Counter(term for found in counts.values() for term in found)
    own = {}
    for at, found in counts.items():
        own[at] = sum(
            math.log(1 + (len(parts) - documents[term] + 0.5) / (documents[term] + 0.5)) * times / (times + 1.0)
            for term, times in found.items()
        )
    # Neighbours only decide between passages that match themselves: what is shown should hold the words.
    return {
        at: score + sum(share * own.get(at - distance, 0.0) for distance, share in _NEIGHBOURS)
        for at, score in own.items()
    }


def _matches(text: bytes, parts: list[Chunk], matcher: Matcher) -> Iterator[tuple[int, int]]:
    """Yield the number of the passage and of the term of each match."""
    if text.isascii():
        starts = [part.start for part in parts]
        for start, _, term in matcher.folded_spans(text.decode("ascii").lower()):
            yield bisect_right(starts, start) - 1, term
        return
    for at, part in enumerate(parts):
        folded = fold_plain(text[part.start : part.end].decode("utf-8", "replace"))
        yield from ((at, term) for _, _, term in matcher.folded_spans(folded))


def window(text: bytes, part: Chunk, matcher: Matcher, size: int) -> Span:
    """Return the span of at most `size` characters of a passage in which most of the terms stand; room is used."""
    start, end = part.start, part.end
    piece = text[start:end].decode("utf-8", "surrogateescape")
    if len(piece) > size:
        low = _best_start(matcher.spans(piece), len(piece), size, piece)
        cut = piece[low : low + size]
        start += len(piece[:low].encode("utf-8", "surrogateescape"))
        end = start + len(cut.encode("utf-8", "surrogateescape"))
    return Span(start, end)


def _best_start(matches: list[tuple[int, int, int]], length: int, size: int, piece: str) -> int:
    best, best_value = 0, -1.0
    for start, _, _ in matches:
        low = max(0, min(start - size // 5, length - size))
        inside = [match for match in matches if low <= match[0] and match[1] <= low + size]
        value = len({match[2] for match in inside}) + 0.01 * len(inside)
        if value > best_value:
            best, best_value = low, value
    if best > 0:
        # Begin with a word, if one begins nearby.
        blank = piece.rfind(" ", max(0, best - 20), best + 1)
        best = blank + 1 if blank >= 0 else best
    return best
