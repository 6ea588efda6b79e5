"""What a site's robots.txt allows; read once a host and hour, by the caller's own means of asking."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import httpx
from protego import Protego

from manusfs.errors import Refused
from manusfs.fetch.urls import brief

__all__ = ["MAX_BYTES", "Robots"]

MAX_BYTES = 512 * 1024
"""RFC 9309 asks for at least 500 KiB."""

_KEPT_S = 3_600.0
_KEPT_UNSURE_S = 60.0
_MOST_DELAY_S = 10.0

Ask = Callable[[str], tuple[int, bytes]]
"""From the URL of a robots.txt to status and body; status 0 when no answer came."""


@dataclass(frozen=True, slots=True)
class _Rules:
    parsed: Protego | None
    status: int
    until: float


class Robots:
    """Judges URLs by the robots.txt of their hosts. Safe for threads."""

    def __init__(self, agent: str, ask: Ask) -> None:
        self._agent = agent
        self._ask = ask
        self._rules: dict[str, _Rules] = {}
        self._locks: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()

    def check(self, url: httpx.URL) -> float:
        """Return the seconds between requests that the host of `url` asks for, at most 10.

        A robots.txt of 4xx allows everything, and so does one that can't be had because the host does not answer: the
        page will tell. One of 5xx allows nothing for now (RFC 9309, 2.3.1).

        Raises:
            Refused: the page is not to be fetched by programs.
        """
        rules = self._rules_of(url)
        if 500 <= rules.status <= 599:
            raise Refused(
                f"{brief(str(url))!r} was not fetched: the robots.txt of {url.host!r} answered {rules.status}, and"
                " nothing there may be fetched until it can be read",
                hint="try again later, or set `robots = false` in the settings if you may",
            )
        if rules.parsed is None:
            return 0.0
        if not rules.parsed.can_fetch(str(url), self._agent):
            raise Refused(
                f"{brief(str(url))!r} was not fetched: the robots.txt of {url.host!r} asks programs to keep away",
                hint="use another source, or set `robots = false` in the settings if you may",
            )
        return min(rules.parsed.crawl_delay(self._agent) or 0.0, _MOST_DELAY_S)

    def _rules_of(self, url: httpx.URL) -> _Rules:
        origin = str(url.copy_with(path="/robots.txt", query=None, fragment=None))
        with self._lock:
            lock = self._locks.setdefault(origin, threading.Lock())
        with lock:  # several threads on one host ask once
            rules = self._rules.get(origin)
            if rules is None or rules.until < time.monotonic():
                rules = self._rules[origin] = self._asked(origin)
            return rules

    def _asked(self, origin: str) -> _Rules:
        status, body = self._ask(origin)
        parsed = None
        if 200 <= status <= 299:
            parsed = Protego.parse(body[:MAX_BYTES].decode("utf-8", "replace"))
        kept = _KEPT_S if 200 <= status <= 499 else _KEPT_UNSURE_S
        return _Rules(parsed, status, time.monotonic() + kept)
