"""Checks a transcript line by line: its checksums, its numbers, and that every part still gives what was shown."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from manusfs.errors import ManusfsError, NotFound
from manusfs.memory.findings import Findings
from manusfs.memory.renderer import Renderer
from manusfs.memory.verify_refs import broken_refs, own_refs
from manusfs.memory.verify_sessions import gap
from manusfs.records import Event, Part, TextPart, part_from_json

if TYPE_CHECKING:
    from manusfs.workspace import Folder

__all__ = ["check_transcript", "unsealed"]

_ROUND = b"\xef\xbb\xbf \t\r"
"""What editors and version control put round lines."""

_SEALED = re.compile(rb'(?s)(.*,)"crc":"([0-9a-f]{8})"\}\Z')


def unsealed(line: bytes) -> dict[str, Any] | None:
    """Return the object that `line` holds; None when its checksum does not match."""
    match = _SEALED.match(line)
    if match is None or zlib.crc32(match[1]) != int(match[2], 16):
        return None
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def check_transcript(folder: Folder, session: str, renderer: Renderer, found: Findings) -> None:
    """Take in what the transcript of `session` says, and what is wrong with it."""
    path = f"sessions/{session}/transcript.jsonl"
    try:
        raw = folder.root.read(path)
    except NotFound:
        # A session that died before its first line has nothing that could be lost.
        return
    except ManusfsError as error:
        found.damaged.append(f"msg:{session}:1 {path}: {found.unreadable(error, path)}")
        found.named.damaged.add(session)
        return
    found.sessions.add(session)
    found.bytes += len(raw)
    lines = _Lines(session, path, renderer, found)
    for number, line in enumerate(raw.split(b"\n"), 1):
        if line and not lines.take(line, number):
            return
    if lines.doubtful or lines.rounded:
        found.named.damaged.add(session)
        found.damaged.extend(lines.gaps(raw))


class _Lines:
    def __init__(self, session: str, path: str, renderer: Renderer, found: Findings) -> None:
        self._session = session
        self._path = path
        self._renderer = renderer
        self._found = found
        self._last = 0
        self._before: dict[int, Event] = {}
        self._told: list[int] = []
        self.rounded = 0
        self.doubtful = False

    def take(self, line: bytes, number: int) -> bool:
        """Check one line; False where the whole file is that of another session."""
        event = unsealed(line)
        if event is None and (event := unsealed(line.strip(_ROUND))) is not None:
            self.rounded += 1
        if event is None or not isinstance(event.get("seq"), int):
            self._tell(self._last + 1, f"line {number} is not whole")
            self._told.append(self._last + 1)
            return True
        if not self._last and (owner := _owner(event)) not in ("", self._session):
            self._tell(1, f"it is the transcript of session {owner[:80]}")
            self._found.named.damaged.add(self._session)
            return False
        if event["seq"] <= self._last:
            self._tell(event["seq"], f"line {number} is out of order")
        self.doubtful = self.doubtful or event["seq"] != self._last + 1
        self._last = max(self._last, event["seq"])
        try:
            self._event(event)
        except (KeyError, TypeError, ValueError, AttributeError, ManusfsError):
            self._tell(event["seq"], f"line {number} is no event that this version can read")
        return True

    def gaps(self, raw: bytes) -> Iterator[str]:
        """Yield a line for each run of numbers that is not there; what is told of as not whole is told once."""
        from manusfs.session.lines import scan

        if self.rounded:
            lines = "1 line has" if self.rounded == 1 else f"{self.rounded:,} lines have"
            yield f"msg:{self._session}:1 {self._path}: {lines} other line ends or blanks round a whole record"
        for first, last in scan(raw).missing:
            if not any(first <= told <= last for told in self._told):
                yield gap(self._session, first, last)

    def _tell(self, seq: int, what: str) -> None:
        self.doubtful = True
        self._found.damaged.append(f"msg:{self._session}:{seq} {self._path}: {what}")

    def _event(self, event: Mapping[str, Any]) -> None:
        found, seq = self._found, int(event["seq"])
        _parts_of(event, self._session, self._renderer, found)
        self._before[seq] = Event(event["kind"], event["data"], seq)
        found.named.take(self._before[seq], self._session)
        if event["kind"] == "epoch":
            found.refs += len(own_refs(self._before[seq]))
            for lost in broken_refs(self._before[seq], self._session, self._before):
                found.lost.setdefault(lost, [lost])


def _owner(event: Mapping[str, Any]) -> str:
    data = event.get("data")
    return str(data.get("session", "")) if event.get("kind") == "session" and isinstance(data, dict) else ""


def _parts_of(event: Mapping[str, Any], session: str, renderer: Renderer, found: Findings) -> None:
    data = event["data"]
    if event["kind"] == "observation":
        found.known.add(str(data["id"]))
    for part in _parts(event["kind"], data):
        if isinstance(part, TextPart):
            continue
        found.refs += 1
        found.known.add(part.ref.id)
        try:
            renderer.text(part)
        except ManusfsError as error:
            found.unreadable(error, "")
            # What is damaged is told once, as damaged: repair, or reading it, may bring it back.
            if part.ref.id not in found.broken.values():
                line = f"{part.ref} in msg:{session}:{event['seq']}: {error}"
                found.lost.setdefault(f"obs:{part.ref.id}", []).append(line)


def _parts(kind: str, data: Mapping[str, Any]) -> Iterator[Part]:
    stored = {"observation": "part", "shown": "parts", "epoch": "opening"}.get(kind)
    if stored is None:
        return
    value = data.get(stored, [])
    for part in [value] if isinstance(value, dict) else value:
        yield part_from_json(part)
