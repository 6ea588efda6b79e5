"""What `ls` lists: observations, notes and reports, sessions; one line each."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from manusfs.session import SessionInfo, sessions

if TYPE_CHECKING:
    from manusfs.store import Index, ObservationRow
    from manusfs.workspace import Folder

__all__ = ["KINDS", "NoteLine", "ObservationLine", "SessionLine", "lines"]

KINDS = ("observations", "notes", "sessions", "reports")


@dataclass(frozen=True, slots=True)
class ObservationLine:
    """One observation, newest last."""

    source: str
    ref: str
    kind: str
    path: str
    url: str
    title: str
    media_type: str
    bytes: int
    text_bytes: int
    tokens: int
    sha256: str
    status: str
    """ "known", or "error" for an error page or a cut body."""
    error: str
    created: str

    @classmethod
    def of(cls, row: ObservationRow) -> ObservationLine:
        """Return the line of an index row."""
        error = f"HTTP {row.status}" if row.status >= 400 else "" if row.complete else "cut on its way"
        return cls(
            source=row.source,
            ref=f"obs:{row.id}",
            kind=row.kind,
            path=row.path,
            url=row.url,
            title=row.title,
            media_type=row.media_type,
            bytes=row.bytes,
            text_bytes=row.text_bytes,
            tokens=row.tokens,
            sha256=row.sha256,
            status="error" if error else "known",
            error=error,
            created=row.created,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the object that `ls --json` prints."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class NoteLine:
    """One note or report, as it is now."""

    path: str
    title: str
    bytes: int
    modified: str

    def to_json(self) -> dict[str, Any]:
        """Return the object that `ls --json` prints."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class SessionLine:
    """One session; `ended` is empty for one that can be resumed."""

    session: str
    purpose: str
    created: str
    ended: str
    title: str
    turns: int

    @classmethod
    def of(cls, info: SessionInfo) -> SessionLine:
        """Return the line of a session."""
        return cls(info.session, info.purpose, info.created, info.ended, info.title, info.turns)

    def to_json(self) -> dict[str, Any]:
        """Return the object that `ls --json` prints."""
        return asdict(self)


def lines(folder: Folder, index: Index, kind: str) -> Iterator[ObservationLine | NoteLine | SessionLine]:
    """Yield what there is of `kind`, one of `KINDS`: oldest first, files by path."""
    if kind == "observations":
        yield from map(ObservationLine.of, index.observations())
    elif kind == "sessions":
        yield from map(SessionLine.of, sessions(folder))
    else:
        yield from _files(folder, kind)


def _files(folder: Folder, place: str) -> Iterator[NoteLine]:
    if not folder.root.is_dir(place):
        return
    for entry in folder.root.listdir(place):
        path = f"{place}/{entry.name}"
        if entry.is_dir:
            yield from _files(folder, path)
        else:
            head = folder.root.read(path, 0, 4_096).decode("utf-8", "replace")
            modified = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(entry.mtime_ns / 1e9))
            yield NoteLine(path, _title(head), entry.size, modified)


def _title(head: str) -> str:
    for line in head.splitlines():
        if line.strip():
            return line.lstrip("# ").strip()[:200]
    return ""
