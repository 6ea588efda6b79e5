"""Ctrl-C, a polite kill and a closed terminal: once asks a command to stop, twice stops it at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from manusfs.cli.out import talk

__all__ = ["Pressed", "stopped_by"]

_SAID_AFTER_S = 0.7
"""A stop that takes longer than this is told that it is under way."""


class Pressed:
    """Whether a stop was asked for; the second time raises."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def is_set(self) -> bool:
        """Return True once `press` was called."""
        return self._event.is_set()

    def press(self, *_: object) -> None:
        """Ask for a stop; asked before, stop at once.

        Raises:
            KeyboardInterrupt: this is the second time.
        """
        if self._event.is_set():
            raise KeyboardInterrupt
        self._event.set()


@contextmanager
def stopped_by(context: click.Context, press: Callable[[], None]) -> Iterator[None]:
    """Let the signals that end a program call `press`; one that is ignored (nohup) stays so."""
    late = threading.Timer(_SAID_AFTER_S, talk, (context, "stopping: what was begun is written down; again: at once"))
    late.daemon = True

    def pressed(*_: object) -> None:
        if not late.is_alive() and not late.finished.is_set():
            late.start()
        press()

    wanted = [s for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if signal.getsignal(s) != signal.SIG_IGN]
    before = [(number, signal.signal(number, pressed)) for number in wanted]
    try:
        yield
    finally:
        late.cancel()
        for number, handler in before:
            signal.signal(number, handler)
