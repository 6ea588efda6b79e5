"""What every request of an epoch shares, and which of it makes a new epoch when it changes."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from manusfs.agent.prompt import SYSTEM
from manusfs.agent.running import Running
from manusfs.version import __version__

__all__ = ["is_same", "setup"]


def setup(run: Running) -> dict[str, Any]:
    """Return what every request of an epoch shares, as the epoch's event tells it."""
    profile = run.profile
    return {
        "system": SYSTEM,
        "tools": list(run.tools.blocks),
        "model": profile.name,
        "options": {"thinking": dict(profile.thinking)} if profile.thinking else {},
        "max_tokens": run.max_tokens,
        "profile": asdict(profile),
        "credential": run.credential,
        "version": __version__,
    }


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
