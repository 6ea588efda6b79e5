"""What a run tells its caller while it goes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["AgentEvent", "AgentEventKind", "OnEvent"]

AgentEventKind = Literal[
    "start",  # data: session, workspace, model, window, resumed
    "text",  # text: new characters of the reply
    "thinking",  # text: new characters of the model's thinking
    "restart",  # text: why the reply that came so far is dropped and asked for again
    "call",  # text: the tool's name; data: call, arguments
    "result",  # text: one line; data: call, tool, ref, bytes, status, tokens, saved_tokens, is_error, no_text (why)
    "usage",  # data: turn, window_tokens, window, saved_tokens, input_tokens, …, cost_usd, total_usd
    "compaction",  # text: one line; data: policy, before_tokens, after_tokens, moves
    "warning",  # text: what comes near, what was repaired, what was left out
    "limit",  # text: which limit ended the run and how to go on; data: stop
    "done",  # a sub-agent ended; text: why; data: child, state, stop, title
    "report",  # text: the answer; data: report, citations, problems
]


@dataclass(frozen=True, slots=True)
class AgentEvent:
    """One thing that happened; of a sub-agent, `data` has its session as `child`.

    `text` is untrusted where it comes from a model or a page: escape it for a terminal.
    """

    kind: AgentEventKind
    text: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)


OnEvent = Callable[[AgentEvent], None]
"""Called by the run's own thread, or one at a time by those of sub-agents; what it raises ends the run."""
