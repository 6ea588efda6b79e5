"""What a call hands to a sub-agent: the task, who does it, with what, and what form the answer must have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Delegation", "Mode"]

Mode = Literal["isolated", "fork"]


@dataclass(frozen=True, slots=True)
class Delegation:
    """An order for `ToolEnv.delegate`: one child session, whose last reply is the answer."""

    prompt: str
    """The only user message of an isolated child; what is said last to a fork."""
    agent: str = ""
    """Name of an agent file, `agents/<name>.md`; empty for none."""
    mode: Mode = "isolated"
    """A fork begins with all that its parent sees; an isolated child with nothing but the prompt."""
    tools: tuple[str, ...] | None = None
    """Names of the only tools that an isolated child may have; None for what the settings and the agent give."""
    expects: Mapping[str, Any] | None = None
    """A JSON Schema that the answer must fit; None for words."""
    preload: tuple[str, ...] = ()
    """Texts that stand before the prompt, ready as the model is to see them, escaped: skills, for example."""
    title: str = ""
    """One line for listings; empty for the beginning of the prompt."""
