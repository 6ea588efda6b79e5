"""What every command needs: the workspace, the settings with their origins, and the keys, all from the environment."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from manusfs.cli.named import typed, work_in
from manusfs.cli.out import talk
from manusfs.errors import ConfigError, NoWorkspace, StorageError, UsageError
from manusfs.workspace.own_file import read_own
from manusfs.workspace.settings import Effective, Settings, load, parse_toml
from manusfs.workspace.trust import State, Trust

if TYPE_CHECKING:
    from manusfs.memory import Workspace
    from manusfs.memory.workspace import Doors

__all__ = ["App", "Keys"]


_NO_SETTINGS = frozenset({"MANUSFS_WORKSPACE", "MANUSFS_CONFIG_DIR", "MANUSFS_DEBUG"})
"""Variables of ours that are no settings."""


@dataclass(frozen=True, slots=True)
class Keys:
    """Credentials as the environment gave them; empty where it gave none. Their text is never printed."""

    anthropic: str = ""
    brave: str = ""
    tavily: str = ""

    @classmethod
    def from_environment(cls) -> Keys:
        """Return the keys that the environment holds."""
        read = os.environ.get
        return cls(read("ANTHROPIC_API_KEY", ""), read("BRAVE_API_KEY", ""), read("TAVILY_API_KEY", ""))

    def __repr__(self) -> str:
        return f"Keys({', '.join(field.name for field in fields(self) if getattr(self, field.name))})"


@dataclass(frozen=True, slots=True)
class App:
    """One command's surroundings. Nothing is looked up before it is asked for."""

    context: click.Context

    @property
    def explicit(self) -> str | None:
        """The folder given with `-w`, or in MANUSFS_WORKSPACE."""
        return (self.context.find_root().obj or {}).get("workspace") or os.environ.get("MANUSFS_WORKSPACE") or None

    @property
    def config_dir(self) -> Path:
        """The folder of the user's own configuration."""
        if given := os.environ.get("MANUSFS_CONFIG_DIR"):
            return Path(given)
        if sys.platform == "linux":
            # Just what platformdirs says, without the import that would be a tenth of a short command.
            base = os.environ.get("XDG_CONFIG_HOME", "").strip()
            return (Path(base) if base else Path.home() / ".config") / "manusfs"
        import platformdirs

        return Path(platformdirs.user_config_dir("manusfs", appauthor=False))

    @property
    def trust(self) -> Trust:
        """The user's approvals."""
        return Trust(self.config_dir / "trust.json")

    def find(self) -> Path:
        """Return the workspace's folder, looked for like git does.

        Raises:
            NoWorkspace: there is none.
        """
        from manusfs.workspace.folder import above, find

        try:
            return find(Path.cwd(), explicit=self.explicit)
        except NoWorkspace as error:
            if not self.explicit and (made := self.dated()):
                told = f"{error}; {made[-1].name} was made here"
                raise NoWorkspace(told, hint=self._typed_for(made[-1].name)) from error
            if self.explicit and Path(self.explicit).exists() and (outer := above(self.explicit)):
                raise NoWorkspace(str(error), hint=self._typed_for(str(outer))) from error
            raise

    def _typed_for(self, workspace: str) -> str:
        """Return the command that was typed, for `workspace`; where that can't be told apart, one that lists it."""
        given = tuple((self.context.find_root().obj or {}).get("arguments") or ())
        if given[:2] == ("-w", self.explicit):
            given = given[2:]
        elif self.explicit:
            given = ()
        return f"manusfs -w {shlex.quote(workspace)} {shlex.join(given or ('ls',))}"

    def dated(self) -> list[Path]:
        """Return the folders here that `run` made by itself for this user and that hold a session, oldest first."""
        found = [path for path in Path.cwd().glob("manusfs-[0-9]*") if (path / "manusfs.toml").is_file()]
        begun = sorted(path for path in found if next(path.glob("sessions/*/transcript.jsonl"), None))
        return [path for path in begun if self.trust.is_own(path)] if begun else []

    def work_in(self, folder: Path) -> None:
        """Let hints name `folder`: it is not found from here without being told."""
        here = Path.cwd()
        work_in(str(folder.relative_to(here)) if folder.is_relative_to(here) else str(folder))

    def settings(self, folder: Path | None = None, flags: Mapping[str, Any] | None = None) -> Effective:
        """Return the settings in force in `folder`, or without a workspace; warnings are told on stderr."""
        table = self.table(folder)
        state = self.state(folder, table) if folder is not None else "stranger"
        effective = load(
            flags,
            self._environment(),
            table,
            self._user_table(),
            trusted=state in ("own", "trusted"),
            own=folder is not None and self.trust.is_own(folder),
            places={"user file": str(self.config_dir / "manusfs.toml"), "workspace file": "manusfs.toml"},
        )
        for warning in effective.warnings:
            talk(self.context, typed(warning))
        return effective

    def check(self, settings: Settings, flags: Mapping[str, Any] | None = None) -> None:
        """Return if what the settings name exists.

        Raises:
            UsageError, ConfigError: no such policy or web search; the former when one of `flags` named it.
        """
        from manusfs.compact import load_policy

        try:
            load_policy(settings.policy)
        except UsageError as error:
            kind = UsageError if (flags or {}).get("policy") else ConfigError
            raise kind(f"setting 'policy': {error}", hint=error.hint) from error
        if settings.search_provider in ("", "none"):
            return
        from manusfs.fetch.providers import NAMES, is_known

        if not is_known(settings.search_provider):
            raise ConfigError(
                f"setting 'search_provider': there is no web search called {settings.search_provider!r}",
                hint=f"known: none, {', '.join(NAMES)}",
            )

    def table(self, folder: Path | None) -> dict[str, Any]:
        """Return the settings that the file in `folder` holds, unchecked. A link is refused: it could lead anywhere."""
        if folder is None:
            return {}
        from manusfs.workspace.folder import MARKER, SETTINGS_MAX
        from manusfs.workspace.paths import Root

        root = Root(folder)
        try:
            return parse_toml(root.read_edited(MARKER, SETTINGS_MAX), MARKER)
        finally:
            root.close()

    def state(self, folder: Path, table: Mapping[str, Any]) -> State:
        """Return what `folder` is to this user."""
        return self.trust.state(folder, table)

    def open(
        self, flags: Mapping[str, Any] | None = None, folder: Path | None = None, doors: Doors | None = None
    ) -> Workspace:
        """Return the workspace, open, with the settings in force.

        Raises:
            NoWorkspace, NewerFormat, ConfigError: as they say.
        """
        from manusfs.memory import Workspace

        folder = folder or self.find()
        settings = self.settings(folder, flags).settings
        return Workspace.open(folder, settings, told=lambda line: talk(self.context, typed(line)), doors=doors)

    def hmac_key(self) -> bytes:
        """Return the secret by which credentials are compared, made at first use in the user's configuration."""
        file = self.config_dir / "credential.key"
        if (made := read_own(file)) is not None:
            return made
        key = os.urandom(32)
        try:
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(key)
        except FileExistsError:
            return read_own(file) or key
        except OSError as error:
            raise StorageError(
                f"can't write {str(file)!r}: {error.strerror}", hint="check the folder's rights"
            ) from error
        return key

    def secret(self) -> bytes:
        """Return the user's secret; empty where the configuration can't be written: then nothing is sealed."""
        try:
            return self.hmac_key()
        except StorageError:
            return b""

    def _environment(self) -> dict[str, str]:
        found = {
            name.removeprefix("MANUSFS_").lower(): value
            for name, value in os.environ.items()
            if name.startswith("MANUSFS_") and name not in _NO_SETTINGS and value
        }
        if (base_url := os.environ.get("ANTHROPIC_BASE_URL")) and "base_url" not in found:
            found["base_url"] = base_url
        return found

    def _user_table(self) -> dict[str, Any]:
        file = self.config_dir / "manusfs.toml"
        data = read_own(file)
        return {} if data is None else parse_toml(data, str(file))
