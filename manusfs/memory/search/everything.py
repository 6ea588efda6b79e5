"""Every text of a workspace, one after the other: what grep goes through."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from manusfs.errors import ManusfsError
from manusfs.memory.search.texts import Body, Stored, Texts, message_texts, spoken
from manusfs.records import MsgRef, ObsRef, parse_ref
from manusfs.session import Transcript

if TYPE_CHECKING:
    from manusfs.workspace import Folder

__all__ = ["sources"]

_FOLDERS = ("notes", "reports")
_FILES = ("todo.md", "AGENTS.md")


def sources(folder: Folder, observations: Stored, within: str | None = None) -> Iterator[tuple[str, str, Body]]:
    """Yield owner, view and body of every text below `within` (a ref, a path or a folder; None is everything).

    The full view of an observation follows its reading view. What can't be opened is left out: `verify` tells of it.
    """
    ref = parse_ref(within) if within else None
    texts = Texts(folder, observations)
    if isinstance(ref, ObsRef):
        views = ("full",) if ref.view == "full" else ("text", "full")
        yield from _bodies(texts, ((f"obs:{ref.id}", view) for view in views))
        return
    if isinstance(ref, MsgRef):
        yield from _said(folder, ref.session, ref)
        return
    place = ref.path.rstrip("/") if ref is not None else ""
    yield from _bodies(texts, _observed(observations, place))
    yield from _bodies(texts, ((path, "text") for path in _files(folder, place)))
    for path in _walk(folder, "sessions"):
        if _below(path, place) and path.endswith("/transcript.jsonl"):
            yield from _said(folder, path.split("/")[1])


def _bodies(texts: Texts, wanted: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str, Body]]:
    for owner, view in wanted:
        try:
            yield owner, view, texts.body(owner, view)
        except ManusfsError:
            continue
        finally:
            texts.forget()


def _observed(observations: Stored, place: str) -> Iterator[tuple[str, str]]:
    for id in observations.ids():
        if not place or _below(observations.path(id), place) or place.startswith(f"{observations.path(id)}/"):
            yield from ((f"obs:{id}", view) for view in ("text", "full"))


def _said(folder: Folder, session: str, only: MsgRef | None = None) -> Iterator[tuple[str, str, Body]]:
    """Yield the texts of a session's messages, or those of one event, block or range."""
    try:
        with Transcript.open(folder, session) as transcript:
            events = transcript.events
    except ManusfsError:
        return
    wanted = None if only is None else replace(only, span=None)
    for event in events:
        if wanted is not None and not wanted.seq <= event.seq <= (wanted.last_seq or wanted.seq):
            continue
        for number, text in message_texts(event):
            if wanted is None or wanted.block in (None, number):
                yield f"msg:{session}:{event.seq}.{number}", "text", spoken(session, event, text)


def _files(folder: Folder, place: str) -> Iterator[str]:
    for name in _FILES:
        if _below(name, place) and folder.root.exists(name):
            yield name
    for name in _FOLDERS:
        yield from (path for path in _walk(folder, name) if _below(path, place))


def _walk(folder: Folder, place: str) -> Iterator[str]:
    if folder.root.is_dir(place):
        yield from folder.root.walk(place)


def _below(path: str, place: str) -> bool:
    return not place or path == place or path.startswith(f"{place}/")
