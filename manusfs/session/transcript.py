"""The append-only log of one session: made, locked, read back, and never edited."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import nullcontext
from types import TracebackType
from typing import Self

from manusfs.errors import ManusfsError, NotFound, StorageError
from manusfs.records import FORMAT, Event
from manusfs.session.lines import encode, scan
from manusfs.session.names import FILE, PLACE, check_name, misplaced, new_name, now, transcript_path
from manusfs.version import __version__
from manusfs.workspace import Folder, Root, WorkspaceLock, lock_session, lock_workspace, read_span
from manusfs.workspace.lost import keep_bytes

__all__ = ["Transcript", "next_child"]

_ATTEMPTS = 64


class Transcript:
    """One session's events. `append` is durable when it returns; nothing that was written is ever changed."""

    def __init__(self, root: Root, session: str, fd: int) -> None:
        self._root = root
        self._fd = fd
        self._events: list[Event] = []
        self._frozen: tuple[Event, ...] | None = ()
        self._size = 0
        self._next_seq = 1
        self._broken = ""
        self._workspace_lock: WorkspaceLock | None = None
        self.session = session
        self.repairs: tuple[str, ...] = ()
        """What was found damaged and what was done about it, one line each, for the person."""

    @classmethod
    def create(cls, folder: Folder, purpose: str = "run", parent: str | None = None, title: str = "") -> Transcript:
        """Make a new session and return its transcript, locked, with its first event durable.

        `purpose` is "run", "intake" or "child"; a child of `parent` lies beside it as `<parent>.<n>`.
        """
        session = _make_folder(folder.root, parent)
        with folder.root.folders() as folders:
            parts = (PLACE, session)
            dirfd = folders.open(parts)
            folder.fs.close(folder.fs.create(dirfd, FILE))
            transcript = cls(folder.root, session, folder.root.append_to(transcript_path(session)))
            try:
                transcript._lock()
                data = {"session": session, "format": FORMAT, "purpose": purpose, "parent": parent}
                transcript.append([Event("session", {**data, "version": __version__, "title": title})])
                folders.touch(parts)
                folders.sync()
            except BaseException:
                transcript.close()
                raise
        return transcript

    @classmethod
    def child(cls, folder: Folder, session: str, parent: str, title: str = "") -> Transcript:
        """Return the transcript of the child `session` of `parent`, locked: made now, or as a crash left it.

        Raises:
            Locked: someone is still writing to it.
        """
        parts = (PLACE, check_name(session))
        with folder.root.folders() as folders:
            try:
                folder.root.fs.close(folder.root.fs.create(folders.open(parts), FILE))
            except FileExistsError:
                pass
            folders.touch(parts)
            folders.sync()
        transcript = cls.open(folder, session, write=True)
        try:
            if not transcript.events:
                data = {"session": session, "format": FORMAT, "purpose": "child", "parent": parent}
                transcript.append([Event("session", {**data, "version": __version__, "title": title})])
        except BaseException:
            transcript.close()
            raise
        return transcript

    @classmethod
    def open(cls, folder: Folder, session: str, write: bool = False) -> Transcript:
        """Return the transcript of `session`; with `write`, locked and with a torn last line set aside.

        Raises:
            NotFound: no such session.
            Locked: another process writes to it, or repairs the workspace (only with `write`).
            Damaged: the transcript of another session stands in its place.
        """
        path = transcript_path(check_name(session))
        try:
            # Locked before it is opened: repair puts another file in the place of one with damaged lines.
            with lock_workspace(folder.root, shared=True) if write else nullcontext():
                fd = folder.root.append_to(path) if write else folder.root.open_read(path)
                transcript = cls(folder.root, session, fd)
                if write:
                    transcript._lock_or_close()
        except NotFound as error:
            raise NotFound(f"no session {session!r}", hint="`manusfs ls sessions` lists them") from error
        try:
            transcript._load(write)
        except BaseException:
            transcript.close()
            raise
        return transcript

    def _lock_or_close(self) -> None:
        try:
            self._lock()
        except BaseException:
            self.close()
            raise

    def _lock(self) -> None:
        # Shared: sessions go together, but nobody repairs the workspace under them.
        self._workspace_lock = lock_workspace(self._root, shared=True)
        lock_session(self._fd, self.session)

    def _load(self, write: bool) -> None:
        raw = read_span(self._fd, 0, os.fstat(self._fd).st_size)
        found = scan(raw)
        if found.owner not in ("", self.session):
            raise misplaced(self.session, found.owner)
        self._events, self._frozen = list(found.events), None
        self._size, self._next_seq = found.size, found.next_seq
        told = [f"session {self.session}: {place}; left as it is" for place in found.damage]
        if found.size < len(raw):
            told.append(self._cut(raw[found.size :]) if write else self._tell_tail(len(raw) - found.size))
        elif not found.closed and write:
            self._put(b"\n")
        if write and self._events and self._events[-1].seq + 1 < self._next_seq:
            # Who writes names lines before they are written: the next number must follow from the last event.
            self.append([Event("mended", {"kept": ""})])
        if not write:
            self._broken = "it was opened for reading"
        self.repairs = tuple(told)

    def _tell_tail(self, length: int) -> str:
        return f"session {self.session}: the last line is not whole: {length} bytes at offset {self._size}"

    def _cut(self, tail: bytes) -> str:
        kept = keep_bytes(self._root, f"{self.session}-{self._size}.torn", tail)
        self._root.fs.truncate(self._fd, self._size)
        self._root.fs.sync(self._fd)
        return f"{self._tell_tail(len(tail))}; cut off and kept in {kept}"

    @property
    def events(self) -> tuple[Event, ...]:
        """All whole events, oldest first."""
        if self._frozen is None:
            self._frozen = tuple(self._events)
        return self._frozen

    def append(self, events: Sequence[Event]) -> tuple[Event, ...]:
        """Write `events` in one go, wait until they are durable, and return them with their numbers and time.

        Raises:
            StorageError: they could not be written. Then none of them is in the transcript, and it can be appended to
                again; where even that could not be made sure, every later append is refused and says so.
        """
        if self._broken:
            raise StorageError(f"session {self.session} can't be written: {self._broken}", hint="`manusfs resume` it")
        if not events:
            return ()
        time, lines, numbered = now(), [], []
        for seq, event in enumerate(events, self._next_seq):
            line, stored = encode(Event(event.kind, event.data, seq, time))
            lines.append(line)
            numbered.append(stored)
        # Ctrl-C may come at any place below. What memory and file agree on is only known again at the end.
        self._broken = "an earlier write was interrupted"
        self._put(b"".join(lines))
        self._events.extend(numbered)
        self._frozen = None
        self._next_seq += len(numbered)
        self._broken = ""
        return tuple(numbered)

    def _put(self, data: bytes) -> None:
        try:
            self._root.fs.write(self._fd, data)
            self._root.fs.sync(self._fd)
        except BaseException:
            # A later line must never land behind half of this one.
            self._take_back()
            raise
        self._size += len(data)

    def _take_back(self) -> None:
        try:
            self._root.fs.truncate(self._fd, self._size)
            self._root.fs.sync(self._fd)
        except ManusfsError as error:
            self._broken = f"a failed write could not be taken back ({error})"
        else:
            self._broken = ""

    def close(self) -> None:
        """Let the session go; its lock ends."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
            if self._workspace_lock is not None:
                self._workspace_lock.release()
            self._broken = self._broken or "it is closed"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def next_child(folder: Folder, parent: str) -> int:
    """Return the least number that no child of `parent` has or had, as far as the folder tells."""
    with folder.root.folders() as folders:
        return _children(folders.open((PLACE,)), check_name(parent)) + 1


def _make_folder(root: Root, parent: str | None) -> str:
    """Make the folder of a new session, by exclusive mkdir, and return the session's name."""
    with root.folders() as folders:
        sessions = folders.open((PLACE,))
        first = 1 if parent is None else _children(sessions, check_name(parent)) + 1
        for attempt in range(_ATTEMPTS):
            name = new_name(attempt) if parent is None else f"{parent}.{first + attempt}"
            try:
                root.fs.mkdir(sessions, name)
            except FileExistsError:
                continue
            folders.touch((PLACE,))
            folders.sync()
            return name
    raise StorageError(f"no free name for a session after {_ATTEMPTS} attempts", hint="try again")


def _children(sessions: int, parent: str) -> int:
    numbers = [0]
    with os.scandir(sessions) as entries:
        for entry in entries:
            head, _, number = entry.name.rpartition(".")
            if head == parent and number.isdecimal():
                numbers.append(int(number))
    return max(numbers)
