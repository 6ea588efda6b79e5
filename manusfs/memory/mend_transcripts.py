"""Repair of transcripts: whole records stay byte for byte, all else is set aside, with the file as it was."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from manusfs.errors import ManusfsError
from manusfs.records import Event, counted
from manusfs.session import transcript_path
from manusfs.workspace.lost import keep_bytes, set_aside
from manusfs.workspace.standing import read_second_name

if TYPE_CHECKING:
    from manusfs.session.lines import Scan
    from manusfs.workspace import Folder, Root

__all__ = ["mend_transcripts"]


def mend_transcripts(folder: Folder) -> Iterator[str]:
    """Yield a line for each transcript that was set right. The workspace must be held by the caller alone.

    A torn end, which was never acknowledged, is cut off. Bytes in the middle that are no record leave the file, which
    goes as a whole to lost+found/ first; numbers that are lost by that stay free. What is no plain file goes there too,
    and so does the transcript of another session, which comes to its place if that is free.
    """
    from manusfs.session.names import is_name

    root = folder.root
    strays: dict[str, str] = {}
    for entry in root.listdir("sessions") if root.is_dir("sessions") else ():
        if entry.is_dir and is_name(entry.name):
            try:
                yield from _mend(folder, entry.name, strays)
            except ManusfsError as error:
                yield f"sessions/{entry.name}: could not be set right: {error}"
    for owner, kept in strays.items():
        if not root.exists(place := transcript_path(owner)):
            root.rename(kept, place)
            yield f"{place}: put back from {kept}"


def _mend(folder: Folder, session: str, strays: dict[str, str]) -> Iterator[str]:
    from manusfs.session import Transcript
    from manusfs.session.lines import scan
    from manusfs.session.names import is_name

    root, path = folder.root, transcript_path(session)
    if not root.exists(path) or root.is_dir(path):
        yield from _odd(root, session)
        return
    raw = root.read(path)
    found = scan(raw)
    if found.owner not in ("", session):
        kept = set_aside(root, path)
        yield f"{path}: moved to {kept}: it is the transcript of session {found.owner[:80]}"
        if is_name(found.owner):
            strays.setdefault(found.owner, kept)
        return
    if found.damage:
        yield from _without_rubbish(root, session, raw, found)
    if raw and (found.size < len(raw) or not found.closed):
        with Transcript.open(folder, session, write=True) as transcript:
            yield from (line for line in transcript.repairs if "cut off" in line)


def _without_rubbish(root: Root, session: str, raw: bytes, found: Scan) -> Iterator[str]:
    path = transcript_path(session)
    kept = keep_bytes(root, f"{session}.jsonl", raw)
    records = [raw[start:end] + b"\n" for start, end in found.places]
    if found.events and found.lost:
        # The numbers at the end may have been told to somebody: none of them may come to mean something else.
        records.append(_marker(found, kept))
    root.write_atomic(path, b"".join(records) + raw[found.size :])
    yield f"{path}: {counted(len(found.damage), 'damaged place')} set aside in {kept}"


def _marker(found: Scan, kept: str) -> bytes:
    from manusfs.session.lines import encode
    from manusfs.session.names import now

    return encode(Event("mended", {"kept": kept}, found.next_seq, now()))[0]


def _odd(root: Root, session: str) -> Iterator[str]:
    """Deal with what stands in the place of a transcript and is no plain file with one name."""
    from manusfs.session.lines import scan

    path = transcript_path(session)
    fd = root.open_dir(f"sessions/{session}")
    try:
        if "transcript.jsonl" not in os.listdir(fd):  # noqa: PTH208 (by descriptor)
            return
    finally:
        os.close(fd)
    raw = read_second_name(root, path)
    if raw is None:
        yield f"{path}: moved to {set_aside(root, path)}: it is no plain file"
        return
    found = scan(raw)
    if found.owner == session and not found.damage and found.size == len(raw):
        # A second name may lead outside. What proves itself as ours, to the last byte, may be copied.
        root.write_atomic(path, raw)
        yield f"{path}: it had several names (hard links) and is a file of its own now"
