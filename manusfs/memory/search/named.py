"""What a query's filters name: hosts with or without their port, sessions by a part of their name."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from manusfs.errors import NotFound
from manusfs.session import complete_name, sessions

if TYPE_CHECKING:
    from manusfs.memory.search.query import Filters
    from manusfs.store import Index
    from manusfs.workspace import Folder

__all__ = ["completed", "on_host", "unknown"]

_MOST = 5
"""Names that are told in place of one that there is not."""


def on_host(host: str, wanted: str) -> bool:
    """Return True if `host`, as a source has it, is `wanted` or below it; without a port in `wanted` any port will do.

    >>> on_host("docs.example.org:8000", "example.org"), on_host("example.org:8000", "example.org:80")
    (True, False)
    """
    if not _port(wanted):
        host = host.removesuffix(_port(host))
    return host == wanted or host.endswith(f".{wanted}")


def completed(folder: Folder, filters: Filters) -> Filters:
    """Return `filters` with whole names of sessions where a part names just one."""
    return replace(filters, sessions=tuple(_whole(folder, name) for name in filters.sessions))


def unknown(folder: Folder, index: Index, filters: Filters) -> str:
    """Return which hosts and sessions of `filters` the workspace does not have, with some that it has; else ""."""
    hosts = Counter(row.host for row in index.observations() if row.host) if filters.hosts else Counter[str]()
    told = [
        _told(f"Nothing here is from the host {host[:80]!r}", host, [name for name, _ in hosts.most_common()])
        for host in filters.hosts
        if not any(on_host(known, host) for known in hosts)
    ]
    names = [info.session for info in reversed(sessions(folder))] if filters.sessions else []
    told += [_told(f"There is no session {s[:80]!r} here", s, names) for s in filters.sessions if s not in names]
    return " ".join(told)


def _port(host: str) -> str:
    _, colon, port = host.rpartition(":")
    return f":{port}" if colon and port.isdecimal() else ""


def _whole(folder: Folder, name: str) -> str:
    try:
        return complete_name(folder, name)
    except NotFound:
        return name


def _told(what: str, wanted: str, known: Sequence[str]) -> str:
    if not known:
        return f"{what}."
    if near := difflib.get_close_matches(wanted, known, n=3):
        return f"{what}: did you mean {' or '.join(near)}?"
    more = f" and {len(known) - _MOST} more" if known[_MOST:] else ""
    return f"{what}: it has {', '.join(known[:_MOST])}{more}."
