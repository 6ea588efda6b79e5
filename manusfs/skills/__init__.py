"""Skills: what there is, whether it may be used, and how it stands in the catalogue; YAML enters here only."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from manusfs.skills.front_matter import FrontMatter
    from manusfs.skills.gates import Entry, Facts
    from manusfs.skills.registry import Homes, Manual, Skills
    from manusfs.skills.scan import Broken
    from manusfs.skills.skill import Skill

__all__ = ["Broken", "Entry", "Facts", "FrontMatter", "Homes", "Manual", "Skill", "Skills"]

# Imported when first asked for: a command that needs no skills loads no YAML.
_HOMES = {
    "Broken": "scan",
    "Entry": "gates",
    "Facts": "gates",
    "FrontMatter": "front_matter",
    "Homes": "registry",
    "Manual": "registry",
    "Skill": "skill",
    "Skills": "registry",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'manusfs.skills' has no attribute {name!r}")
    return getattr(import_module(f"manusfs.skills.{_HOMES[name]}"), name)
