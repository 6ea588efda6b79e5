"""What both PDF readers offer, so that one can stand in for the other page by page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

__all__ = ["Document", "Entry", "Unreadable"]


class Unreadable(Exception):
    """A document or a page that this reader can't read; `locked` when it needs a password."""

    def __init__(self, message: str, *, locked: bool = False) -> None:
        super().__init__(message)
        self.locked = locked


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the outline: title, level from 1, page from 0."""

    title: str
    level: int
    page: int


class Document(Protocol):
    """An open PDF. Pages count from 0."""

    name: str
    version: str

    def page_count(self) -> int:
        """Return how many pages the file claims to have."""
        ...

    def title(self) -> str:
        """Return the title of the metadata, "" without one."""
        ...

    def text(self, page: int) -> str:
        """Return the text of a page, or raise Unreadable."""
        ...

    def doubtful(self, page: int) -> bool:
        """Return True if a font of the page has no Unicode map, so that its text is a guess."""
        ...

    def extras(self, page: int) -> str:
        """Return the text of annotations and form fields of a page."""
        ...

    def label(self, page: int) -> str:
        """Return the page's own label, "" without one."""
        ...

    def outline(self) -> tuple[Entry, ...]:
        """Return the outline, at most 2,000 entries."""
        ...

    def notes(self) -> tuple[str, ...]:
        """Return what the reader has to say of the whole document."""
        ...
