"""Looks through the roots for skills; what did not change since the last look is not read again."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from manusfs.errors import ManusfsError, NotFound
from manusfs.records import canonical, sha256_hex
from manusfs.skills.place import MOST_FOLDERS, Place
from manusfs.skills.skill import Skill, parse

__all__ = ["SKILL_MAX", "Broken", "Scanner"]

SKILL_MAX = 262_144
"""Bytes of the largest SKILL.md (OC-18)."""
FILES = ("SKILL.md", "skill.md")
_PINNED_MAX = 16 << 20
"""Bytes that all files of one skill of a workspace may have: each is hashed at every look that finds it changed."""
_Mark = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Broken:
    """Something among the skills that is none, and why."""

    location: str
    why: str


@dataclass(slots=True)
class Scanner:
    """Finds skills, and remembers each by what its files looked like from outside."""

    _seen: dict[tuple[Place, tuple[str, ...]], tuple[_Mark, Skill | Broken]] = field(default_factory=dict)

    def scan(self, places: Iterable[Place]) -> tuple[list[Skill], list[Broken]]:
        """Return the skills in `places`, in their order and by folder, and what is in the way. Never raises for one."""
        skills: list[Skill] = []
        broken: list[Broken] = []
        seen = {}
        for place in places:
            try:
                with place.opened() as root:
                    for parts, made in self._in_place(place, root, broken):
                        seen[place, parts] = made
                        (skills if isinstance(made[1], Skill) else broken).append(made[1])  # type: ignore[arg-type]
            except NotFound:
                continue
            except ManusfsError as error:
                broken.append(Broken(place.location(()), str(error)))
        self._seen = seen
        return skills, broken

    def _in_place(
        self, place: Place, root: int, broken: list[Broken]
    ) -> Iterator[tuple[tuple[str, ...], tuple[_Mark, Skill | Broken]]]:
        """Yield what stands in one root: the root itself if it is a skill, else each folder in it (OC-17)."""
        alone = self._at(place, (), root, broken)
        if alone is not None:
            yield (), alone
            return
        names, more = place.names(root)
        if more:
            broken.append(Broken(place.location(()), f"more than {MOST_FOLDERS:,} folders: the rest is not looked at"))
        done = set()
        for name, linked in names:
            try:
                parts = place.real(name, linked)
            except (ManusfsError, OSError) as error:
                broken.append(Broken(_location(place, (name,)), _why(error)))
                continue
            if parts in done:
                continue
            done.add(parts)
            made = self._at(place, parts, root, broken)
            if made is not None:
                yield parts, made

    def _at(
        self, place: Place, parts: tuple[str, ...], root: int, broken: list[Broken]
    ) -> tuple[_Mark, Skill | Broken] | None:
        """Return the skill in one folder, None when it holds no SKILL.md."""
        try:
            file, files = place.survey(parts, FILES, root)
            if file is None:
                return None
            mark: _Mark = tuple((one.path, one.mark) for one in files)
            known = self._seen.get((place, parts))
            if known is not None and known[0] == mark:
                return known
            if file.size > SKILL_MAX:
                why = f"{file.path} has {file.size:,} bytes; the most is {SKILL_MAX:,}"
                return mark, Broken(_location(place, parts), why)
            text = place.read((*parts, file.path), SKILL_MAX, root).decode("utf-8")
            made = parse(text, place, parts, file.path, file.size)
            if isinstance(made, str):
                return mark, Broken(_location(place, parts), made)
            return mark, _pinned(made, root, [one.path for one in files]) if place.guarded else made
        except UnicodeDecodeError:
            return (), Broken(_location(place, parts), "SKILL.md is not UTF-8: save it as UTF-8")
        except (ManusfsError, OSError, ValueError) as error:
            return (), Broken(_location(place, parts), _why(error))


def _pinned(skill: Skill, root: int, paths: list[str]) -> Skill:
    """Return a skill of a workspace with the hashes of its files: what was approved must be what is read later."""
    left = _PINNED_MAX
    hashes = {}
    for path in paths:
        data = skill.place.read((*skill.folder, *path.split("/")), left, root)
        left -= len(data)
        hashes[path] = sha256_hex(data)
    pin = sha256_hex(canonical(hashes).encode("utf-8"))
    return replace(skill, hashes=hashes, pin=pin)


def _location(place: Place, parts: tuple[str, ...]) -> str:
    """Return how a folder is called, as text that can be shown anywhere, whatever bytes its name is."""
    return place.location(tuple(os.fsencode(part).decode("utf-8", "replace") for part in parts))


def _why(error: Exception) -> str:
    if isinstance(error, ManusfsError):
        return f"{error}; {error.hint}" if error.hint else str(error)
    return getattr(error, "strerror", None) or str(error)
