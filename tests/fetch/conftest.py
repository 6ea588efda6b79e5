"""What the tests of the network share: a fetcher that may reach this machine, and a record of what was dialled."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from manusfs.fetch import Fetcher, FetchOptions, PageCache

Make = Callable[..., Fetcher]


@pytest.fixture
def slept() -> list[float]:
    """The waits that a fetcher made by `fetcher` asked for, none of which were slept."""
    return []


@pytest.fixture
def fetcher(slept: list[float]) -> Iterator[Make]:
    """Return a maker of fetchers that may reach 127.0.0.1, do not wait, and ask for no robots.txt unless told to."""
    made: list[Fetcher] = []

    def make(cache: PageCache | None = None, resolve: Any = None, **options: Any) -> Fetcher:
        told = {"allow_hosts": ("127.0.0.0/8",), "host_delay_s": 0.0, "robots": False, "timeout_s": 10.0, **options}
        made.append(Fetcher(FetchOptions(**told), cache, resolve=resolve, sleep=slept.append))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def dialled(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Every address that a connection was opened to; those outside this machine fail as unreachable."""
    dials: list[tuple[str, int]] = []
    real = socket.create_connection

    def connect(address: tuple[str, int], *rest: Any, **named: Any) -> socket.socket:
        dials.append(address)
        if not address[0].startswith("127."):
            raise OSError("unreachable")
        return real(address, *rest, **named)

    monkeypatch.setattr(socket, "create_connection", connect)
    return dials
