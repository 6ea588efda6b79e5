"""Which folders are the user's own, and what of a stranger's folder the user has approved, pinned by hash."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from manusfs.errors import ConfigError, StorageError
from manusfs.records import canonical, sha256_hex
from manusfs.workspace.own_file import read_own
from manusfs.workspace.settings import OWNER_ONLY, PINNED

__all__ = ["State", "Trust", "settings_pin"]

State = Literal["own", "trusted", "changed", "stranger"]


def settings_pin(table: Mapping[str, Any], *, own: bool = False) -> str:
    """Return the hash of what waits for approval in a workspace's settings `table`; empty when it sets none of that.

    In the user's `own` folder that is less: the model may be edited there as one likes.
    """
    names = PINNED if own else OWNER_ONLY
    guarded = {name: value for name, value in table.items() if name in names}
    return sha256_hex(canonical(guarded).encode("utf-8")) if guarded else ""


@dataclass(frozen=True, slots=True)
class Trust:
    """The approvals in the user's own configuration: `file` maps a folder's path to what was pinned of it.

    A folder that is moved or copied is a stranger's again until it is trusted there: whoever can write a path can
    make a folder claim anything about itself.
    """

    file: Path

    def state(self, folder: Path, table: Mapping[str, Any]) -> State:
        """Return what `folder` is to this user; `table` has its settings as they are now.

        "own" and "trusted" folders may use all their settings. "changed" was either, and what was pinned is no longer
        what stands there.
        """
        entry = self._table().get(str(folder.resolve()))
        if entry is None:
            return "stranger"
        pin = settings_pin(table, own=entry["own"])
        if pin and entry["pin"] != pin:
            return "changed"
        return "own" if entry["own"] else "trusted"

    def is_known(self, folder: Path) -> bool:
        """Return True if `init` made the folder here or the user trusted it: its AGENTS.md counts as instructions."""
        return str(folder.resolve()) in self._table()

    def is_own(self, folder: Path) -> bool:
        """Return True if `init`, `run` or `demo` made the folder here."""
        entry = self._table().get(str(folder.resolve()))
        return entry is not None and bool(entry["own"])

    def skills(self, folder: Path) -> Mapping[str, str]:
        """Return the hash of each skill in `folder` that the user approved, by the path of the skill."""
        entry = self._table().get(str(folder.resolve()))
        return dict(entry["skills"]) if entry is not None else {}

    def agents(self, folder: Path) -> Mapping[str, str]:
        """Return the hash of each file in `agents/` of `folder` that the user approved, by its workspace path."""
        entry = self._table().get(str(folder.resolve()))
        return dict(entry["agents"]) if entry is not None else {}

    def pin(
        self,
        folder: Path,
        settings: Mapping[str, Any],
        *,
        own: bool = False,
        skills: Mapping[str, str] | None = None,
        agents: Mapping[str, str] | None = None,
    ) -> None:
        """Record that the user approves `settings`, those that the file in `folder` holds now.

        `skills` are the hashes of the skills in it that are approved, all of them; None for those that were. So are
        `agents`, of the files in `agents/`.

        Raises:
            StorageError: the user's configuration can't be written.
        """
        table = self._table()
        key = str(folder.resolve())
        before = table.get(key, {})
        mine = own or bool(before.get("own", False))
        kept = before.get("skills", {}) if skills is None else dict(skills)
        files = before.get("agents", {}) if agents is None else dict(agents)
        table[key] = {"own": mine, "pin": settings_pin(settings, own=mine), "skills": kept, "agents": files}
        self._write(json.dumps(table, indent=1, sort_keys=True).encode("utf-8"))

    def _table(self) -> dict[str, dict[str, Any]]:
        data = read_own(self.file)
        if data is None:
            return {}
        try:
            table = json.loads(data)
            return {str(key): _entry(entry) for key, entry in table.items()}
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise ConfigError(f"can't read {str(self.file)!r}: {error}", hint="correct or remove that file") from error

    def _write(self, data: bytes) -> None:
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            fresh = self.file.with_suffix(f".{os.getpid()}.new")
            descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(data)
                stream.flush()
                # Else a power cut leaves an empty file, and no command would run before it is removed.
                os.fsync(descriptor)
            fresh.replace(self.file)
        except OSError as error:
            raise StorageError(
                f"can't write {str(self.file)!r}: {error.strerror}", hint="check the folder's rights"
            ) from error


def _entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    skills = {str(path): str(pin) for path, pin in entry.get("skills", {}).items()}
    agents = {str(path): str(pin) for path, pin in entry.get("agents", {}).items()}
    return {"own": bool(entry["own"]), "pin": str(entry["pin"]), "skills": skills, "agents": agents}
