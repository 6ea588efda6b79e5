"""The tool that hands a part of the work to a sub-agent."""

from __future__ import annotations

from typing import Any, Literal

from manusfs.records import Fetched
from manusfs.tools.delegation import Delegation
from manusfs.tools.env import ToolEnv
from manusfs.tools.schema import tool

__all__ = ["task"]


@tool(again=True)
def task(
    env: ToolEnv,
    prompt: str,
    agent: str | None = None,
    mode: Literal["isolated", "fork"] = "isolated",
    tools: list[str] | None = None,
    expects: dict[str, Any] | None = None,
) -> Fetched:
    """Hand a part of the work to a sub-agent, which works in a session of its own and gives back only its answer.

    Use it for parts that are independent of each other and long: several calls in one turn run side by side. The
    answer is kept as an observation, with the refs that the sub-agent cited: cite these, not the answer. Sub-agents
    share the workspace with you: what one of them fetched is there for all. They can't change your plan or files that
    others wrote. All that a sub-agent did can be read under the msg: ref that its answer names.

    Args:
        prompt: All that the sub-agent must know, for an isolated one sees nothing else: the question, the sources or
            refs to work from, and what the answer must hold.
        agent: One of the agents that are listed below, for its own tools and instructions.
        mode: "isolated" begins with the prompt alone; "fork" begins with all that you see now, and is dear where that
            is much.
        tools: The only tools that it may use, of yours.
        expects: A JSON Schema, where the answer is to be one JSON value that fits it and not words.
    """
    return env.delegate(
        Delegation(prompt, agent or "", mode, None if tools is None else tuple(dict.fromkeys(tools)), expects)
    )
