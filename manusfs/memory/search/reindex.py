"""Filling the index: one observation, note or transcript at a time, all of them, or what is missing or changed."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from manusfs.errors import ManusfsError, PathRefused
from manusfs.memory.notes import is_template
from manusfs.memory.search.chunk import Chunk, chunks
from manusfs.memory.search.fold import index_text, index_texts
from manusfs.memory.search.texts import Stored, message_texts
from manusfs.records import Event, Meta, sha256_hex
from manusfs.session import sessions, transcript_path
from manusfs.session.lines import scan
from manusfs.store import ASKS, MessageRow, NoteRow, SessionRow, Text
from manusfs.workspace.paths import check_relative

if TYPE_CHECKING:
    from manusfs.store import Index
    from manusfs.workspace import Folder

__all__ = ["Counts", "add_observation", "greatest_order", "rebuild", "refresh", "texts_of", "unsearched"]

NOTE_PLACES = ("notes", "reports")

_NOTE_MAX = 4 << 20
_DEEPEST = 16
_MESSAGE_MIN = 20
_SUFFIXES = (".md", ".txt", ".markdown", ".csv", ".json")
_MARKS = bytes(byte for byte in range(128) if not chr(byte).isalnum())
_WIDE_QUESTION = "\uff1f".encode()
_REF = re.compile(r"obs:[0-9a-f]{12,64}")
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Counts:
    """What was added to the index, and what could not be."""

    observations: int = 0
    notes: int = 0
    messages: int = 0
    unreadable: tuple[str, ...] = ()
    """Ids and paths that could not be read; `manusfs verify` says more."""


def texts_of(meta: Meta, bodies: Mapping[str, bytes]) -> Iterator[Text]:
    """Yield what the index gets of an observation; of the full view only the passages that the reading view lacks."""
    known: set[bytes] = set()
    for view in ("text", "full"):
        data = bodies.get(view)
        if not data:
            continue
        parts = chunks(data, meta.pages if view == "text" else ())
        found: list[str | None] = [*index_texts(data, [0, *[part.end for part in parts]])]
        if view == "text" and bodies.get("full"):
            known.update(line for part in parts for line in _lines(data[part.start : part.end]))
        elif view == "full":
            found = [
                body if _is_new(data[part.start : part.end], known) else None
                for part, body in zip(parts, found, strict=True)
            ]
        heads = _heads(parts)
        title = _title(meta) if view == "text" or "text" not in bodies else ""
        lengths = [part.end - part.start for part in parts]
        yield Text(f"obs:{meta.id}", view, lengths, found, heads, title, marks=_asking(data, parts))


def add_observation(index: Index, meta: Meta, order: int, bodies: Mapping[str, bytes]) -> None:
    """Queue an observation with its views' bytes; without bodies only the new order of one that is known."""
    index.add_observation(meta, order, tuple(texts_of(meta, bodies)))


def rebuild(folder: Folder, observations: Stored, index: Index, progress: Progress | None = None) -> Counts:
    """Make the index anew from the tree and the transcripts and return what it holds."""
    index.reset()
    counts = refresh(folder, observations, index, progress)
    index.rebuilt()
    return counts


def refresh(folder: Folder, observations: Stored, index: Index, progress: Progress | None = None) -> Counts:
    """Add what tree and transcripts have and the index has not, and what changed in notes; return the counts."""
    messages, orders = _add_sessions(folder, index)
    ids = index.missing(observations.ids())
    if not orders.keys() >= set(ids):
        orders = _orders(folder)
    unreadable = []
    for done, id in enumerate(ids, 1):
        try:
            meta = observations.meta(id)
            bodies = {view: observations.read(id, view) for view in meta.views}
        except ManusfsError:
            unreadable.append(f"obs:{id}")
            continue
        first, newest = orders.get(id, (0, 0))
        index.add_observation(meta, newest, tuple(texts_of(meta, bodies)), first=first)
        if progress is not None:
            progress(done, len(ids))
    notes = refresh_notes(folder, index)
    index.flush()
    return Counts(len(ids) - len(unreadable), notes, messages, tuple(unreadable))


def refresh_notes(folder: Folder, index: Index) -> int:
    """Index the notes and reports that are new or changed, forget those that are gone; return how many changed."""
    known = index.notes()
    seen, changed = set(), 0
    for path, size, mtime_ns in _note_files(folder):
        seen.add(path)
        row = known.get(path)
        if row is not None and (row.size, row.mtime_ns) == (size, mtime_ns):
            continue
        try:
            data = folder.root.read_edited(path)
        except ManusfsError:
            continue
        digest = sha256_hex(data)
        row = NoteRow(path, mtime_ns, size, digest)
        index.add_note(row, () if is_template(path, data) else _note_texts(path, data))
        index.add_refs(path, sorted(set(_REF.findall(data.decode("utf-8", "replace")))))
        changed += 1
    for path in known.keys() - seen:
        index.forget_note(path)
        changed += 1
    return changed


def refresh_sessions(folder: Folder, index: Index) -> int:
    """Index what transcripts have grown by since; return how many messages that were."""
    return _add_sessions(folder, index)[0]


def greatest_order(folder: Folder) -> int:
    """Return the greatest order that any transcript knows; 0 when there is none."""
    return max((newest for _, newest in _orders(folder).values()), default=0)


def _orders(folder: Folder) -> dict[str, tuple[int, int]]:
    """Return the first and the newest order of each observation that a transcript tells of."""
    orders: dict[str, tuple[int, int]] = {}
    for info in sessions(folder):
        _note_orders(scan(_transcript(folder, info.session, 0)).events, orders)
    return orders


def _note_orders(events: Iterable[Event], orders: dict[str, tuple[int, int]]) -> None:
    for event in events:
        if event.kind == "observation":
            id, order = str(event.data.get("id", "")), int(event.data.get("order", 0))
            first, newest = orders.get(id, (order, order))
            orders[id] = min(order, first), max(order, newest)


def _add_sessions(folder: Folder, index: Index) -> tuple[int, dict[str, tuple[int, int]]]:
    """Queue what transcripts have grown by; return the messages added and the orders of each observation seen."""
    known = index.sessions()
    orders: dict[str, tuple[int, int]] = {}
    added = 0
    if not folder.root.is_dir("sessions"):
        return 0, {}
    for entry in folder.root.listdir("sessions"):
        row = known.get(entry.name) or SessionRow(entry.name, "", "", "", 0, 0)
        data = _transcript(folder, entry.name, row.indexed_bytes)
        if not data and row.indexed_bytes and _shrank(folder, row):
            # Repair took damaged bytes out, or it was cut: what is indexed already is not added twice.
            row = replace(row, indexed_bytes=0)
            data = _transcript(folder, entry.name, 0)
        if not data:
            continue
        found = scan(data)
        _note_orders(found.events, orders)
        for event in found.events:
            # What a fork has of its parent's lines is found in its parent.
            if event.kind == "message" and "copied" not in event.data:
                added += _add_message(index, entry.name, event)
        if found.events:
            index.add_session(_session_row(row, found.events, row.indexed_bytes + found.size))
    if orders:
        index.raise_order(max(newest for _, newest in orders.values()))
        index.note_orders(orders)
    return added, orders


def _shrank(folder: Folder, row: SessionRow) -> bool:
    try:
        return folder.root.size(transcript_path(row.session)) < row.indexed_bytes
    except ManusfsError:
        return False


def _transcript(folder: Folder, session: str, start: int) -> bytes:
    try:
        return folder.root.read(transcript_path(session), start)
    except ManusfsError:
        return b""


def _session_row(row: SessionRow, events: tuple[Event, ...], size: int) -> SessionRow:
    first = events[0]
    purpose, created, title = row.purpose, row.created, row.title
    if first.kind == "session":
        purpose, created, title = str(first.data.get("purpose", "")), first.time, str(first.data.get("title", ""))
    return SessionRow(row.session, purpose, created, title, size, events[-1].seq)


def _add_message(index: Index, session: str, event: Event) -> int:
    added = 0
    for at, text in message_texts(event):
        if len(text) < _MESSAGE_MIN:
            continue
        ref = f"msg:{session}:{event.seq}.{at}"
        row = MessageRow(ref, session, event.seq, str(event.data.get("role", "")), event.time)
        index.add_message(row, [_text(ref, text.encode("utf-8", "replace"))])
        index.add_refs(ref, sorted(set(_REF.findall(text))))
        added += 1
    return added


def unsearched(folder: Folder) -> int:
    """Return how many notes and reports are in no search: too large, too deep, or named as no path may be."""
    found, places = 0, [place for place in NOTE_PLACES if folder.root.is_dir(place)]
    while places:
        place = places.pop()
        try:
            found += _unnamed(folder, place)
            entries = folder.root.listdir(place)
        except ManusfsError:
            found += 1
            continue
        for entry in entries:
            if entry.is_dir:
                places.append(f"{place}/{entry.name}")
            elif entry.name.lower().endswith(_SUFFIXES):
                found += entry.size > _NOTE_MAX or place.count("/") > _DEEPEST
    return found


def _unnamed(folder: Folder, place: str) -> int:
    """Return how many names in the folder `place` no path may have: listings leave them out."""
    fd = folder.root.open_dir(place)
    try:
        return sum(not _is_name(name) for name in os.listdir(fd))  # noqa: PTH208 (by descriptor)
    except OSError:
        return 1
    finally:
        os.close(fd)


def _is_name(name: str) -> bool:
    try:
        check_relative(name)
    except PathRefused:
        return False
    return True


def _note_files(folder: Folder) -> Iterator[tuple[str, int, int]]:
    for place in NOTE_PLACES:
        if folder.root.is_dir(place):
            yield from _files_below(folder, place)


def _files_below(folder: Folder, place: str, depth: int = 0) -> Iterator[tuple[str, int, int]]:
    for entry in folder.root.listdir(place):
        path = f"{place}/{entry.name}"
        if entry.is_dir and depth < _DEEPEST:
            yield from _files_below(folder, path, depth + 1)
        elif not entry.is_dir and entry.name.lower().endswith(_SUFFIXES) and entry.size <= _NOTE_MAX:
            yield path, entry.size, entry.mtime_ns


def _note_texts(path: str, data: bytes) -> list[Text]:
    words = re.sub(r"[/_.-]+", " ", path.rpartition(".")[0])
    return [_text(path, data, words)] if data else []


def _text(owner: str, data: bytes, title: str = "") -> Text:
    parts = chunks(data)
    bodies = index_texts(data, [0, *[part.end for part in parts]])
    heads = _heads(parts)
    lengths = [part.end - part.start for part in parts]
    return Text(owner, "text", lengths, bodies, heads, index_text(title.encode()), marks=_asking(data, parts))


def _heads(parts: list[Chunk]) -> list[str]:
    folded = {head: index_text(head.encode("utf-8", "replace")) for head in {part.head for part in parts}}
    return [folded[part.head] for part in parts]


def _asking(data: bytes, parts: list[Chunk]) -> bytes:
    """Return the marks of passages: which of them end with a question."""
    if b"?" not in data and _WIDE_QUESTION not in data:
        return b""
    marks = (ASKS if data[part.start : part.end].rstrip().endswith((b"?", _WIDE_QUESTION)) else 0 for part in parts)
    return bytes(marks)


def _title(meta: Meta) -> str:
    """Return the words that name an observation: title, and those of its address or file name."""
    source = meta.source
    name = source.arguments if source.kind == "tool" else source.url or source.key.partition(":")[2].partition("#")[0]
    return index_text(f"{meta.title} {re.sub(r'[/_.#?=&%:-]+', ' ', name)[:200]}".encode("utf-8", "replace"))


def _lines(piece: bytes) -> Iterator[bytes]:
    """Yield the letters and digits of each line."""
    for line in piece.splitlines():
        plain = line.translate(None, _MARKS)
        if plain:
            yield plain


def _is_new(piece: bytes, known: set[bytes]) -> bool:
    """Return True if lines of `piece` with more than a third of its letters stand nowhere in the reading view."""
    lines = list(_lines(piece))
    return 3 * sum(len(line) for line in lines if line not in known) > sum(len(line) for line in lines)
