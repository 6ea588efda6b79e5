"""What went wrong in one attempt, whether it can pass by waiting, and how long to wait for that."""

from __future__ import annotations

import random
import re
import time
from email.utils import parsedate_to_datetime

import httpx

from manusfs.fetch.network import HeadersTooLong

__all__ = ["backoff_s", "passes", "passes_by_waiting", "reason", "retry_after_s"]

_QUOTED = re.compile(r":?\s*(?:bytearray\()?b?['\"].*", re.DOTALL)
"""What a library quotes of the answer in its message: bytes that the server chose, as many as it liked."""
_FIRST_S = 0.5
_MOST_S = 8.0
_STATUSES = {408, 425, 429}
_FOR_GOOD = {501, 505, 506, 508, 510, 511}
"""Answers of 5xx that say what the server is, not how it is doing."""


def passes(status: int) -> bool:
    """Return True if an answer with `status` may be another one later."""
    return status in _STATUSES or (500 <= status <= 599 and status not in _FOR_GOOD)


def passes_by_waiting(error: httpx.TransportError) -> bool:
    """Return True if what raised `error` may go well later."""
    if isinstance(error.__cause__, HeadersTooLong) or isinstance(error, httpx.LocalProtocolError):
        return False
    if isinstance(error, httpx.RemoteProtocolError):
        # A kept connection that the server had closed meanwhile; anything else is a server that speaks no HTTP.
        return "disconnected" in str(error) or "closed" in str(error)
    return isinstance(error, httpx.TimeoutException | httpx.NetworkError)


def reason(error: httpx.TransportError) -> str:
    """Return what went wrong, without a word of what the server sent; empty when the library says nothing else."""
    if isinstance(error, httpx.RemoteProtocolError):
        return " ".join(_QUOTED.sub("", str(error)).split())[:200]
    return str(error)[:200]


def backoff_s(attempt: int) -> float:
    """Return how long to wait before the try that follows `attempt` (from 1): doubling from 0.5 to 8 s, with jitter."""
    step = min(_MOST_S, _FIRST_S * 2.0 ** (attempt - 1))
    return step * random.uniform(0.5, 1.0)  # noqa: S311 - only spreads load


def retry_after_s(headers: httpx.Headers) -> float | None:
    """Return the seconds that `Retry-After` asks for, given as a number or a date; None without a usable one."""
    value = headers.get("retry-after", "").strip()
    if value.isascii() and value.isdecimal():
        return float(value[:9])
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None
