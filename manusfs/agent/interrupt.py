"""How a run is asked to stop: once politely, twice at once."""

from __future__ import annotations

import threading
from typing import Protocol

from manusfs.errors import Interrupted

__all__ = ["Interrupt", "Stop"]


class Stop(Protocol):
    """What the agent looks at between two steps: a `threading.Event` will do."""

    def is_set(self) -> bool:
        """Return True once the run should finish writing and stop."""
        ...


class Interrupt:
    """A Stop for Ctrl-C: the first press asks, the second raises. Install `press` as the signal's handler."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def is_set(self) -> bool:
        """Return True once `press` was called."""
        return self._event.is_set()

    def press(self, *_: object) -> None:
        """Ask for a stop; asked before, stop at once.

        Raises:
            Interrupted: this is the second time.
        """
        if self._event.is_set():
            raise Interrupted("stopped at once", hint="`manusfs resume` goes on; what was being written is repaired")
        self._event.set()
