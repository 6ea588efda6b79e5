"""How a run is asked to stop: once politely, twice at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from manusfs.errors import Interrupted

__all__ = ["Interrupt", "Left", "Stop"]


class Left(KeyboardInterrupt):
    """Ends a wait that may be left at any point: for a model's words, which are not kept before they are whole."""


class Stop(Protocol):
    """What the agent looks at between two steps: a `threading.Event` will do."""

    def is_set(self) -> bool:
        """Return True once the run should finish writing and stop."""
        ...


class Interrupt:
    """A Stop for Ctrl-C: the first press asks, the second raises. Install `press` as the signal's handler."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._leaves = False

    def is_set(self) -> bool:
        """Return True once `press` was called."""
        return self._event.is_set()

    def press(self, *_: object) -> None:
        """Ask for a stop; asked before, stop at once.

        Raises:
            Interrupted: this is the second time.
            Left: what runs is a wait that may be left.
        """
        if self._event.is_set():
            raise Interrupted("stopped at once", hint="`manusfs resume` goes on; what was being written is repaired")
        self._event.set()
        if self._leaves:
            raise Left

    @contextmanager
    def leaving(self, leaves: bool = True) -> Iterator[None]:
        """Let a press raise `Left` in here, or not in here within such a wait. Only for the thread that gets signals.

        Raises:
            Left: also when `press` was called before.
        """
        before, self._leaves = self._leaves, leaves
        try:
            if leaves and self._event.is_set():
                raise Left
            yield
        finally:
            self._leaves = before
