"""Manners towards hosts: how long to wait between two requests to one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

__all__ = ["Pace"]

_MOST_HOSTS = 10_000


class Pace:
    """Spaces the starts of requests to one host; different hosts do not wait for each other. Safe for threads."""

    def __init__(self, delay_s: float, sleep: Callable[[float], None] = time.sleep) -> None:
        self._delay_s = delay_s
        self._sleep = sleep
        self._next: dict[str, float] = {}
        self._lock = threading.Lock()

    def wait(self, host: str, least_s: float = 0.0) -> None:
        """Return when a request to `host` may start; `least_s` is a delay that the host itself asks for."""
        if self._delay_s <= 0:
            return
        with self._lock:
            now = time.monotonic()
            start = max(now, self._next.get(host, now))
            self._next[host] = start + max(self._delay_s, least_s)
            if len(self._next) > _MOST_HOSTS:
                self._next = {name: at for name, at in self._next.items() if at > now}
        if start > now:
            self._sleep(start - now)
