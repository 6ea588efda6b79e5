"""The registry: all skills of one session or command, what came of the gates, and the way to a body or a file."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from manusfs.errors import ManusfsError, NotFound, Refused
from manusfs.records import escape, sha256_hex
from manusfs.skills.catalogue import catalogue
from manusfs.skills.front_matter import split
from manusfs.skills.gates import Entry, Facts, judge
from manusfs.skills.manual import manual
from manusfs.skills.place import Kind, Place, bundled
from manusfs.skills.scan import FILES, SKILL_MAX, Broken, Scanner
from manusfs.skills.skill import Skill
from manusfs.workspace.paths import check_relative
from manusfs.workspace.settings import Settings

__all__ = ["Homes", "Manual", "Skills"]

_CHARS_PER_TOKEN = 2.5
_FILE_MAX = 16 << 20


@dataclass(frozen=True, slots=True)
class Homes:
    """The folders of the user in which skills may lie; only the command line knows them."""

    managed: Path | None = None
    """`skills/` in the user's configuration."""
    personal: Path | None = None
    """`~/.agents/skills`, which the user's other agents use too."""
    home: Path | None = None
    """What `~` stands for in settings."""


@dataclass(frozen=True, slots=True)
class Manual:
    """What a call of a skill brings."""

    text: str
    notes: tuple[str, ...] = ()


def _nothing() -> Mapping[str, str]:
    return {}


@dataclass(slots=True)
class Skills:
    """All skills that a workspace sees. Looked for at first use and at `refresh`, never in between."""

    workspace: Path | None
    settings: Settings
    homes: Homes = field(default_factory=Homes)
    facts: Facts = field(default_factory=Facts)
    approved: Callable[[], Mapping[str, str]] = _nothing
    """Gives what the user approved of the workspace's skills: their homes, and the hashes of what stood there."""
    _scanner: Scanner = field(default_factory=Scanner)
    _entries: tuple[Entry, ...] | None = None
    _broken: tuple[Broken, ...] = ()

    def refresh(self) -> None:
        """Look again: what was added, changed or approved meanwhile counts from now on."""
        skills, broken = self._scanner.scan(self.places())
        self._entries = judge(skills, self.settings, self.facts, self.approved())
        self._broken = tuple(broken)

    def places(self) -> tuple[Place, ...]:
        """Return the roots that are looked at, the weakest first (OC-16)."""
        extra = [self._extra(path) for path in self.settings.skills_extra_roots if path]
        users: tuple[tuple[Kind, Path | None], ...] = (
            ("managed", self.homes.managed),
            ("personal", self.homes.personal),
        )
        found = [*extra, bundled(), *(Place(kind, path) for kind, path in users if path is not None)]
        if self.workspace is not None:
            found.append(Place("project", self.workspace, (".agents", "skills")))
            found.append(Place("workspace", self.workspace, ("skills",)))
        return tuple(found)

    def _extra(self, given: str) -> Place:
        """Return a root that the settings name. One in the workspace waits for approval like all that lies there."""
        home, base = self.homes.home, self.workspace
        path = home / given[2:] if given.startswith("~/") and home is not None else Path(given)
        if base is None:
            return Place("extra", path)
        path = base / path
        for whole, root in ((Path(os.path.normpath(path)), base), (path.resolve(), base.resolve())):
            if whole.is_relative_to(root):
                return Place("extra", base, whole.relative_to(root).parts, inside=True)
        return Place("extra", path)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Every skill that was found, closest to the project first, and what came of the gates."""
        if self._entries is None:
            self.refresh()
        return self._entries or ()

    @property
    def broken(self) -> tuple[Broken, ...]:
        """What lies among the skills and is none, and why."""
        if self._entries is None:
            self.refresh()
        return self._broken

    @property
    def offered(self) -> tuple[Skill, ...]:
        """The skills that the model may call, in the catalogue's order."""
        return tuple(entry.skill for entry in self.entries if entry.state == "ready")

    @property
    def waiting(self) -> tuple[Skill, ...]:
        """The workspace's skills that wait for the user's approval."""
        return tuple(entry.skill for entry in self.entries if entry.state == "not approved")

    def catalogue(self, window: int) -> str:
        """Return the section of the system prompt for a model of `window` tokens; "" when no skill may be used."""
        share = int(self.settings.skills_share * window * _CHARS_PER_TOKEN)
        return catalogue(self.offered, min(self.settings.skills_chars, share))

    @property
    def names(self) -> frozenset[str]:
        """The names of all skills that were found, whatever came of them."""
        return frozenset(entry.skill.name for entry in self.entries)

    def addressed(self, address: str) -> tuple[str, str]:
        """Return the name of the skill and the path in its folder that `address` means.

        `skill:NAME/PATH`, or a place as the catalogue tells it, like `personal:NAME/SKILL.md`; "" for the manual.
        """
        for entry in self.entries:
            home = entry.skill.home if entry.skill.home.endswith(":") else f"{entry.skill.home}/"
            if entry.usable and address.startswith(home):
                return entry.skill.name, address[len(home) :]
        name, _, path = address.partition(":")[2].partition("/")
        return name, path

    def find(self, name: str) -> Entry:
        """Return the entry that counts of the skills called `name`, whatever came of the gates.

        Raises:
            NotFound: there is none; the nearest name is told.
        """
        named = [entry for entry in self.entries if entry.skill.name == name]
        if named:
            return next((entry for entry in named if entry.state not in ("not approved", "shadowed")), named[0])
        names = [entry.skill.name for entry in self.entries if entry.usable]
        near = difflib.get_close_matches(name, names, n=1, cutoff=0.4)
        hint = f"did you mean {near[0]!r}?" if near else "`manusfs skills list --all` shows all there are"
        raise NotFound(f"there is no skill called {escape.field(name, 80)!r}", hint=hint)

    def usable(self, name: str, *, hidden: bool = False) -> Skill:
        """Return the skill `name` if it may be loaded: by the model, or also a `hidden` one where people named it.

        Raises:
            NotFound: there is none, or none for the model.
            Refused: the gates say no; the message says which.
        """
        entry = self.find(name)
        if entry.state == "ready" or (hidden and entry.state == "hidden"):
            return entry.skill
        if entry.state == "hidden":
            raise Refused(f"the skill {name!r} is not for the model to call")
        raise Refused(f"the skill {name!r} can't be used: {entry.why}")

    def manual(self, name: str, arguments: str = "", *, session: str = "", hidden: bool = False) -> Manual:
        """Return what the skill `name` says, with `arguments` in their places.

        Raises:
            NotFound, Refused, StorageError: there is none that may be used, or it can't be read any more.
        """
        skill = self.usable(name, hidden=hidden)
        text = self._read(skill, skill.file, SKILL_MAX).decode("utf-8", "replace")
        made, notes = manual(skill, split(text).body, arguments, session=session, files=self.files(skill))
        return Manual(made, tuple(notes))

    def text(self, skill: Skill) -> str:
        """Return the SKILL.md as it is, for people; one that waits for approval is shown so that it can be judged."""
        return skill.place.read((*skill.folder, skill.file), SKILL_MAX).decode("utf-8", "replace")

    def files(self, skill: Skill) -> list[str]:
        """Return the paths of the files beside the skill's SKILL.md; empty when they can't be listed."""
        try:
            found = skill.hashes or [file.path for file in skill.place.files(skill.folder)]
        except ManusfsError:
            return []
        shown = (path for path in found if not any(part.startswith((".", "__")) for part in path.split("/")))
        return [path for path in shown if path not in FILES and path.isprintable()]

    def file(self, name: str, path: str) -> bytes:
        """Return the file `path` of the skill `name`.

        Raises:
            NotFound, PathRefused, Refused, StorageError: it is not there, leads out of the skill, or is not what the
                user approved.
        """
        skill = self.usable(name, hidden=True)
        return self._read(skill, "/".join(check_relative(path)), _FILE_MAX)

    def preload(self, names: Iterable[str], arguments: str = "") -> list[str]:
        """Return the whole text of each skill in `names`, ready to stand as a user message before the prompt (CC-28).

        Raises:
            NotFound, Refused: one of them is not there or may not be used.
        """
        texts = {name: escape.body(self.manual(name, arguments, hidden=True).text) for name in names}
        return [f'<instructions path="skill:{name}">\n{text}</instructions>' for name, text in texts.items()]

    def search(self, query: str, entries: Sequence[Entry] | None = None) -> list[Entry]:
        """Return the entries whose name or description has the words of `query`, the best first; no vectors (OC-15)."""
        words = [word for word in query.casefold().split() if word]
        scored = []
        for entry in self.entries if entries is None else entries:
            name, text = entry.skill.name.casefold(), entry.skill.description.casefold()
            score = sum(4 * (word in name) + (word in text) for word in words)
            if score:
                scored.append((-score, entry))
        return [entry for _, entry in sorted(scored, key=lambda pair: pair[0])]

    def _read(self, skill: Skill, path: str, most: int) -> bytes:
        data = skill.place.read((*skill.folder, *path.split("/")), most)
        if skill.place.guarded and skill.hashes.get(path) != sha256_hex(data):
            # Between approval and now somebody wrote there: a page that could not before must not get in by the race.
            raise Refused(
                f"{path!r} of the skill {skill.name!r} changed since it was approved",
                hint="ask the user to look at it and say `manusfs trust`",
            )
        return data
