"""Names of what can be plugged in, and where each is imported from when it is first wanted."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from manusfs.errors import MissingExtra, UsageError

__all__ = ["Entry", "Registry"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a registry: a name, `package.module:attribute`, and what to install when it is missing."""

    name: str
    target: str
    extra: str = ""


class Registry:
    """A table of entries of one kind; third parties join it through the entry point group `manusfs.<kind>`."""

    def __init__(self, kind: str, entries: tuple[Entry, ...]) -> None:
        self.kind = kind
        self._entries = {entry.name: entry for entry in entries}

    def names(self) -> tuple[str, ...]:
        """Return the names of our own entries, in the order in which they were listed."""
        return tuple(self._entries)

    def knows(self, name: str) -> bool:
        """Return True if there is an entry called `name`, here or among the installed entry points."""
        return name in self._entries or any(point.name == name for point in entry_points(group=f"manusfs.{self.kind}"))

    def load(self, name: str) -> Any:
        """Return the object called `name`, importing its module now.

        Raises:
            UsageError: no entry of that name, here or among the installed entry points.
            MissingExtra: the entry's optional package is not installed.
        """
        entry = self._entries.get(name)
        if entry is None:
            return self._load_foreign(name)
        module, _, attribute = entry.target.partition(":")
        try:
            return getattr(import_module(module), attribute)
        except ImportError as error:
            if not entry.extra:
                raise
            raise MissingExtra(
                f"{self.kind} {name!r} needs a package that is not installed: {error}",
                hint=f"pip install 'manusfs[{entry.extra}]'",
            ) from error

    def _load_foreign(self, name: str) -> Any:
        for point in entry_points(group=f"manusfs.{self.kind}"):
            if point.name == name:
                return point.load()
        kind = self.kind.replace("_", " ")
        raise UsageError(f"{name!r} is none of the {kind}", hint=f"known: {', '.join(self._entries)}")
