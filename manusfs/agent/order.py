"""What a delegation comes to: the model, tools, limits and beginning of a sub-agent, or why it may not be."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from manusfs.agent.expects import check_schema
from manusfs.errors import ManusfsError, ToolError
from manusfs.messages import Model
from manusfs.tools import Delegation, ToolBox
from manusfs.workspace.settings import Settings

if TYPE_CHECKING:
    from manusfs.agent.roles import Role
    from manusfs.agent.running import Running

__all__ = ["CHILD_TOOLS", "Plan", "check_number", "plan"]

CHILD_TOOLS = (
    "web_fetch",
    "web_search",
    "read",
    "search",
    "grep",
    "list",
    "write",
    "edit",
    "context_status",
    "skill",
    "task",
)
"""What a sub-agent may have unless the settings say otherwise; `task` only where it may begin sub-agents itself."""

_PLAN_REFUSED = "the plan (todo.md) belongs to the session that this one is a fork of"
_TASK_REFUSED = "a sub-agent at this depth begins no sub-agents (setting task_depth)"


@dataclass(frozen=True, slots=True)
class Plan:
    """How a sub-agent is to run."""

    model: Model
    tools: ToolBox
    settings: Settings
    refused: Mapping[str, str] = field(default_factory=dict)
    """Tools that a fork is offered because its parent is, and why a call of each is refused."""
    role: Role | None = None


def check_number(run: Running) -> None:
    """Return if `run` may begin one more sub-agent.

    Raises:
        ToolError: it may begin none at its depth, or has begun as many as it may.
    """
    if run.depth >= run.settings.task_depth:
        raise ToolError(_TASK_REFUSED, retry=False, hint="do it yourself")
    most, begun = run.settings.task_children, len(run.window.children.known)
    if most and begun >= most:
        raise ToolError(
            f"this session has begun {begun} sub-agents, and may begin no more (setting task_children)",
            retry=False,
            hint="do the rest yourself, from what they brought",
        )


def plan(run: Running, order: Delegation) -> Plan:
    """Return how `order` is to be carried out.

    Raises:
        ToolError: no such agent, a tool that the parent lacks, a model that is not allowed, a schema that is none.
    """
    if not order.prompt.strip():
        raise ToolError("`prompt` is empty", hint="say all that the sub-agent must know: it sees nothing else")
    if order.expects is not None:
        check_schema(order.expects)
    missing = [name for name in order.tools or () if name not in run.tools.names]
    if missing:
        raise ToolError(
            f"`tools` names {missing[0]!r}, and a sub-agent can have no tool that you lack",
            hint=f"yours are: {', '.join(run.tools.names)}",
        )
    if order.mode == "fork":
        return _fork(run, order)
    role = _role(run, order.agent)
    settings = run.settings if role is None or not role.policy else replace(run.settings, policy=role.policy)
    model = _model(run, role)
    if model is not run.model:
        settings = replace(settings, window=0)
    return Plan(model, run.tools.only(_names(run, order, role)), settings, role=role)


def _fork(run: Running, order: Delegation) -> Plan:
    if order.agent:
        raise ToolError(
            "a fork goes on as its parent is; an agent's own tools and instructions need a blank beginning",
            hint='leave `agent` out, or use mode="isolated"',
        )
    refused = {}
    if order.tools is not None:
        words = f"this fork may use {', '.join(order.tools) or 'no tools'} only"
        refused = {name: words for name in run.tools.names if name not in order.tools}
    refused["todo"] = _PLAN_REFUSED
    if run.depth + 1 >= run.settings.task_depth:
        refused["task"] = _TASK_REFUSED
    return Plan(run.model, run.tools, run.settings, {**run.refused, **refused})


def _names(run: Running, order: Delegation, role: Role | None) -> list[str]:
    """Return the tools of an isolated child: an allow-list, narrowed by its agent file and by the call (CC-27)."""
    allowed = set(run.settings.task_tools or CHILD_TOOLS) - set(run.refused)
    for narrower in (None if role is None else role.tools, order.tools):
        if narrower is not None:
            allowed &= set(narrower)
    if run.depth + 1 >= run.settings.task_depth:
        allowed.discard("task")
    # The plan is one file, and the parent's.
    return [name for name in run.tools.names if name in allowed and name != "todo"]


def _role(run: Running, name: str) -> Role | None:
    if not name:
        return None
    known = {role.name: role for role in run.tree.roles}
    ready = [role.name for role in run.tree.roles if role.state == "ready"]
    if name not in known:
        near = difflib.get_close_matches(name, ready, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(ready) or 'none'}"
        raise ToolError(f"there is no agent {name!r}", hint=f"{hint}; without `agent` it works as well")
    if known[name].state != "ready":
        why = "waits for the user's approval" if known[name].state == "not approved" else "can't be used"
        raise ToolError(f"the agent {name!r} {why}", retry=False, hint="leave `agent` out")
    return known[name]


def _model(run: Running, role: Role | None) -> Model:
    name = role.model if role is not None else ""
    if not name or name == run.model.profile.name:
        return run.model
    if name != "offline" and name not in run.settings.task_models:
        raise ToolError(
            f"the agent {role.name if role else ''!r} asks for the model {name!r}, which is not allowed",
            retry=False,
            hint="leave `agent` out; the user can allow it with the setting task_models",
        )
    try:
        return run.tree.load(name)
    except ManusfsError as error:
        raise ToolError(f"the model {name!r} can't be used: {error}", retry=False, hint="leave `agent` out") from error
