"""What every request of an epoch shares, and which of it makes a new epoch when it changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from manusfs.agent.prompt import SYSTEM
from manusfs.agent.roles import Role, offered
from manusfs.agent.running import Running, reply_tokens
from manusfs.context import Setup, estimate_setup
from manusfs.errors import ConfigError, ManusfsError
from manusfs.messages import Profile
from manusfs.tools import ToolBox
from manusfs.version import __version__
from manusfs.workspace.settings import Settings

if TYPE_CHECKING:
    from manusfs.skills import Skills

__all__ = ["check_window", "is_same", "renew", "setup", "toolbox"]

SMALL_WINDOW = 20_000
"""Tokens: below it only the tools without which there is no report are offered. All of them, with the system prompt,
would take more than a quarter of it, and nearly every turn would open an epoch."""
SKILLED_WINDOW = 24_000
"""Tokens: below it no skills are offered; catalogue and manuals would take more of the window than they give."""
LEAST_ROOM = 1_200
"""Tokens that must be left for the task and what calls bring."""
_NEEDED = ("web_fetch", "web_search", "read", "search", "write", "todo")


def toolbox(settings: Settings, window: int, skills: Skills | None = None, roles: Sequence[Role] = ()) -> ToolBox:
    """Return the tools of a session with a model of `window` tokens.

    One of them loads `skills`, if there are any; another begins sub-agents, which may be one of `roles`.
    """
    skilled = window >= SKILLED_WINDOW and skills is not None and bool(skills.offered)
    tools = ToolBox(settings=settings, skilled=skilled)
    tools = tools.told({"task": f"The agents:\n{listed}" if (listed := offered(roles)) else ""})
    if window >= SMALL_WINDOW:
        return tools
    return ToolBox([name for name in tools.names if name in _NEEDED], settings)


def check_window(settings: Settings, profile: Profile) -> None:
    """Return if something can be done in the window of a model.

    Raises:
        ConfigError: system prompt, tools and the reply's reserve leave too little of it.
    """
    window = settings.window or profile.window
    taken = estimate_setup(Setup.of({"system": SYSTEM, "tools": list(toolbox(settings, window).blocks)}))
    reply = reply_tokens(settings, profile, window)
    needed = taken + reply + window // 20 + LEAST_ROOM
    if window < needed:
        raise ConfigError(
            f"a window of {window:,} tokens is too small: system prompt and tools take {taken:,}, the reply's reserve "
            f"{reply + window // 20:,}, and the task and its results need {LEAST_ROOM:,} at least",
            hint="use a model with a larger window, or set `window` to what it really has, or a smaller `max_tokens`",
        )


def renew(run: Running) -> None:
    """Look again for skills: what was added since the last epoch began is part of the next, never of this one."""
    if run.skills is None:
        return
    try:
        run.skills.refresh()
    except ManusfsError as error:  # the user's list of approvals can't be read: no reason to end a run of hours
        run.tell("warning", f"skills are as they were: {error}")
        return
    usual = toolbox(run.settings, run.profile.window, run.skills, run.tree.roles)
    if ("skill" in usual.names) == ("skill" in run.tools.names):
        return
    # A session whose tools were cut keeps them cut.
    if {*run.tools.names, "skill"} == {*usual.names, "skill"}:
        run.tools = usual


def setup(run: Running) -> dict[str, Any]:
    """Return what every request of an epoch shares, as the epoch's event tells it."""
    profile = run.profile
    return {
        "system": _system(run),
        "tools": list(run.tools.blocks),
        "model": profile.name,
        "options": {"thinking": dict(profile.thinking)} if profile.thinking else {},
        "max_tokens": run.max_tokens,
        "profile": asdict(profile),
        "credential": run.credential,
        "version": __version__,
    }


def _system(run: Running) -> str:
    """Return the system prompt, with the catalogue of skills where the tool stands that loads them."""
    if run.skills is None or "skill" not in run.tools.names:
        return SYSTEM
    section = run.skills.catalogue(run.profile.window)
    return f"{SYSTEM}\n\n{section}" if section else SYSTEM


def is_same(run: Running) -> bool:
    """Return True if the session may go on in its epoch: same model, key, tools, system prompt and version.

    Thinking is signed over all of these and bound to the account, so that a request with others would be refused.
    """
    now, then = setup(run), run.window.setup
    return (
        then.model == now["model"]
        and then.credential == now["credential"]
        and then.version == now["version"]
        and list(then.tools) == now["tools"]
        and [block.get("text") for block in then.system] == [now["system"]]
    )
