"""What an extractor is given, what it gives back piece by piece, and the limits that it works under."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from manusfs.records import Extracted

__all__ = ["FormatExtractor", "Job", "Limits", "Page", "plain_view", "title_line"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What the text of one document may cost."""

    seconds: float = 20.0
    """Most CPU and wall time; the child stops itself shortly before, and is killed when it does not."""
    memory_mb: int = 1_024
    """Most memory that the child may take on top of its libraries."""
    text_bytes: int = 64 << 20
    """Most bytes of text that are taken back; what is more is cut, with a note."""
    pages: int = 10_000
    """Most pages of a document; the rest is left out, with a note."""


@dataclass(frozen=True, slots=True)
class Job:
    """One document: its bytes, what its sender claimed of it (hints only), and when to stop."""

    raw: bytes
    media_type: str
    """As the content says."""
    charset: str = ""
    name: str = ""
    source_url: str = ""
    limits: Limits = Limits()
    started: float = field(default_factory=time.monotonic)
    done: tuple[int, ...] = ()
    """Where the pages begin that earlier children gave before they died, and where the next one will; empty without."""
    falls: int = 0
    """How many children have died over this document."""

    def seconds_left(self) -> float:
        """Return how long the extractor may still work so that it can end by itself, not be killed."""
        return self.started + self.limits.seconds * 0.9 - time.monotonic()


@dataclass(frozen=True, slots=True)
class Page:
    """The text of the next page."""

    text: str
    label: str = ""


class FormatExtractor(Protocol):
    """Turns documents of some media types into text.

    `extract` yields what it knows as it goes, so that a kill loses nothing that was done: every `Page` is added to
    the text (pages are joined by a blank line), every `Extracted` takes the place of the one before. With pages, the
    last `Extracted` leaves `text` empty and gives outline offsets in the joined text. Same bytes in, same text out;
    a bad document gives what could be read and a note that says why the rest is missing.

    Third parties: an entry point in the group `manusfs.extractors`, whose name is the media type.
    """

    media_types: tuple[str, ...]

    def extract(self, job: Job) -> Iterator[Page | Extracted]:
        """Yield pages and what is known of the document."""


_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufdd0-\ufdef\ufffe\uffff]")
_REFUSED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
# the rest; a match of it is twice as fast as a search for what is refused
_PLAIN = re.compile("[\t\n\x20-\x7e\xa0-\ud7ff\ue000-\ufdcf\ufdf0-\ufffd\U00010000-\U0010ffff]*+")
_SURROGATES = re.compile("[\ud800-\udfff]")


def plain_view(text: str) -> str:
    """Return `text` as a view may hold it: line ends are \\n, no controls but tab, no lone surrogates."""
    if text.isprintable() or _PLAIN.fullmatch(text):
        return text
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x0b", "\n").replace("\x0c", "\n")
    # line ends of other systems are the usual finding
    return _SURROGATES.sub("\ufffd", _CONTROLS.sub("", text)) if _REFUSED.search(text) else text


def title_line(text: str, limit: int = 300) -> str:
    """Return `text` as a title: one line without controls, at most `limit` characters."""
    line = " ".join(plain_view(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
