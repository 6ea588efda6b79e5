"""manusfs: a filesystem-as-memory agent. Importing it makes no folder, reads no environment, loads no heavy library."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from manusfs.version import __version__

if TYPE_CHECKING:
    from manusfs.agent import Agent
    from manusfs.errors import ManusfsError, ToolError
    from manusfs.memory import Workspace

__all__ = ["Agent", "ManusfsError", "ToolError", "Workspace", "__version__"]

_HOMES = {
    "Agent": "manusfs.agent",
    "ManusfsError": "manusfs.errors",
    "ToolError": "manusfs.errors",
    "Workspace": "manusfs.memory",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'manusfs' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
