"""Observations in and out: intake, stubs, resolver, search, citations, verify; `Workspace` is the face of it all."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from manusfs.memory import citations, notes, stubs
    from manusfs.memory.adding import Added
    from manusfs.memory.intake import Intake, Taken
    from manusfs.memory.listing import NoteLine, ObservationLine, SessionLine
    from manusfs.memory.reading import Reading
    from manusfs.memory.renderer import Renderer
    from manusfs.memory.resolver import Resolved, Resolver
    from manusfs.memory.search import Hit, Search
    from manusfs.memory.verify import Report
    from manusfs.memory.workspace import Doors, Workspace

__all__ = [
    "Added",
    "Doors",
    "Hit",
    "Intake",
    "NoteLine",
    "ObservationLine",
    "Reading",
    "Renderer",
    "Report",
    "Resolved",
    "Resolver",
    "Search",
    "SessionLine",
    "Taken",
    "Workspace",
    "citations",
    "notes",
    "stubs",
]

# Imported when first asked for: reading a span needs little of it.
_HOMES = {
    "Added": "adding",
    "Doors": "workspace",
    "Hit": "search",
    "Intake": "intake",
    "NoteLine": "listing",
    "ObservationLine": "listing",
    "Reading": "reading",
    "Renderer": "renderer",
    "Report": "verify",
    "Resolved": "resolver",
    "Resolver": "resolver",
    "Search": "search",
    "SessionLine": "listing",
    "Taken": "intake",
    "Workspace": "workspace",
}
_MODULES = ("citations", "notes", "stubs")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"manusfs.memory.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'manusfs.memory' has no attribute {name!r}")
    return getattr(import_module(f"manusfs.memory.{_HOMES[name]}"), name)
