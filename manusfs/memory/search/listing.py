"""Listings for models: observations, notes, sessions and reports by kind, host, time and session, a page at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from manusfs.errors import UsageError
from manusfs.memory.search.named import on_host
from manusfs.records import counted, escape
from manusfs.session import sessions
from manusfs.store import ObservationRow

if TYPE_CHECKING:
    from manusfs.store import Index
    from manusfs.workspace import Folder

__all__ = ["KINDS", "Listing", "fitting", "listing"]

KINDS = ("observations", "notes", "sessions", "reports")


@dataclass(frozen=True, slots=True)
class Listing:
    """One page of a listing: `lines` are numbers `start` to `start + len(lines) - 1` of `total`."""

    of: str
    total: int
    start: int
    lines: tuple[str, ...]


def listing(
    folder: Folder,
    index: Index,
    of: str = "observations",
    *,
    kind: str = "",
    host: str = "",
    session: str = "",
    after: str = "",
    start: int = 1,
    count: int = 50,
) -> Listing:
    """Return a page of what there is, newest first, each on one line with its ref first.

    `kind` is web, file, tool or user; `after` the beginning of an ISO 8601 time. Filters that do not fit `of` are
    not used. Lines are escaped.

    Raises:
        UsageError: nothing is called `of`.
    """
    if of not in KINDS:
        raise UsageError(f"can't list {of!r}", hint=f"one of {', '.join(KINDS)}")
    if of == "observations":
        rows = [row for row in reversed(index.observations()) if _fits(row, kind, host, session, after)]
        made = [_observation(row) for row in rows[max(0, start - 1) : max(0, start - 1) + count]]
        return Listing(of, len(rows), max(1, start), tuple(made))
    lines = list(_sessions(folder, after) if of == "sessions" else _files(folder, of))
    return Listing(of, len(lines), max(1, start), tuple(lines[max(0, start - 1) : max(0, start - 1) + count]))


def fitting(index: Index, *, kind: str = "", host: str = "", session: str = "", after: str = "") -> frozenset[str]:
    """Return the refs of the observations that fit, as in `listing`."""
    return frozenset(f"obs:{row.id}" for row in index.observations() if _fits(row, kind, host, session, after))


def _fits(row: ObservationRow, kind: str, host: str, session: str, after: str) -> bool:
    return (
        (not kind or row.kind == kind)
        and (not host or on_host(row.host, host))
        and (not session or row.session == session)
        and (not after or row.created >= after)
    )


def _observation(row: ObservationRow) -> str:
    state = f" HTTP {row.status}" if row.status >= 400 else "" if row.complete else " cut"
    source = row.url or row.source
    size = counted(row.text_bytes, "byte")
    return f'obs:{row.id} {row.kind}{state} {size} "{escape.field(row.title)}" {escape.field(source, 200)}'


def _sessions(folder: Folder, after: str) -> Iterator[str]:
    for info in reversed(sessions(folder)):
        if not after or info.created >= after:
            state = f"ended {info.ended}" if info.ended else "can be resumed"
            title = escape.field(info.title)
            yield f'{info.session} {info.purpose} {info.created} {counted(info.turns, "turn")}, {state} "{title}"'


def _files(folder: Folder, place: str) -> Iterator[str]:
    if not folder.root.is_dir(place):
        return
    for path in folder.root.walk(place):
        yield f"{escape.field(path, 300)} {counted(folder.root.size(path), 'byte')}"
