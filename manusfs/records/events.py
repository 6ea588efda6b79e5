"""One line of a transcript: its number, its kind and its data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

__all__ = ["KINDS", "Event", "EventKind"]

# What each holds, member by member and with examples: docs/format.md.
EventKind = Literal[
    "session",  # {session, format, purpose: run|intake|child, parent, version, title}
    "flags",  # {flags: {setting: value}, seal}: what the user gave for this session alone
    "epoch",  # {n, because, system, tools, model, options, profile, credential, version, opening: [part]}
    "message",  # {role, content: [block], ...}: user text as sent; an assistant turn exactly as received
    "observation",  # {call, id, order, source, status, part, is_error}: what the model saw of a new observation
    "shown",  # {call, parts: [part], is_error, wrote: [path]}: what a tool printed from the workspace
    "recite",  # {text}: the to-do, repeated after a turn's results
    "changed",  # {paths: [path], text}: files that people edited, or a word from the program
    "usage",  # {model, input_tokens, output_tokens, cache_creation_input_tokens, cache_read_input_tokens, cost_usd}
    "compaction",  # {policy, moves: [...], before_tokens, after_tokens}
    "undo",  # {compaction: seq}
    "child",  # {session, state, call}
    "end",  # {stop, report, message}
    "mended",  # {kept}: damaged bytes at the end may have been lines; it holds the last number that they may have had
]
KINDS: frozenset[str] = frozenset(get_args(EventKind))


@dataclass(frozen=True, slots=True)
class Event:
    """A transcript event. `seq` is its 1-based line number, 0 until it is written."""

    kind: EventKind
    data: dict[str, Any]
    seq: int = 0
    time: str = ""
    """UTC, ISO 8601, for people; nothing is ordered by it."""
