"""The requests of a session, rendered again from its transcript, and what it came to in numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from manusfs.agent.resume import closing, last_epoch
from manusfs.context import Assembler, Reader, Window
from manusfs.errors import NotFound, UsageError
from manusfs.messages import Profile, Request
from manusfs.records import Event

__all__ = ["open_calls", "request_at", "totals", "window_at"]

_USAGE = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def request_at(events: Sequence[Event], number: int | None, reader: Reader) -> Request:
    """Return the request of the reply `number`, from 1, or the one that would be sent next.

    Calls that are still open stand in it with the honest result that a resume would give them.

    Raises:
        NotFound, UsageError: as for `window_at`.
    """
    window = window_at(events, number)
    return Assembler(reader, _profile(window.setup.profile)).request(window)


def window_at(events: Sequence[Event], number: int | None) -> Window:
    """Return the window of the request of the reply `number`, from 1, or of the one that would be sent next.

    Raises:
        NotFound: there is no such request.
        UsageError: the session ended before its first one.
    """
    if last_epoch(events) is None:
        raise UsageError(
            "the session ended before its task was written down: there is no request",
            hint='give the task again: manusfs resume SESSION "…"',
        )
    window, replies = Window(), 0
    for event in events:
        if event.kind == "message" and event.data.get("role") == "assistant":
            replies += 1
            if replies == number:
                break
        window.apply(event)
    else:
        if number is not None:
            raise NotFound(
                f"there is no request {number}", hint=f"the session has {replies}; leave --at out for the next"
            )
        for seq, event in enumerate(closing(events), window.seq + 1):
            window.apply(replace(event, seq=seq))
    return window


def open_calls(events: Sequence[Event]) -> int:
    """Return how many calls have no result: a crash left them open, or another process is at work on them."""
    return len(closing(events))


def totals(events: Sequence[Event]) -> dict[str, Any]:
    """Return what a session came to by itself: replies, calls, observations, tokens, money, epochs.

    What a fork has of its parent's lines is that one's.
    """
    count: dict[str, Any] = {"replies": 0, "calls": 0, "observations": 0, "epochs": 0, **dict.fromkeys(_USAGE, 0)}
    cost, saved = 0.0, 0
    for event in events:
        data = event.data
        if "copied" in data:
            continue
        if event.kind == "message" and data.get("role") == "assistant":
            count["replies"] += 1
            count["calls"] += sum(block.get("type") == "tool_use" for block in data["content"])
        elif event.kind == "observation":
            count["observations"] += 1
        elif event.kind == "epoch":
            count["epochs"] += 1
        elif event.kind == "usage":
            for name in _USAGE:
                count[name] += data.get(name) or 0
            cost += data.get("cost_usd") or 0.0
            saved = max(saved, data.get("stubbed_tokens") or 0)
    return {**count, "saved_tokens": saved, "cost_usd": round(cost, 6)}


def _profile(data: Mapping[str, Any]) -> Profile:
    known = {field.name for field in fields(Profile)}
    return Profile(**{name: value for name, value in data.items() if name in known}) if data else Profile("")
