"""What holds for every test: `tests/` on the path, no environment of the user, no socket beyond this machine."""

from __future__ import annotations

import ipaddress
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

_FOREIGN = ("ANTHROPIC_", "MANUSFS_", "TAVILY_", "BRAVE_", "SEARXNG_")


def _is_local(host: object) -> bool:
    text = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host)
    try:
        return ipaddress.ip_address(text.partition("%")[0]).is_loopback
    except ValueError:
        return text.lower().rstrip(".") in ("localhost", "")


def _is_numeric(host: object) -> bool:
    try:
        socket.inet_aton(str(host))
    except OSError:
        return ":" in str(host)
    return True


def _sealed(method: Any) -> Any:
    def call(self: socket.socket, address: Any, *rest: Any) -> Any:
        if self.family in (socket.AF_INET, socket.AF_INET6) and not _is_local(address[0]):
            raise AssertionError(f"a test tried to reach {address!r}")
        return method(self, address, *rest)

    return call


@pytest.fixture(scope="session", autouse=True)
def sealed_machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give the whole run an empty home and no way to any other machine."""
    home = tmp_path_factory.mktemp("home")
    lookup = socket.getaddrinfo

    def local_lookup(host: Any, *rest: Any, **named: Any) -> Any:
        if host is not None and not _is_local(host) and not _is_numeric(host):
            raise socket.gaierror(socket.EAI_NONAME, f"a test asked for the name {host!r}")
        return lookup(host, *rest, **named)

    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(_FOREIGN) or name.lower().endswith("_proxy"):
                patch.delenv(name)
        patch.setenv("HOME", str(home))
        for name in ("CONFIG", "CACHE", "DATA", "STATE"):
            patch.setenv(f"XDG_{name}_HOME", str(home / name.lower()))
        for name in ("connect", "connect_ex"):
            patch.setattr(socket.socket, name, _sealed(getattr(socket.socket, name)))
        patch.setattr(socket, "getaddrinfo", local_lookup)
        yield
