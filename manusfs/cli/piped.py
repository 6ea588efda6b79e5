"""What is piped in, for commands that take "-"."""

from __future__ import annotations

import sys

from manusfs.errors import UsageError

__all__ = ["piped"]


def piped(way: str) -> bytes:
    """Return the bytes of standard input; `way` is how a command is piped to.

    Raises:
        UsageError: standard input is a terminal or closed, or nothing came.
    """
    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        raise UsageError("nothing is piped in", hint=way)
    data = sys.stdin.buffer.read()
    if not data:
        raise UsageError("what was piped in is empty: nothing was done", hint=way)
    return data
