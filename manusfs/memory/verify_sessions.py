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

__all__ = ["Named", "gap"]

_NAME = re.compile(r"\d{8}-[0-9a-z]{4,12}(?:\.\d{1,6})*\Z")
_REPORT = re.compile(r"reports/(.+)-(\d{1,9})\.md\Z")
_HEAD = 32_768


def gap(session: str, first: int, last: int) -> str:
    """Return what is told of the lines `first` to `last` of a transcript: later ones are there, these are not."""
    which = f"line {first} is" if first == last else f"lines {first}-{last} are"
    return f"msg:{session}:{first} {_path(session)}: {which} not whole or gone"


@dataclass(slots=True)
class Named:
    """What names sessions, and the reports whose end stands in a transcript."""

    by: dict[str, str] = field(default_factory=dict)
    """For each session the first place that names it."""
    stored: dict[str, dict[str, str]] = field(default_factory=dict)
    """For each session the observations that were stored in it, by the call that asked; one a call."""
    calls: dict[str, set[str]] = field(default_factory=dict)
    """For each session the calls that its transcript holds."""
    observed: dict[str, set[str]] = field(default_factory=dict)
    """For each session the ids of the observations that its transcript holds."""
    ended: set[str] = field(default_factory=set)
    damaged: set[str] = field(default_factory=set)
    """Sessions of whose transcripts damage is told already."""

    def name(self, session: object, place: str, call: str = "") -> None:
        """Take in that `place` is of `session`; an observation is of the `call` that asked for it."""
        if isinstance(session, str) and _NAME.match(session):
            # A person may delete a session as a whole: its observations are orphans then, and no fault.
            if place.startswith("obs:"):
                self.stored.setdefault(session, {}).setdefault(call, place)
            else:
                self.by.setdefault(session, place)

    def take(self, event: Event, session: str) -> None:
        """Take in a line of `session`: its parent, a child that has come to something, a report."""
        if event.kind == "session":
            self.name(event.data.get("parent"), f"msg:{session}:{event.seq}")
        elif event.kind == "child" and event.data.get("turns"):
            self.name(event.data.get("session"), f"msg:{session}:{event.seq}")
        elif event.kind == "observation":
            self.observed.setdefault(session, set()).add(str(event.data.get("id", "")))
        elif event.kind == "end":
            self.ended.add(str(event.data.get("report", "")))
        elif event.kind == "message":
            content = event.data.get("content")
            ids = (block.get("id") for block in content if isinstance(block, dict)) if isinstance(content, list) else ()
            self.calls.setdefault(session, set()).update(id for id in ids if isinstance(id, str))

    def broken(self, folder: Folder, reports: list[str]) -> Iterator[str]:
        """Yield a line for each transcript that does not hold what must have been in it.

        Others may be writing: what was not seen yet is looked for again before anything is said of it.
        """
        for path in reports:
            if (match := _REPORT.match(path)) and _is_of(folder.root, path, match[1]):
                self.name(match[1], path)
        there = {name: stored for name, stored in self.stored.items() if folder.root.is_dir(f"sessions/{name}")}
        witnesses = {**{name: next(iter(stored.values())) for name, stored in there.items()}, **self.by}
        empty = {session for session in witnesses if _is_empty(folder.root, session)}
        for session in sorted(empty):
            yield f"{_path(session)}: it is gone or empty, and {witnesses[session]} is of that session"
        # A call stands in the transcript before it is made: an observation of one that does not was seen by more of it,
        # unless it was made anew and saw the same.
        for session in sorted(there.keys() - empty - self.damaged):
            seen, observed = self.calls.get(session, set()), self.observed.get(session, set())
            for call, place in there[session].items():
                if call and call not in seen and place.removeprefix("obs:") not in observed:
                    self.damaged.add(session)
                    yield f"{_path(session)}: it is cut: it does not hold the call that stored {place}"
                    break
        for path in reports:
            match = _REPORT.match(path)
            if (
                path in self.ended
                or match is None
                or match[1] in empty | self.damaged
                or not _is_of(folder.root, path, match[1])
            ):
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
        # It is told as damaged where the transcripts are read; those of a link or a file are not among them.
        return not root.is_dir(f"sessions/{session}")


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
