"""Finds sessions whose transcript is gone, emptied or cut, by what else in the folder names them.

An empty transcript that nothing names is what a crash leaves before the first line: no fault.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from manusfs.errors import ManusfsError, NotFound

if TYPE_CHECKING:
    from manusfs.records import Event
    from manusfs.workspace import Folder, Root

__all__ = ["Named"]

_NAME = re.compile(r"\d{8}-[0-9a-z]{4,12}(?:\.\d{1,6})*\Z")
_REPORT = re.compile(r"reports/(.+)-(\d{1,9})\.md\Z")
_HEAD = 32_768


@dataclass(slots=True)
class Named:
    """What names sessions, and the reports whose end stands in a transcript."""

    by: dict[str, str] = field(default_factory=dict)
    """For each session the first place that names it."""
    stored: dict[str, str] = field(default_factory=dict)
    """For each session an observation that was stored in it."""
    ended: set[str] = field(default_factory=set)

    def name(self, session: object, place: str) -> None:
        """Take in that `place` is of `session`."""
        if isinstance(session, str) and _NAME.match(session):
            # A person may delete a session as a whole: its observations are orphans then, and no fault.
            (self.stored if place.startswith("obs:") else self.by).setdefault(session, place)

    def take(self, event: Event, session: str) -> None:
        """Take in a line of `session`: its parent, a child that has come to something, a report."""
        if event.kind == "session":
            self.name(event.data.get("parent"), f"msg:{session}:{event.seq}")
        elif event.kind == "child" and event.data.get("turns"):
            self.name(event.data.get("session"), f"msg:{session}:{event.seq}")
        elif event.kind == "end":
            self.ended.add(str(event.data.get("report", "")))

    def broken(self, folder: Folder, reports: list[str]) -> Iterator[str]:
        """Yield a line for each transcript that does not hold what must have been in it.

        Others may be writing: what was not seen yet is looked for again before anything is said of it.
        """
        for path in reports:
            if (match := _REPORT.match(path)) and _is_of(folder.root, path, match[1]):
                self.name(match[1], path)
        there = {session: place for session, place in self.stored.items() if folder.root.is_dir(f"sessions/{session}")}
        witnesses = {**there, **self.by}
        empty = {session for session in witnesses if _is_empty(folder.root, session)}
        for session in sorted(empty):
            yield f"{_path(session)}: it is gone or empty, and {witnesses[session]} is of that session"
        for path in reports:
            match = _REPORT.match(path)
            if path in self.ended or match is None or match[1] in empty or not _is_of(folder.root, path, match[1]):
                continue
            if _is_cut(folder, match[1], int(match[2]), path):
                yield f"{_path(match[1])}: it is cut: it holds neither the answer nor the end that {path} is of"


def _path(session: str) -> str:
    return f"sessions/{session}/transcript.jsonl"


def _is_of(root: Root, path: str, session: str) -> bool:
    """Return True if manusfs wrote the report at `path` for `session`: people and models may name files so, too."""
    if not _NAME.match(session):
        return False
    try:
        return f" · session {session}\n".encode() in root.read(path, 0, _HEAD)
    except ManusfsError:
        return False


def _is_empty(root: Root, session: str) -> bool:
    try:
        return not root.read(_path(session), 0, _HEAD).strip()
    except NotFound:
        return True
    except ManusfsError:
        # It is told as damaged where the transcripts are read.
        return False


def _is_cut(folder: Folder, session: str, number: int, report: str) -> bool:
    """Return True if `session` holds neither the end of `report` nor an answer that can have made it.

    A crash between the report and its end leaves the answer. Where lines are damaged, that is told already.
    """
    from manusfs.session import Transcript

    try:
        with Transcript.open(folder, session) as transcript:
            events, whole = transcript.events, not transcript.repairs
    except ManusfsError:
        return False
    answered = False
    for event in events:
        if event.kind == "end" and (match := _REPORT.match(str(event.data.get("report", "")))):
            if match[0] == report:
                return False
            answered = answered and int(match[2]) > number
        answered = answered or _is_answer(event)
    return whole and not answered


def _is_answer(event: Event) -> bool:
    content = event.data.get("content") if event.kind == "message" and event.data.get("role") == "assistant" else None
    return bool(content) and not any(isinstance(b, dict) and b.get("type") == "tool_use" for b in content or ())
