"""What is known of each model: window, prices, how it thinks. Data first, one function that puts it together."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from manusfs.errors import ModelError
from manusfs.messages import Profile
from manusfs.models.prices import Listed, listed

__all__ = ["DEFAULT_WINDOW", "Described", "is_known", "profile"]

DEFAULT_WINDOW = 200_000
"""Tokens of the window of a model of which nothing is known."""

_ADAPTIVE = {"type": "adaptive", "display": "summarized"}
"""Today's models think of their own accord. Without `display` the words between their tool calls come back empty."""


@dataclass(frozen=True, slots=True)
class Described:
    """What a models endpoint says: tokens of the window and of the longest reply, 0 where it does not say."""

    window: int
    max_output: int = 0


_TABLE = {
    "claude-fable-5-2": (Listed(1_000_000, 8, 40, 0.20, 10), 128_000, True),
    "claude-haiku-5-5": (Listed(1_000_000, 0.10, 0.50, 0.01, 0.125), 128_000, True),
    "claude-opus-5-5": (Listed(1_000_000, 4, 20, 0.20, 5), 128_000, True),
    "claude-sonnet-5-5": (Listed(1_000_000, 2, 10, 0.10, 2.5), 128_000, True),
}
"""Models of late 2026: list entry, longest reply, whether they think by themselves; for when the list has no entry."""

_FAMILIES = (
    (re.compile(r"claude-[a-z]+-5(-\d)?\Z"), 128_000, True),
    (re.compile(r"claude-(opus|sonnet)-4-[6-9]\Z"), 64_000, True),
    (re.compile(r"claude-[a-z]+-4-5\Z"), 64_000, False),
)
"""What the models of a family share: longest reply, whether they take adaptive thinking."""

_NAME = re.compile(r"claude-[a-z0-9-]+")
_DATE = re.compile(r"-20\d{6}\b.*")


def profile(name: str, *, window: int = 0, fetch_info: Callable[[str], Described | None] | None = None) -> Profile:
    """Return what is known of model `name`.

    The window comes from `window` when it is set, else from `fetch_info` (the models endpoint, by way of
    `AnthropicModel.describe`; an error of it counts as "not known"), else from the offline price list, else from the
    built-in table, else 200,000. A model of another maker gets what every server takes: no cache marks, no thinking;
    and no price, because who runs it is not known.
    """
    described = _described(name, fetch_info)
    family = _family(name)
    if not family:
        known = window or described.window or DEFAULT_WINDOW
        return Profile(name, known, described.max_output or known // 4, caches=False)
    entry = listed(family) or (_TABLE[family][0] if family in _TABLE else Listed(0, 0, 0, 0, 0))
    longest, thinks = _habits(family)
    return Profile(
        name,
        window or described.window or entry.window or DEFAULT_WINDOW,
        described.max_output or longest,
        entry.input,
        entry.output,
        entry.cache_read,
        entry.cache_write,
        thinking=_ADAPTIVE if thinks else {},
    )


def is_known(name: str) -> bool:
    """Return True if the window and the prices of `name` are known without asking anyone."""
    family = _family(name)
    return bool(family) and (family in _TABLE or listed(family) is not None)


def _described(name: str, fetch_info: Callable[[str], Described | None] | None) -> Described:
    try:
        return (fetch_info(name) if fetch_info else None) or Described(0)
    except ModelError:
        return Described(0)


def _family(name: str) -> str:
    """Return the plain name of an Anthropic model, as gateways write it too ("vendor/claude-…-20251001"), else ""."""
    match = _NAME.search(name.lower())
    return _DATE.sub("", match[0]) if match else ""


def _habits(family: str) -> tuple[int, bool]:
    if family in _TABLE:
        return _TABLE[family][1:]
    for pattern, longest, thinks in _FAMILIES:
        if pattern.match(family):
            return longest, thinks
    return 32_000, False
