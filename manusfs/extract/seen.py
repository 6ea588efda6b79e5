"""What the walk over a page finds, and what a reading view of it is compared with."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

__all__ = ["Link", "Place", "Seen"]


class Place(IntEnum):
    """Where on a page something stands, the more telling the greater."""

    CHROME = 0
    BODY = 1
    MAIN = 2


@dataclass(frozen=True, slots=True)
class Link:
    """Where a link stands and what it says."""

    wording: str
    place: Place


@dataclass(slots=True)
class Seen:
    """What a walk found: the text, and what a reading view is compared with."""

    text: str = ""
    title: str = ""
    links: dict[str, Link] = field(default_factory=dict)
    """By URL, in page order."""
    rows: list[str] = field(default_factory=list)
    """Rows of data tables, cells joined by blanks."""
    code: list[tuple[Any, str]] = field(default_factory=list)
    """Elements of code blocks with the Markdown of each, for the reading view."""
    tables: list[tuple[Any, str]] = field(default_factory=list)
    """The same of data tables."""
    layout: list[Any] = field(default_factory=list)
    """Elements of tables that only serve layout, each before those inside it."""
    anchors: list[tuple[Any, str]] = field(default_factory=list)
    """Link elements whose URL must change, and to what: it is made absolute, empty for places on the same page."""
    hidden: list[Any] = field(default_factory=list)
    hidden_chars: int = 0
    depth: int = 0
