"""What `ls` lists: observations, notes and reports, sessions; one line each."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from manusfs.errors import ManusfsError, NotFound, PathRefused
from manusfs.memory.notes import is_template
from manusfs.memory.render import name_of
from manusfs.records import Source, secrets
from manusfs.session import SessionInfo, sessions

if TYPE_CHECKING:
    from manusfs.store import Index, ObservationRow, Observations
    from manusfs.workspace import Folder

__all__ = ["KINDS", "NoteLine", "ObservationLine", "SessionLine", "lines"]

_DONE = ("end_turn", "stop_sequence", "")
KINDS = ("observations", "notes", "sessions", "reports")


@dataclass(frozen=True, slots=True)
class ObservationLine:
    """One observation, in the order in which they first came."""

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
    name: str = ""
    """What people call its source: the URL, the file's name, or the tool with its arguments."""
    note: str = ""
    """Why there is no text to read, for one without."""

    @classmethod
    def of(cls, row: ObservationRow, note: str = "") -> ObservationLine:
        """Return the line of an index row."""
        error = f"HTTP {row.status}" if row.status >= 400 else "" if row.complete else "cut on its way"
        return cls(
            source=secrets.text(row.source),
            ref=f"obs:{row.id}",
            kind=row.kind,
            path=row.path,
            url=secrets.url(row.url),
            title=secrets.text(row.title),
            media_type=row.media_type,
            bytes=row.bytes,
            text_bytes=row.text_bytes,
            tokens=row.tokens,
            sha256=row.sha256,
            status="error" if error else "known",
            error=error,
            created=row.created,
            name=name_of(Source(row.kind, row.source, row.source.partition(" ")[0] if row.kind == "tool" else "")),  # type: ignore[arg-type]
            note=note,
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
    """One session; `ended` is empty for one that was left in the middle."""

    session: str
    purpose: str
    created: str
    ended: str
    title: str
    turns: int
    state: str
    """ "finished", "stopped" (it ended before it was done; `stop` says why) or "open"."""
    stop: str

    @classmethod
    def of(cls, info: SessionInfo) -> SessionLine:
        """Return the line of a session. What was added by hand is finished whenever its last line is written."""
        done = info.purpose == "intake" or (info.ended and info.stop in _DONE)
        state = "finished" if done else "stopped" if info.ended else "open"
        title = secrets.text(info.title)
        return cls(info.session, info.purpose, info.created, info.ended, title, info.turns, state, info.stop)

    def to_json(self) -> dict[str, Any]:
        """Return the object that `ls --json` prints."""
        return asdict(self)


def lines(
    folder: Folder, observations: Observations, index: Index, kind: str
) -> Iterator[ObservationLine | NoteLine | SessionLine]:
    """Yield what there is of `kind`, one of `KINDS`: oldest first."""
    if kind == "observations":
        yield from _observations(observations, index)
    elif kind == "sessions":
        yield from map(SessionLine.of, sessions(folder))
    else:
        yield from (line for _, line in sorted(_files(folder, kind), key=lambda found: (found[0], found[1].path)))


def _observations(observations: Observations, index: Index) -> Iterator[ObservationLine]:
    """Yield those whose folder is there, by first arrival: the index may still know what was taken away."""
    there = set(observations.ids())
    for row in sorted(index.observations(), key=lambda row: (row.first_order, row.id)):
        if row.id in there:
            yield ObservationLine.of(row, "" if row.text_bytes else _no_text(observations, row.id))


def _no_text(observations: Observations, id: str) -> str:
    try:
        return observations.meta(id).no_text
    except ManusfsError as error:
        return str(error)


def _files(folder: Folder, place: str) -> Iterator[tuple[int, NoteLine]]:
    """Yield the files below `place` with the time of their last change; what `init` put there is no note."""
    if not folder.root.is_dir(place):
        return
    for path in folder.root.walk(place):
        try:
            entry, head = folder.root.entry(path), folder.root.read(path, 0, 4_096)
        except (NotFound, PathRefused):
            continue  # gone since it was listed
        if not is_template(path, head):
            modified = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(entry.mtime_ns / 1e9))
            yield entry.mtime_ns, NoteLine(path, _title(head.decode("utf-8", "replace")), entry.size, modified)


def _title(head: str) -> str:
    for line in head.splitlines():
        if line.strip():
            return secrets.text(line.lstrip("# ").strip()[:400])[:200]
    return ""
