"""What search asks of the index: which chunks hold a term, the sections and texts named by it, where a chunk stands."""

from __future__ import annotations

import json
from collections.abc import Iterable

from manusfs.store.index import Index
from manusfs.store.index_rows import Segment
from manusfs.store.index_write import read_segment

__all__ = ["ends", "matches", "ranges", "sections", "segments", "titles", "vocabulary"]

_AT_ONCE = 200


def matches(index: Index, expression: str, limit: int, within: tuple[int, int] | None = None) -> list[int]:
    """Return the numbers of the newest `limit` chunks that match the FTS5 `expression`, `within` two numbers or of all.

    They come as the posting list has them and are not ranked: a list of n costs a third of what bm25 takes for it. They
    are handed over in one row: to step through rows of one number each took the most time of a search.
    """
    where = "" if within is None else "AND rowid BETWEEN ? AND ?"  # to ask for bounds takes twice the time
    rows = index.select(
        "SELECT group_concat(rowid) FROM (SELECT rowid FROM chunks_fts"  # noqa: S608 - our own names
        f" WHERE chunks_fts MATCH ? {where} ORDER BY rowid DESC LIMIT ?)",
        (expression, *(within or ()), limit),
    )
    numbers: list[int] = json.loads(f"[{rows[0][0]}]") if rows and rows[0][0] is not None else []
    numbers.sort(reverse=True)  # what an aggregate takes in has no order by SQL's word
    return numbers


def titles(index: Index, expression: str, limit: int) -> list[tuple[int, int]]:
    """Return, for the newest `limit` texts whose title matches, the first chunk and the number after the last one."""
    owner = "SELECT owner FROM chunks WHERE first = titles_fts.rowid"
    last = f"(SELECT max(first + count) FROM chunks WHERE owner = ({owner}))"  # noqa: S608 - our own names
    return _named(index, "titles_fts", last, expression, limit)


def sections(index: Index, expression: str, limit: int) -> list[tuple[int, int]]:
    """Return, for the newest `limit` sections whose heading matches, the first chunk and the number after the last."""
    last = "(SELECT min(id) FROM heads_fts_docsize WHERE id > heads_fts.rowid)"
    return _named(index, "heads_fts", last, expression, limit)


def ends(index: Index) -> tuple[int, int]:
    """Return the least and the greatest chunk number that is in use; (1, 0) when there is none."""
    rows = index.select(
        "SELECT (SELECT min(first) FROM chunks), first + count - 1 FROM chunks ORDER BY first DESC LIMIT 1"
    )
    return (rows[0][0], rows[0][1]) if rows else (1, 0)


def segments(index: Index, numbers: Iterable[int]) -> dict[int, Segment]:
    """Return, for each chunk number that stands somewhere, the segment that holds it."""
    wanted = sorted(set(numbers))
    found: dict[int, Segment] = {}
    last: Segment | None = None
    for at in range(0, len(wanted), _AT_ONCE):
        some = wanted[at : at + _AT_ONCE]
        marks = ",".join(["(?)"] * len(some))
        rows = index.select(
            f"WITH n(x) AS (VALUES {marks})"  # noqa: S608 - question marks only
            " SELECT DISTINCT c.* FROM n JOIN chunks c ON c.first = (SELECT max(first) FROM chunks WHERE first <= x)"
            " ORDER BY c.first",
            some,
        )
        held = iter(rows)
        row = next(held, None)
        for number in some:
            while row is not None and row[0] <= number:
                last, row = read_segment(row), next(held, None)
                if last is None:
                    index.found_damage("a row fails its check")
            if last is not None and last.first <= number < last.first + last.chunks:
                found[number] = last
    return found


def ranges(index: Index, owner: str, view: str | None = None) -> list[Segment]:
    """Return all segments of a text, in order."""
    rows = index.select("SELECT * FROM chunks WHERE owner = ? ORDER BY first", (owner,))
    read = [read_segment(row) for row in rows]
    return [segment for segment in read if segment is not None and view in (None, segment.view)]


def vocabulary(index: Index, beginning: str, limit: int) -> list[tuple[str, int]]:
    """Return up to `limit` stems of the chunks' words that begin so, and how many chunks hold each."""
    end = beginning[:-1] + chr(ord(beginning[-1]) + 1)
    rows = index.select(
        "SELECT term, doc FROM chunks_vocab WHERE term >= ? AND term < ? LIMIT ?", (beginning, end, limit)
    )
    return [(term, count) for term, count in rows]


def _named(index: Index, table: str, last: str, expression: str, limit: int) -> list[tuple[int, int]]:
    rows = index.select(
        f"SELECT rowid, {last} FROM {table} WHERE {table} MATCH ? ORDER BY rowid DESC LIMIT ?",  # noqa: S608 - our own
        (expression, limit),
    )
    return [(first, end) for first, end in rows if end is not None]
