"""What the user gives with a task: files and standard input are read and stored, URLs are only named."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from manusfs.memory.sources import classify, from_bytes, read_file
from manusfs.records import Fetched
from manusfs.workspace.paths import Root

__all__ = ["Given", "GivenSource", "given", "shortened"]

GivenSource = str | Path | bytes | Fetched
"""A URL, a path, bytes (standard input, a paste), or something that was brought already."""


@dataclass(frozen=True, slots=True)
class Given:
    """The sources of a task, told apart."""

    bodies: tuple[Fetched, ...] = ()
    urls: tuple[str, ...] = ()


def given(sources: Iterable[GivenSource], root: Root, most: int) -> Given:
    """Return `sources` told apart; files of more than `most` bytes are refused.

    Raises:
        NotFound, UsageError, Refused, StorageError: a source can't be read, or is no whole URL; nothing was stored yet.
    """
    from manusfs.fetch.urls import checked

    bodies: list[Fetched] = []
    urls: list[str] = []
    for source in sources:
        if isinstance(source, Fetched):
            bodies.append(source)
        elif isinstance(source, bytes):
            bodies.append(from_bytes(source))
        elif isinstance(source, str) and classify(source) == "url":
            checked(source)
            urls.append(source.strip())
        else:
            bodies.append(read_file(str(source), root, most))
    return Given(tuple(bodies), tuple(dict.fromkeys(urls)))


def shortened(text: str, limit: int) -> str:
    """Return a user's words, those above `limit` characters with their middle left out and told."""
    if len(text) <= limit:
        return text
    head, tail = text[: limit * 3 // 4], text[len(text) - limit // 4 :]
    left_out = len(text) - len(head) - len(tail)
    return f"{head}\n…[{left_out} characters are left out here]…\n{tail}"
