"""What search asks of the index: matches in the full text, and where a chunk stands."""

from __future__ import annotations

from collections.abc import Iterable

from manusfs.store.index import Index
from manusfs.store.index_rows import Segment
from manusfs.store.index_write import read_segment

__all__ = ["matches", "ranges", "segments", "titles"]

_NO_END = 1 << 62


def matches(
    index: Index, expression: str, limit: int, *, low: int = 0, high: int = _NO_END, head_weight: float = 0.5
) -> list[tuple[int, float]]:
    """Return up to `limit` chunks (number, score; best first) that match the FTS5 `expression`, between two numbers."""
    where = "" if (low, high) == (0, _NO_END) else "AND rowid BETWEEN ? AND ?"
    rows = index.select(
        f"SELECT rowid, -bm25(chunks_fts, 1.0, {head_weight:.3f}) AS score FROM chunks_fts"  # noqa: S608 - numbers only
        f" WHERE chunks_fts MATCH ? {where} ORDER BY score DESC, rowid DESC LIMIT ?",
        (expression, *((low, high) if where else ()), limit),
    )
    return [(number, score) for number, score in rows]


def titles(index: Index, expression: str, limit: int) -> list[tuple[int, float]]:
    """Return the first chunk of each text whose title matches, with a score; best first."""
    rows = index.select(
        "SELECT rowid, -bm25(titles_fts) AS score FROM titles_fts WHERE titles_fts MATCH ?"
        " ORDER BY score DESC, rowid DESC LIMIT ?",
        (expression, limit),
    )
    return [(number, score) for number, score in rows]


def segments(index: Index, numbers: Iterable[int]) -> dict[int, Segment]:
    """Return, for each chunk number that stands somewhere, the segment that holds it."""
    found: dict[int, Segment] = {}
    last: Segment | None = None
    for number in sorted(set(numbers)):
        if last is None or not last.first <= number < last.first + last.chunks:
            rows = index.select("SELECT * FROM chunks WHERE first <= ? ORDER BY first DESC LIMIT 1", (number,))
            last = read_segment(rows[0]) if rows else None
            if rows and last is None:
                index.found_damage("a row fails its check")
        if last is not None and last.first <= number < last.first + last.chunks:
            found[number] = last
    return found


def ranges(index: Index, owner: str, view: str | None = None) -> list[Segment]:
    """Return all segments of a text, in order."""
    rows = index.select("SELECT * FROM chunks WHERE owner = ? ORDER BY first", (owner,))
    read = [read_segment(row) for row in rows]
    return [segment for segment in read if segment is not None and view in (None, segment.view)]
