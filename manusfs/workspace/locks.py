"""Who may write: flock on a session's transcript, on the workspace folder itself, and a short one for notes."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self
from weakref import WeakKeyDictionary

from manusfs.errors import Locked
from manusfs.workspace.fs import storage_error
from manusfs.workspace.paths import Root

__all__ = ["WorkspaceLock", "lock_session", "lock_workspace", "short_lock"]

_SHORT_WAIT_S = 30.0


def lock_session(fd: int, session: str = "") -> None:
    """Hold the session whose transcript is open as `fd` until that descriptor is closed.

    Raises:
        Locked: another process (or another transcript of this one) writes to it.
    """
    if not _try(fd, fcntl.LOCK_EX):
        raise Locked(
            f"session {session or 'of this transcript'} is being written by another process",
            hint="wait until that run ends or stop it with Ctrl-C, then resume; or start a new run",
        )


class _Held:
    """What one open workspace holds, by one descriptor: a program may repair the workspace that it works in."""

    def __init__(self) -> None:
        self.fd = -1
        self.shared = 0
        self.alone = 0

    def take(self, root: Root, shared: bool) -> bool:
        if self.fd < 0:
            self.fd = root.open_dir("")
        kept = self.alone or (shared and self.shared)
        if not kept and not _try(self.fd, fcntl.LOCK_SH if shared else fcntl.LOCK_EX):
            # An attempt to get more than one has may cost what one had.
            self._settle()
            return False
        self.shared += shared
        self.alone += not shared
        return True

    def leave(self, shared: bool) -> None:
        self.shared -= shared
        self.alone -= not shared
        self._settle()

    def _settle(self) -> None:
        if self.alone:
            return
        if self.shared:
            _try(self.fd, fcntl.LOCK_SH)
        else:
            os.close(self.fd)
            self.fd = -1


_held: WeakKeyDictionary[Root, _Held] = WeakKeyDictionary()
_guard = threading.Lock()


class WorkspaceLock:
    """A held lock on the workspace; `release` or the end of a `with` lets it go, and so does the end of the process."""

    def __init__(self, held: _Held, shared: bool) -> None:
        self._held: _Held | None = held
        self._shared = shared

    def release(self) -> None:
        """Let the workspace go."""
        with _guard:
            held, self._held = self._held, None
            if held is not None:
                held.leave(self._shared)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.release()


def lock_workspace(root: Root, shared: bool) -> WorkspaceLock:
    """Return the lock on the whole workspace: shared for work in it (each open session), not shared for repair and gc.

    Locks that one `root` holds go together, so that a program may repair what it has open.

    Raises:
        Locked: another process, or another opening of the folder, holds it in a way that does not go with ours.
    """
    with _guard:
        held = _held.setdefault(root, _Held())
        if held.take(root, shared):
            return WorkspaceLock(held, shared)
    if shared:
        raise Locked("the workspace is being repaired by another process", hint="wait until it is done, then try again")
    raise Locked("the workspace is in use by another process", hint="end the runs in it first, then try again")


@contextmanager
def short_lock(root: Root, wait_s: float = _SHORT_WAIT_S) -> Iterator[None]:
    """Be the only one, among threads and processes, inside the `with`: for taking the next number, no longer.

    It is a flock on the folder `observations/`, which nothing else locks.

    Raises:
        Locked: another process held it for `wait_s` seconds.
    """
    fd = root.open_dir("observations", create=True)
    try:
        _wait(fd, wait_s)
        yield
    finally:
        os.close(fd)


def _wait(fd: int, wait_s: float) -> None:
    pause = 0.001
    until = time.monotonic() + wait_s
    while not _try(fd, fcntl.LOCK_EX):
        if time.monotonic() > until:
            raise Locked(
                f"another process has been numbering observations for {wait_s:.0f} s",
                hint="is a stopped (Ctrl-Z) manusfs still there? end it, then try again",
            )
        time.sleep(pause)
        pause = min(pause * 2, 0.05)


def _try(fd: int, how: int) -> bool:
    try:
        fcntl.flock(fd, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise storage_error(error, "lock", "", fd) from error
    return True
