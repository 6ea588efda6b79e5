"""What both PDF readers offer, so that one can stand in for the other page by page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

__all__ = ["Document", "Entry", "PageText", "SecondReader", "Shows", "Unreadable"]

Shows = Literal["nothing", "images", "characters", "drawings"]
"""What stands on a page that gave no text."""


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


@dataclass(frozen=True, slots=True)
class PageText:
    """The text of a page as its reader gives it, and what the reader knows of its worth."""

    text: str
    unmapped: bool = False
    """A good part of the characters have no Unicode map: the reader guessed them."""
    disordered: bool = False
    """The text stands in another order than people read."""
    outside: int = 0
    """How many characters lie outside the visible part of the page and were left out."""
    shows: Shows = "nothing"
    """What is there in place of text; "images" beside a text says that there is little of it on a large image."""
    deep: bool = False
    """Forms are nested deeper than the reader follows them."""


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

    def read(self, page: int) -> PageText:
        """Return the text of a page, or raise Unreadable."""
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

    def close(self) -> None:
        """Give back what the document holds."""
        ...


class SecondReader(Document, Protocol):
    """A reader by which one can judge what another found."""

    def parts(self, page: int) -> Iterator[bytes | None]:
        """Yield the commands of a page and of each form that it draws, None for an image, or raise Unreadable."""
        ...
