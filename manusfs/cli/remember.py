"""What a run was given by flags, so that its resumption goes on with it: sealed by a secret of the user's own."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from manusfs.records import Event, canonical
from manusfs.workspace.settings import OWNER_ONLY

__all__ = ["REMEMBERED", "Recalled", "recalled", "remembered"]

REMEMBERED = ("model", "base_url", "policy", "max_pages", "allow_hosts")
"""Flags that shape a run. Limits are not among them: they are of one call, and are why a run is resumed."""


@dataclass(frozen=True, slots=True)
class Recalled:
    """The flags of a session's earlier calls, a later one in place of an earlier."""

    flags: Mapping[str, Any]
    left_out: tuple[str, ...]
    """Those that widen access or direct keys and are not under the user's own seal."""


def remembered(flags: Mapping[str, Any], session: str, key: Callable[[], bytes]) -> dict[str, Any]:
    """Return the data of the event that keeps `flags` for `session`, sealed with `key`; empty when there are none."""
    kept = {name: _plain(flags[name]) for name in REMEMBERED if name in flags}
    return {"flags": kept, "seal": _seal(kept, session, key())} if kept else {}


def recalled(events: Iterable[Event], session: str, key: Callable[[], bytes]) -> Recalled:
    """Return what the flags in `events` come to.

    A transcript may come from a stranger: what widens access, directs keys or spends counts only under a seal that
    was made here, for this very session.
    """
    found: dict[str, Any] = {}
    left_out: set[str] = set()
    for event in events:
        flags, seal = event.data.get("flags"), event.data.get("seal")
        if event.kind != "flags" or not isinstance(flags, dict):
            continue
        ours = isinstance(seal, str) and seal != "" and _same(seal, _seal(flags, session, key()))
        for name, value in flags.items():
            if name not in REMEMBERED:
                continue
            if ours or name not in OWNER_ONLY:
                found[name] = value
                left_out.discard(name)
            elif found.get(name) != value:
                left_out.add(name)
    return Recalled(found, tuple(sorted(left_out)))


def _seal(flags: Mapping[str, Any], session: str, key: bytes) -> str:
    if not key:
        return ""
    text = f"flags\0{session}\0{canonical(flags)}"
    return hmac.new(key, text.encode("utf-8"), hashlib.sha256).hexdigest()


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8"))


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
