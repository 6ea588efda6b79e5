"""Which of the skills that were found may be used, and for each that may not, why."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from manusfs.records import escape
from manusfs.skills.names import skeleton, slug
from manusfs.skills.place import PRECEDENCE
from manusfs.skills.skill import Needs, Skill
from manusfs.workspace.settings import Settings

__all__ = ["Entry", "Facts", "State", "judge"]

State = Literal["ready", "hidden", "disabled", "not allowed", "missing", "not approved", "shadowed"]
_SYSTEMS = {"macos": "darwin", "osx": "darwin", "windows": "win32", "win": "win32"}
_EVERY = ("all", "*")


def _unknown(name: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of the machine; only the command line looks at it."""

    system: str = sys.platform
    has_program: Callable[[str], bool] = _unknown
    has_variable: Callable[[str], bool] = _unknown


@dataclass(frozen=True, slots=True)
class Entry:
    """One skill of the registry, and what came of the gates."""

    skill: Skill
    state: State
    why: str

    @property
    def usable(self) -> bool:
        """True if it may be loaded at all; a hidden one only by people and by agents that name it."""
        return self.state in ("ready", "hidden")


def judge(skills: Iterable[Skill], settings: Settings, facts: Facts, approved: Mapping[str, str]) -> tuple[Entry, ...]:
    """Return an entry for each of `skills`, closest to the project first, then by name.

    `approved` maps the homes of skills in a workspace to the hashes that the user approved. One that waits for that
    stands in the way of none.
    """
    ordered = sorted(skills, key=lambda one: (-PRECEDENCE.index(one.place.kind), one.name, one.folder))
    taken: dict[str, Skill] = {}
    entries = []
    for skill in ordered:
        entry = _entry(skill, settings, facts, approved, taken)
        if entry.state != "shadowed" and _is_approved(skill, approved):
            taken.setdefault(skeleton(skill.name), skill)
        entries.append(entry)
    return tuple(entries)


def _entry(
    skill: Skill, settings: Settings, facts: Facts, approved: Mapping[str, str], taken: Mapping[str, Skill]
) -> Entry:
    if not _is_approved(skill, approved):
        if _named(skill, settings.skills_disabled):
            return Entry(skill, "disabled", "the setting skills_disabled names it")
        changed = "it changed since you approved it" if skill.home in approved else "it lies in the workspace"
        return Entry(skill, "not approved", f"{changed}: `manusfs trust` approves it")
    other = taken.get(skeleton(skill.name))
    if other is not None:
        word = (
            "stands before it" if other.name == skill.name else f"({other.name!r}) looks like it and stands before it"
        )
        return Entry(skill, "shadowed", f"{escape.field(other.location, 200)} {word}")
    if _named(skill, settings.skills_disabled):
        return Entry(skill, "disabled", "the setting skills_disabled names it")
    if skill.place.kind == "bundled" and not _named(skill, settings.skills_bundled):
        return Entry(skill, "not allowed", "the setting skills_bundled does not name it")
    if missing := _missing(skill.needs, settings, facts):
        return Entry(skill, "missing", missing)
    if skill.hidden:
        return Entry(skill, "hidden", "it says disable-model-invocation: agents that name it and people may use it")
    return Entry(skill, "ready", "")


def _is_approved(skill: Skill, approved: Mapping[str, str]) -> bool:
    return not skill.place.guarded or bool(skill.pin and approved.get(skill.home) == skill.pin)


def _named(skill: Skill, names: Iterable[str]) -> bool:
    return any(name in (*_EVERY, skill.name, skill.key) or slug(name) == skill.name for name in names if name)


def _missing(needs: Needs, settings: Settings, facts: Facts) -> str:
    """Return what is not there of what the skill needs, "" when nothing is."""
    systems = [_SYSTEMS.get(name.lower(), name.lower()) for name in needs.systems]
    if systems and facts.system not in systems:
        return f"it is for {', '.join(map(_told, needs.systems))}, and this is {facts.system}"
    if needs.always:
        return ""
    for name in needs.programs:
        if not facts.has_program(name):
            return f"the program {_told(name)} is not installed"
    if needs.any_programs and not any(map(facts.has_program, needs.any_programs)):
        return f"none of the programs {', '.join(map(_told, needs.any_programs))} is installed"
    for name in needs.variables:
        if not facts.has_variable(name):
            return f"the environment variable {_told(name)} is not set"
    for name in needs.settings:
        if not _is_set(settings, name):
            return f"the setting {_told(name)} is not set"
    return ""


def _is_set(settings: Settings, name: str) -> bool:
    return name in settings.__dataclass_fields__ and getattr(settings, name) not in ("", "none", False, 0, ())


def _told(name: str) -> str:
    return escape.field(name, 60)
