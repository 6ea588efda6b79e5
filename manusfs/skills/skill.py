"""One skill as its SKILL.md tells it: name, description, what it needs, how it runs; tolerant, and honest about it."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from manusfs.records import escape
from manusfs.skills.front_matter import split
from manusfs.skills.names import slug, told_name
from manusfs.skills.place import Place

__all__ = ["Needs", "Skill", "parse"]

_DESCRIPTION_MAX = 1_024
_COMPATIBILITY_MAX = 500
_ALLOWED_MAX = 4_000
_VENDORS = ("manusfs", "openclaw", "clawdbot", "moltbot")
"""Under these names in `metadata` other agents and we keep what a skill needs."""
_KNOWN = frozenset(
    {"name", "description", "license", "compatibility", "metadata", "allowed-tools", "disable-model-invocation"}
)
_ALLOWED = re.compile(r"[^\s,(]+(?:\([^)]*\))?")


@dataclass(frozen=True, slots=True)
class Needs:
    """What must be there for the skill to be of use."""

    programs: tuple[str, ...] = ()
    any_programs: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    systems: tuple[str, ...] = ()
    always: bool = False
    """The skill says that it may be shown whatever else it names, but for the system."""


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill that was found. Its body is read when it is wanted."""

    name: str
    description: str
    place: Place
    folder: tuple[str, ...]
    """In its place; empty when the root is the skill."""
    file: str
    size: int
    needs: Needs = Needs()
    key: str = ""
    """Another name by which settings may mean it."""
    hidden: bool = False
    """Not shown to the model, nor called by it (`disable-model-invocation`)."""
    forks: bool = False
    """Runs in a context of its own (`context: fork`)."""
    agent: str = ""
    allowed: tuple[str, ...] | None = None
    """The tools that it may use when it runs apart; None: no word about it."""
    hint: str = ""
    """What its arguments are, in words."""
    parameters: tuple[str, ...] = ()
    about: Mapping[str, str] = field(default_factory=dict)
    """License, compatibility and the like, for people."""
    problems: tuple[str, ...] = ()
    """Where it departs from the format."""
    hashes: Mapping[str, str] = field(default_factory=dict, repr=False)
    """In a workspace: the SHA-256 of each of its files when they were looked at."""
    pin: str = ""
    """In a workspace: the hash of all of that, which the user approves."""

    @property
    def location(self) -> str:
        """The SKILL.md as it is called."""
        return self.place.location((*self.folder, self.file))

    @property
    def home(self) -> str:
        """The skill's folder as it is called."""
        return self.place.location(self.folder)


def parse(text: str, place: Place, folder: tuple[str, ...], file: str, size: int) -> Skill | str:
    """Return the skill that `text` tells, or why there is none in it.

    Missing or broken front matter is no reason: then the folder gives the name and the text the description (OC-19).
    """
    front = split(text)
    data, problems = front.data, [front.problem] if front.problem else []
    fallback = folder[-1] if folder else place.base.name
    name = _name(data.get("name"), fallback, problems)
    if not name:
        return f"no name can be made of {escape.field(fallback, 60)!r}: use letters, digits and hyphens"
    if told_name(name):
        return told_name(name)
    description = _description(data.get("description"), front.body, problems)
    if not description:
        return "it has no description and no text"
    metadata = _table(data.get("metadata"), problems)
    vendor = next((_table(metadata[key], problems) for key in _VENDORS if key in metadata), {})
    return Skill(
        name=name,
        description=description,
        place=place,
        folder=folder,
        file=file,
        size=size,
        needs=_needs(vendor, metadata),
        key=_line(vendor.get("skillKey")),
        hidden=_is_true(data.get("disable-model-invocation")),
        forks=_line(data.get("context")).lower() == "fork",
        agent=_line(data.get("agent")),
        allowed=_tools(data.get("allowed-tools", data.get("allowed_tools"))),
        hint=_line(data.get("argument-hint")),
        parameters=tuple(name for name in _texts(data.get("arguments")) if name.isidentifier()),
        about=_about(data, vendor),
        problems=tuple(problems),
    )


def _name(given: Any, fallback: str, problems: list[str]) -> str:
    wanted = _line(given) or fallback
    name = slug(wanted) or slug(fallback)
    if given is None:
        problems.append(f"no name: called after its folder, {name!r}")
    elif name != wanted:
        problems.append(
            f"the name {escape.field(wanted, 80)!r} is not of lower-case letters and hyphens: called {name!r}"
        )
    elif fallback and name != fallback:
        problems.append(f"its folder is called {escape.field(fallback, 80)!r}, not {name!r}")
    return name


def _description(given: Any, body: str, problems: list[str]) -> str:
    text = _line(given)
    if not text:
        lines = (line.strip().lstrip("#").strip() for line in body.splitlines())
        text = next((line for line in lines if line and not line.startswith(("---", "```", "<!--"))), "")
        problems.append("no description: its first line stands in for it")
    if len(text) > _DESCRIPTION_MAX:
        problems.append(f"the description has {len(text):,} characters; the format allows {_DESCRIPTION_MAX:,}")
    return text[:_DESCRIPTION_MAX]


def _needs(vendor: Mapping[str, Any], metadata: Mapping[str, Any]) -> Needs:
    both = (vendor, metadata)
    requires: dict[str, Any] = next(
        (table["requires"] for table in both if isinstance(table.get("requires"), dict)), {}
    )
    systems = next((table["os"] for table in both if table.get("os")), ())
    return Needs(
        programs=_texts(requires.get("bins")),
        any_programs=_texts(requires.get("anyBins")),
        variables=_texts(requires.get("env")),
        settings=_texts(requires.get("config")),
        systems=_texts(systems),
        always=_is_true(vendor.get("always")),
    )


def _tools(given: Any) -> tuple[str, ...] | None:
    if given is None:
        return None
    text = " ".join(map(str, given)) if isinstance(given, list) else str(given)
    # A longer list is nobody's, and open brackets without end would be looked through again and again.
    return tuple(dict.fromkeys(name.partition("(")[0] for name in _ALLOWED.findall(text[:_ALLOWED_MAX])))


def _about(data: Mapping[str, Any], vendor: Mapping[str, Any]) -> dict[str, str]:
    told = {name: _line(data[name]) for name in ("license", "compatibility", "version", "author") if data.get(name)}
    if home := _line(vendor.get("homepage", data.get("homepage"))):
        told["homepage"] = home
    if len(told.get("compatibility", "")) > _COMPATIBILITY_MAX:
        told["compatibility"] = told["compatibility"][:_COMPATIBILITY_MAX] + "…"
    return told


def _table(value: Any, problems: list[str]) -> Mapping[str, Any]:
    """Return `value` as a table; JSON in a text is read as what it says."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            problems.append("metadata is a text that is no JSON")
    return value if isinstance(value, dict) else {}


def _texts(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(value.replace(",", " ").split())
    if isinstance(value, list):
        return tuple(_line(item) for item in value if isinstance(item, str | int | float) and _line(item))
    return ()


def _line(value: Any) -> str:
    """Return `value` as one line of text; composed, so that two spellings of one name are one."""
    if value is None or isinstance(value, dict | list):
        return ""
    return " ".join(unicodedata.normalize("NFC", str(value)).split())


def _is_true(value: Any) -> bool:
    return value is True or (isinstance(value, str) and value.strip().lower() in ("true", "yes", "on", "1"))
