"""What the tests of skills share: folders with skills in them, and the registry over them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from manusfs.skills import Facts, Homes, Skills
from manusfs.workspace.settings import Settings


def write(root: Path, folder_name: str, /, text: str = "", **front: Any) -> Path:
    """Write a skill below `root` and return its folder; `front` is its front matter, underscores for hyphens."""
    folder = root / folder_name
    folder.mkdir(parents=True, exist_ok=True)
    lines = {"name": folder_name, "description": f"Does what {folder_name} does.", **front}
    head = "".join(f"{key.replace('_', '-')}: {value}\n" for key, value in lines.items() if value is not None)
    (folder / "SKILL.md").write_text(f"---\n{head}---\n{text or f'# {folder_name}'}\n", "utf-8")
    return folder


class Stage:
    """A workspace, a home and a configuration in one temporary folder."""

    def __init__(self, path: Path) -> None:
        self.workspace = path / "ws"
        self.extra = path / "extra"
        self.managed = path / "config" / "skills"
        self.personal = path / "home" / ".agents" / "skills"
        self.project = self.workspace / ".agents" / "skills"
        self.own = self.workspace / "skills"
        self.workspace.mkdir(parents=True)
        self.approved: dict[str, str] = {}

    def skills(self, facts: Facts | None = None, **settings: Any) -> Skills:
        """Return the registry with `settings`, the bundled skills off unless they are set."""
        settings.setdefault("skills_bundled", ())
        return Skills(
            self.workspace,
            Settings(skills_extra_roots=(str(self.extra),), **settings),
            Homes(self.managed, self.personal, self.workspace.parent / "home"),
            facts or Facts(system="linux"),
            lambda: self.approved,
        )

    def approve(self) -> Mapping[str, str]:
        """Approve what stands in the workspace now, as `manusfs trust` does."""
        for entry in self.skills().entries:
            if entry.skill.place.guarded:
                self.approved[entry.skill.home] = entry.skill.pin
        return self.approved


def states(skills: Skills) -> dict[str, str]:
    """Return what came of the gates for each location, without the bundled skills that are off here."""
    return {entry.skill.location: entry.state for entry in skills.entries if entry.state != "not allowed"}


def why(skills: Skills) -> dict[str, str]:
    """Return why each location that is in the way is none."""
    return {broken.location: broken.why for broken in skills.broken}
