"""A run's events as JSON lines, while somebody reads them."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from manusfs.cli import out
from manusfs.cli.named import typed

if TYPE_CHECKING:
    from manusfs.agent import AgentEvent

__all__ = ["Heard"]


class Heard:
    """Prints to stdout until its reader has gone; then it says so, once, and a run of hours goes on without it."""

    def __call__(self, event: AgentEvent) -> None:
        """Print `event`."""
        self.emit({"event": event.kind, "text": event.text, **event.data})

    def emit(self, record: Mapping[str, Any]) -> None:
        """Print one record."""
        try:
            out.emit(record)
        except OSError as error:
            # What is left in the buffer goes nowhere, as all that follows: this is said once.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            why = "is closed" if isinstance(error, BrokenPipeError) else f"can't be written ({error.strerror})"
            out.say(typed(f"note: stdout {why}; the run goes on, and `manusfs show` tells what it did"))
