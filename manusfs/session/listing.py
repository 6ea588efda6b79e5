"""What sessions there are, and single events of them, without loading whole transcripts."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from manusfs.errors import ManusfsError, NotFound
from manusfs.records import Event, valid_text
from manusfs.session.lines import scan
from manusfs.session.names import PLACE, check_name, is_name, misplaced, numbers, transcript_path
from manusfs.workspace import Folder, read_span

__all__ = ["SessionInfo", "complete_name", "read_event", "sessions"]

_HEAD_BYTES = 64 * 1024
_TAIL_BYTES = 16 * 1024
_CHUNK = 1 << 20
_TURN = b'"kind":"message","data":{"role":"assistant"'
_USER = re.compile(r"<user_message[^>]*>\s*(.*?)\s*</user_message>", re.DOTALL)
_TITLE_CHARS = 120


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """One line of the list of sessions. `ended` is empty for one that can be resumed."""

    session: str
    purpose: str
    created: str
    ended: str
    title: str
    turns: int
    stop: str = ""
    """Why it ended, as its `end` event says: "end_turn", "interrupted" and so on."""


def sessions(folder: Folder, *, children: bool = True) -> list[SessionInfo]:
    """Return all sessions, newest last, each followed by its sub-agents; without `children` none of these.

    Damaged ones are listed with what can still be read of them.
    """
    if not folder.root.is_dir(PLACE):
        return []
    found = [
        info
        for entry in folder.root.listdir(PLACE)
        if entry.is_dir
        and is_name(entry.name)
        and (children or "." not in entry.name)
        and (info := _info(folder, entry.name)) is not None
    ]
    created = {info.session: info.created for info in found}

    def place(info: SessionInfo) -> tuple[str, str, list[int]]:
        top = info.session.partition(".")[0]
        return created.get(top) or _day(top), top, numbers(info.session)

    return sorted(found, key=place)


def complete_name(folder: Folder, text: str) -> str:
    """Return the session that `text` names: whole, or by its beginning or its last digits where only one has them.

    Raises:
        NotFound: no session, or several.
    """
    root = folder.root
    names = sorted(e.name for e in root.listdir(PLACE) if e.is_dir and is_name(e.name)) if root.is_dir(PLACE) else []
    found = [name for name in names if len(text) >= 3 and (name.startswith(text) or name.endswith(text))]
    if text in names or len(found) == 1:
        return text if text in names else found[0]
    # The beginning of a session's name is that of its sub-agents' names, too.
    if len(tops := [name for name in found if "." not in name]) == 1:
        return tops[0]
    if found:
        raise NotFound(f"{text!r} can be several sessions: {', '.join(found[:8])}", hint="give more of the name")
    raise NotFound(f"no session {text[:80]!r}", hint="`manusfs ls sessions` lists them")


def _day(session: str) -> str:
    return f"{session[:4]}-{session[4:6]}-{session[6:8]}"


def read_event(folder: Folder, session: str, seq: int) -> Event:
    """Return event `seq` of `session`: the lines before it are passed over, not parsed.

    Raises:
        NotFound: no such session, or no whole event of that number in it.
        Damaged: the transcript of another session stands in its place.
    """
    fd = _open(folder, check_name(session))
    start = b'{"seq":%d,' % seq
    try:
        with os.fdopen(os.dup(fd), "rb") as file:
            for number, line in enumerate(file):
                if not number and (owner := scan(line).owner) not in ("", session):
                    raise misplaced(session, owner)
                if line.startswith(start):
                    for event in scan(line).events:
                        if event.seq == seq:
                            return event
        # Behind rubbish on the same line a whole record does not begin its line.
        for event in scan(read_span(fd, 0, os.fstat(fd).st_size)).events:
            if event.seq == seq:
                return event
    finally:
        os.close(fd)
    raise NotFound(f"session {session} has no event {seq}", hint=f"`manusfs show {session}` lists them")


def _open(folder: Folder, session: str) -> int:
    try:
        return folder.root.open_read(transcript_path(session))
    except NotFound as error:
        raise NotFound(f"no session {session!r}", hint="`manusfs ls sessions` lists them") from error


def _info(folder: Folder, session: str) -> SessionInfo | None:
    """Return what is known of `session`; None for one that died before its first event: nobody was told of it."""
    try:
        fd = _open(folder, session)
    except ManusfsError:
        return None
    try:
        size = os.fstat(fd).st_size
        head = list(_head_events(fd, size))
        tail = scan(_last_lines(fd, size)).events
        turns = _count(fd, size)
    finally:
        os.close(fd)
    if not size:
        return None
    first = head[0] if head else None
    data: dict[str, Any] = first.data if first is not None and first.kind == "session" else {}
    end = tail[-1] if tail and tail[-1].kind == "end" else None
    ended, stop = ("", "") if end is None else (end.time, str(end.data.get("stop", "")))
    title = str(data.get("title") or "") or _title(head)
    created = first.time if first is not None else ""
    return SessionInfo(session, str(data.get("purpose", "run")), created, ended, title, turns, stop)


def _head_events(fd: int, size: int) -> Iterator[Event]:
    """Yield the first events: as many as stand in the first bytes, and the opening even if it is longer."""
    for wanted in (_HEAD_BYTES, 16 * _HEAD_BYTES):
        raw = read_span(fd, 0, min(size, wanted))
        events = scan(raw[: raw.rfind(b"\n") + 1]).events
        if len(raw) == size or any(event.kind in ("epoch", "message") for event in events):
            break
    yield from events


def _last_lines(fd: int, size: int) -> bytes:
    tail = read_span(fd, max(0, size - _TAIL_BYTES), size)
    return tail if size <= _TAIL_BYTES else tail[tail.find(b"\n") + 1 :]


def _count(fd: int, size: int) -> int:
    """Return how many replies the bytes hold; the pattern can't stand inside a JSON text, where quotes are escaped."""
    count, position, rest = 0, 0, b""
    while position < size:
        piece = rest + read_span(fd, position, min(size, position + _CHUNK))
        count += piece.count(_TURN)
        position += _CHUNK
        rest = piece[-(len(_TURN) - 1) :]
    return count


def _title(events: list[Event]) -> str:
    for event in events:
        texts = _texts(event)
        for text in texts:
            if match := _USER.search(text):
                return _line(match[1])
        if texts:
            return _line(texts[-1])
    return ""


def _texts(event: Event) -> list[str]:
    """Return the texts of an epoch's opening or of a user's message."""
    if event.kind == "epoch":
        parts = event.data.get("opening")
    elif event.kind == "message" and event.data.get("role") == "user":
        parts = event.data.get("content")
    else:
        return []
    return [part["text"] for part in parts or () if isinstance(part, dict) and isinstance(part.get("text"), str)]


def _line(text: str) -> str:
    line = " ".join(valid_text(text).split())
    return line if len(line) <= _TITLE_CHARS else line[: _TITLE_CHARS - 1] + "…"
