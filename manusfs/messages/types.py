"""Requests and replies in Messages API shape, and the interface of whatever answers them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

__all__ = ["Block", "Delta", "Message", "Model", "Profile", "Reply", "Request", "StopReason", "Usage"]

Block = dict[str, Any]
"""One content block, exactly as the Messages API writes it."""

Message = dict[str, Any]
"""`{"role": "user" | "assistant", "content": [Block, …]}`; content is always a list here."""

StopReason = Literal[
    "end_turn", "tool_use", "max_tokens", "stop_sequence", "pause_turn", "refusal", "model_context_window_exceeded"
]


@dataclass(frozen=True, slots=True)
class Request:
    """One request: what `context/` assembles, `validate` checks and a Model answers."""

    model: str
    max_tokens: int
    system: tuple[Block, ...]
    tools: tuple[Block, ...]
    messages: tuple[Message, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further members of the request, for example `thinking` and `output_config`."""

    def to_json(self) -> dict[str, Any]:
        """Return the body of the HTTP request."""
        body: dict[str, Any] = {"model": self.model, "max_tokens": self.max_tokens}
        if self.system:
            body["system"] = list(self.system)
        if self.tools:
            body["tools"] = list(self.tools)
        return {**body, "messages": list(self.messages), **self.options}


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as billed. `input_tokens` leaves out what was read from or written to the prompt cache."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0

    @property
    def window(self) -> int:
        """All tokens of the request: uncached, written to the cache and read from it."""
        return self.input_tokens + self.cache_creation_input_tokens + self.cache_read_input_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_creation_input_tokens + other.cache_creation_input_tokens,
            self.cache_read_input_tokens + other.cache_read_input_tokens,
        )


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer. `content` is to be sent back exactly as it is."""

    content: tuple[Block, ...]
    stop_reason: StopReason
    usage: Usage = Usage()
    model: str = ""
    id: str = ""
    stop_details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Profile:
    """What is known of a model: its window and what it takes. Prices are US dollars per million tokens, 0 unknown."""

    name: str
    window: int = 200_000
    max_output: int = 64_000
    price_input: float = 0.0
    price_output: float = 0.0
    price_cache_read: float = 0.0
    price_cache_write: float = 0.0
    caches: bool = True
    """False for servers that do not know `cache_control`."""
    thinking: Mapping[str, Any] = field(default_factory=dict)
    """The `thinking` member to send; empty for none."""
    pairs_without_thinking: bool = False
    """True where kept turns of an old epoch may stand as real call/result pairs without their thinking."""

    def cost(self, usage: Usage) -> float | None:
        """Return the price of `usage` in US dollars, None when no price is known."""
        if not self.price_input and not self.price_output:
            return None
        return (
            usage.input_tokens * self.price_input
            + usage.output_tokens * self.price_output
            + usage.cache_read_input_tokens * self.price_cache_read
            + usage.cache_creation_input_tokens * self.price_cache_write
        ) / 1_000_000


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a reply while it streams: `kind` is "text", "thinking" or "tool"."""

    kind: Literal["text", "thinking", "tool", "restart"]
    text: str
    """New characters; for "tool" the tool's name; for "restart" why what came so far is dropped."""


class Model(Protocol):
    """Whatever answers requests."""

    profile: Profile

    def reply(self, request: Request, on_delta: Callable[[Delta], None] | None = None) -> Reply:
        """Return the answer to `request`, telling pieces to `on_delta` as they come.

        Raises:
            ModelError: the provider refused or failed, after what retries can do.
        """
        ...
