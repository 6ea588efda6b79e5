"""Mends a damaged `meta.json`: one wrong byte by its checksum, else anew from the files beside it and the transcripts.

Nothing is guessed: the id proves the raw bytes, the checksum or a new extraction the rest.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from manusfs.errors import Damaged, NotFound, PathRefused
from manusfs.memory.mend_bytes import plain_ends
from manusfs.memory.render import name_of
from manusfs.records import Event, Fetched, HttpMeta, Source, observation_id, sha256_hex, tokens
from manusfs.workspace.lost import keep_bytes, set_aside
from manusfs.workspace.sealed import SEAL_BYTES, seal, unseal
from manusfs.workspace.standing import is_taken, read_second_name

if TYPE_CHECKING:
    from manusfs.store import Draft
    from manusfs.workspace import Folder, Root

__all__ = ["Drafts", "mend_meta", "one_byte_off"]

_POLYNOMIAL = 0xEDB8_8320
_MOST = 8 << 20
_SEAL = re.compile(rb'"crc":"[0-9a-f]{8}"\}')
_STATUS = re.compile(r"Error: HTTP (\d{3}) ")

Drafts = Callable[[Fetched, str], "Draft"]
"""Makes the draft of a body, as intake would, for a session; nothing is stored."""


def mend_meta(folder: Folder, path: str, id: str, events: list[Event], draft: Drafts | None) -> str:
    """Put a right `meta.json` into the observation folder `path`, and return how it was found; "" when it can't be.

    `events` are the `observation` events of `id`. What was there is kept in `lost+found/`.
    """
    from manusfs.store.observations_files import META, encode_meta, load_meta

    root, place = folder.root, f"{path}/meta.json"
    try:
        damaged = root.read(place) if _is_file(root, place) else read_second_name(root, place) or b""
        found, how = next(_candidates(damaged, id), (b"", ""))
        if not found and draft is not None:
            rebuilt, how = (
                _rebuilt(folder, path, id, events, draft),
                "made anew from the files beside it and the transcript",
            )
            found = b"" if rebuilt is None else encode_meta(rebuilt.meta(rebuilt.files()[0]).with_(id=id))
        if not found:
            return ""
        kept = keep_bytes(root, META, damaged) if damaged else ""
        if is_taken(root, place) and not damaged:
            kept = set_aside(root, place)
        root.write_atomic(place, found)
        load_meta(root, path, id)
    except (Damaged, NotFound, PathRefused):
        return ""
    return f"{how}{f'; what stood there is {kept}' if kept else ''}"


def _is_file(root: Root, place: str) -> bool:
    return root.exists(place) and not root.is_dir(place)


def _candidates(damaged: bytes, id: str) -> Iterator[tuple[bytes, str]]:
    """Yield what `damaged` can have been as the description of `id`, and what was wrong with it."""
    ends = "its line ends, its end or its name were changed"
    text = plain_ends(damaged)
    sealed = _SEAL.search(text)
    changed = ((text[: sealed.end()] + b"\n", ends),) if sealed else ()
    for found, how in (
        *changed,
        *((one, "one byte was wrong, as its checksum tells") for one in one_byte_off(damaged)),
    ):
        value = unseal(found[:-1])
        if value is not None and value.get("id") == id:
            yield found, how


def one_byte_off(data: bytes) -> Iterator[bytes]:
    """Yield what `data`, a sealed object and a line end, was before one of its bytes was changed.

    A CRC-32 tells where a single wrong byte stands, and what it was; by chance it does so once in some
    four thousand million tries for each of 255 values of each byte, and the id of the observation is checked besides.
    """
    line = data[:-1]
    if not SEAL_BYTES < len(line) <= _MOST:
        return
    head, end = line[:-SEAL_BYTES], line[-SEAL_BYTES:]
    right = seal(head[1:-1])[-SEAL_BYTES:]
    # Where the seal alone differs it is written as it always is: readers take capitals in it as well.
    if sum(one != other for one, other in zip(right, end, strict=True)) <= 1 and unseal(head + right) is not None:
        yield head + right + b"\n"
        return
    try:
        wanted = int(end[7:15], 16)
    except ValueError:
        return
    for at, error in _single(zlib.crc32(head) ^ wanted, len(head)):
        mended = head[:at] + bytes([head[at] ^ error]) + head[at + 1 :] + end
        if unseal(mended) is not None:
            yield mended + b"\n"


def _single(difference: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield where one changed byte among `size`, and by which bits, makes that difference of two CRC-32."""
    table = _table()
    of_byte = {value: byte for byte, value in enumerate(table) if byte}
    by_top = {value >> 24: byte for byte, value in enumerate(table)}
    for at in range(size - 1, -1, -1):
        if difference in of_byte:
            yield at, of_byte[difference]
        # One step of the CRC over a byte without a difference, backwards.
        low = by_top[difference >> 24]
        difference = ((difference ^ table[low]) << 8 | low) & 0xFFFF_FFFF


@cache
def _table() -> tuple[int, ...]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (_POLYNOMIAL if value & 1 else 0)
        table.append(value)
    return tuple(table)


@dataclass(frozen=True, slots=True)
class _Files:
    """What stands in an observation's folder."""

    raw: bytes
    suffix: str
    texts: dict[str, bytes]


def _rebuilt(folder: Folder, path: str, id: str, events: list[Event], draft: Drafts) -> Draft | None:
    """Return a draft of what lies in `path`; None when the bytes are not those of `id`, or the text is not theirs."""
    if not events:
        return None
    first = events[0]
    kind, key = str(first.data["kind"]), str(first.data["source"])
    source = Source(kind, key, key.partition(" ")[0] if kind == "tool" else "")  # type: ignore[arg-type]
    files = _files(folder, path, source, id)
    if files is None:
        return None
    error = _STATUS.match(str(first.data.get("notice", "")))
    http = HttpMeta(int(error[1]) if error else 200, source.url) if kind == "web" else None
    cut = bool(first.data.get("is_error")) and error is None
    name = "" if kind == "web" else name_of(source)
    made = draft(Fetched(source, files.raw, name=name, http=http, complete=not cut), str(first.data.get("session", "")))
    made = replace(made, raw_suffix=files.suffix or made.raw_suffix, created=first.time, call=str(first.data["call"]))
    # The title stands in what was shown: a newer extractor may find another one.
    made = replace(made, title=str(first.data.get("title", made.title)))
    if dict(made.texts) == files.texts:
        return made
    # Another extractor made them: the text is taken as it is only if it has the size that the transcript tells.
    if len(files.texts.get("text", b"")) != int(first.data.get("bytes", -1)):
        return None
    text = files.texts.get("text", b"").decode("utf-8", "replace")
    return replace(made, texts=files.texts, tokens=tokens.estimate(text), pages=(), page_labels=(), outline=())


def _files(folder: Folder, path: str, source: Source, id: str) -> _Files | None:
    names = [entry.name for entry in folder.root.listdir(path) if not entry.is_dir]
    texts = {view: folder.root.read(f"{path}/{view}.md") for view in ("text", "full") if f"{view}.md" in names}
    raws = {name[4:]: folder.root.read(f"{path}/{name}") for name in names if name.startswith("raw.")}
    for suffix, raw in [*raws.items(), *(("", text) for text in texts.values())]:
        if observation_id(source, sha256_hex(raw), len(id)) == id:
            return _Files(raw, suffix, texts)
    return None
