"""Checks everything in a workspace, network off: every byte against its hash, every line, every ref.

It shares no hashing with store/: a mistake there would be made twice and found never.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from manusfs.errors import ManusfsError
from manusfs.memory.findings import Findings
from manusfs.memory.garbage import unnamed
from manusfs.memory.mend_transcripts import mend_transcripts
from manusfs.memory.mending import Mender, clear_the_way, give_up, given_up
from manusfs.memory.renderer import Renderer
from manusfs.memory.verify_transcripts import check_transcript, unsealed
from manusfs.session.names import is_name
from manusfs.workspace.locks import lock_workspace

if TYPE_CHECKING:
    from manusfs.store import Observations
    from manusfs.workspace import Folder

__all__ = ["Report", "verify"]

_BLOCK = 262_144
_ID = re.compile(r"-([0-9a-f]{12,64})\Z")
_REPORT_REF = re.compile(rb"obs:([0-9a-f]{12,64})")
_REF_MOST = 128
_PIECE = 1 << 20
_SESSION_OF = re.compile(r"reports/(.+)-\d+\.md\Z")
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Report:
    """What a check found. Each entry begins with a ref or a path."""

    observations: int
    bytes: int
    """Bytes that were hashed."""
    refs: int
    """Refs in transcripts and reports that were followed."""
    damaged: tuple[str, ...]
    """What does not match its hash or checksum."""
    lost: tuple[str, ...]
    """What transcripts and reports name and nothing gives any more; one line an observation."""
    orphans: tuple[str, ...]
    """Observations that no transcript names: whole, kept, and no fault; a crash may leave one."""
    repaired: tuple[str, ...] = ()
    """What repair did."""
    lost_for_good: tuple[str, ...] = ()
    """What an earlier repair could not mend: to ask for it again brings nothing back."""
    dangling: tuple[str, ...] = ()
    """Refs in notes and reports that no observation ever had: mistyped or made up; nothing was lost."""

    @property
    def ok(self) -> bool:
        """True if nothing is damaged or lost."""
        return not self.damaged and not self.lost and not self.lost_for_good

    def to_json(self) -> dict[str, Any]:
        """Return the object that `verify --json` prints."""
        lists = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
        return {**lists, "ok": self.ok}


def verify(
    folder: Folder,
    observations: Observations,
    *,
    repair: bool = False,
    mender: Mender | None = None,
    progress: Progress | None = None,
) -> Report:
    """Return what is wrong in the workspace. With `repair`, mend what can be.

    What can't be mended stays where it is, as its other files and blocks can still be read; only a folder of which
    nothing tells what it is goes to `lost+found/`. What repair had to leave is told as lost for good from then on.

    Raises:
        Locked: repair was asked for while someone works in the workspace.
    """
    if not repair:
        return _report(_look(folder, observations, progress), given_up(folder))
    with lock_workspace(folder.root, shared=False):
        mender = mender or Mender(folder)
        done = [*clear_the_way(folder), *mend_transcripts(folder)]
        before = _look(folder, observations, progress)
        done += _repaired(folder, before, mender)
        after = _look(folder, observations, progress) if done else before
    # What is gone as a whole comes back as any source does, by a session of its own: that needs the lock.
    there = {*after.ids, *after.broken.values()}
    if back := list(mender.bring_back(key[4:] for key in after.lost if key[4:] in after.known - there)):
        done, after = [*done, *back], _look(folder, observations, progress)
    left = frozenset(line for line in (*after.damaged, *after.lost) if not _is_unread(line, after))
    give_up(folder, left, lambda: unnamed(folder, observations))
    return _report(after, left, tuple(done))


def _repaired(folder: Folder, found: Findings, mender: Mender) -> Iterator[str]:
    for path in found.unread & found.broken.keys():
        yield f"obs:{found.broken[path]} {path}: can't be read now, so it stays where it is"
    broken = {path: id for path, id in found.broken.items() if path not in found.unread}
    yield from mender.repair(broken, lambda path, id: list(_observation(folder, path, id, Findings())), found.ids)


def _is_unread(line: str, found: Findings) -> bool:
    return any(path in line or f"obs:{found.broken.get(path)}" == line for path in found.unread)


def _look(folder: Folder, observations: Observations, progress: Progress | None) -> Findings:
    found = Findings()
    for path, id in sorted(_observation_folders(folder)):
        if progress is not None:
            progress(path)
        problems = list(_observation(folder, path, id, found))
        found.damaged.extend(f"obs:{id} {problem}" for problem in problems)
        if problems:
            found.broken[path] = id
        else:
            found.ids[id] = path
    renderer = Renderer(observations)
    for session in filter(is_name, _names(folder, "sessions")):
        if progress is not None:
            progress(f"sessions/{session}")
        check_transcript(folder, session, renderer, found)
    for place in ("notes", "reports"):
        for path in _files(folder, place):
            _refs_in(folder, path, found)
    found.damaged.extend(found.named.broken(folder, _files(folder, "reports")))
    return found


def _report(found: Findings, given_up: frozenset[str], repaired: tuple[str, ...] = ()) -> Report:
    gone = [line for line in found.damaged if line in given_up]
    gone += [_summed(lines) for key, lines in found.lost.items() if key in given_up]
    orphans = tuple(f"obs:{id} {path}" for id, path in found.ids.items() if id not in found.known)
    return Report(
        observations=len(found.ids) + len(found.broken),
        bytes=found.bytes,
        refs=found.refs,
        damaged=tuple(line for line in found.damaged if line not in given_up),
        lost=tuple(_summed(lines) for key, lines in found.lost.items() if key not in given_up),
        orphans=orphans,
        repaired=repaired,
        lost_for_good=tuple(gone),
        dangling=tuple(found.dangling),
    )


def _summed(lines: Sequence[str]) -> str:
    more = len(lines) - 1
    return f"{lines[0]} (and {more} more place{'' if more == 1 else 's'})" if more else lines[0]


def _observation_folders(folder: Folder) -> Iterator[tuple[str, str]]:
    for kind in _names(folder, "observations"):
        for name in _names(folder, f"observations/{kind}"):
            path = f"observations/{kind}/{name}"
            if kind in ("file", "user"):
                if match := _ID.search(name):
                    yield path, match[1]
                continue
            for inner in _names(folder, path):
                if match := _ID.search(inner):
                    yield f"{path}/{inner}", match[1]


def _observation(folder: Folder, path: str, id: str, found: Findings) -> Iterator[str]:
    try:
        raw = folder.root.read(f"{path}/meta.json")
    except ManusfsError as error:
        yield f"{path}/meta.json: {found.unreadable(error, path)}"
        return
    found.bytes += len(raw)
    meta = unsealed(raw.rstrip(b"\n"))
    if meta is None:
        yield f"{path}/meta.json: its checksum does not match"
        return
    try:
        digest = hashlib.sha256(f"{meta['source']['key']}\0{meta['raw_sha256']}".encode()).hexdigest()
        files = {name: dict(file) for name, file in meta["files"].items()}
        found.named.name(meta.get("session"), f"obs:{id}", str(meta.get("call", "")))
        if meta["id"] != id or not digest.startswith(id):
            yield f"{path}/meta.json: it describes another observation"
        if files["raw"]["sha256"] != meta["raw_sha256"]:
            yield f"{path}/meta.json: it contradicts itself"
        for file in {file["name"]: file for file in files.values()}.values():
            yield from _file(folder, path, file, found)
    except (KeyError, TypeError, AttributeError):
        yield f"{path}/meta.json: it is no description of an observation"


def _file(folder: Folder, place: str, file: Mapping[str, Any], found: Findings) -> Iterator[str]:
    path = f"{place}/{file['name']}"
    whole, blocks, newlines, size = hashlib.sha256(), [], [], 0
    try:
        fd = folder.root.open_read(path)
    except ManusfsError as error:
        yield f"{path}: {found.unreadable(error, place)}"
        return
    try:
        while block := _exactly(fd, _BLOCK):
            whole.update(block)
            blocks.append(hashlib.sha256(block).hexdigest())
            newlines.append(block.count(b"\n"))
            size += len(block)
    except OSError as error:
        found.unread.add(place)
        yield f"{path}: {error.strerror}"
        return
    finally:
        os.close(fd)
    found.bytes += size
    if size != file["size"]:
        yield f"{path}: it has {size} bytes, not {file['size']}"
    elif whole.hexdigest() != file["sha256"]:
        yield f"{path}: its sha256 does not match"
    elif blocks != list(file["blocks"]) or newlines != list(file["newlines"]):
        yield f"{path}: the hashes or newline counts of its blocks do not match"


def _exactly(fd: int, size: int) -> bytes:
    pieces = []
    while size and (piece := os.read(fd, size)):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def _refs_in(folder: Folder, path: str, found: Findings) -> None:
    match = _SESSION_OF.match(path)
    issued_here = path.startswith("notes/") or (match is not None and match[1] in found.sessions)
    try:
        named = list(dict.fromkeys(_refs_of(folder, path)))
    except ManusfsError as error:
        found.damaged.append(f"{path}: {found.unreadable(error, path)}")
        return
    for id in named:
        found.refs += 1
        if id in found.ids or id in found.broken.values():
            continue
        line = f"obs:{id} in {path}: there is no such observation"
        # A ref that no transcript ever issued was invented or mistyped: nothing was lost.
        if id in found.known or not issued_here:
            found.lost.setdefault(f"obs:{id}", []).append(line)
        else:
            found.dangling.append(line)


def _refs_of(folder: Folder, path: str) -> Iterator[str]:
    """Yield the ids of the refs in a file that people may have written: it may be of any size."""
    fd, rest = folder.root.open_read(path), b""
    try:
        while piece := os.read(fd, _PIECE):
            piece = rest + piece
            # A ref may be cut at the end of a piece: what begins there waits for the next.
            whole = max(0, len(piece) - _REF_MOST)
            yield from (ref[1].decode("ascii") for ref in _REPORT_REF.finditer(piece) if ref.start() < whole)
            rest = piece[whole:]
        yield from (id.decode("ascii") for id in _REPORT_REF.findall(rest))
    finally:
        os.close(fd)


def _names(folder: Folder, place: str) -> list[str]:
    if not folder.root.is_dir(place):
        return []
    return [entry.name for entry in folder.root.listdir(place) if entry.is_dir]


def _files(folder: Folder, place: str) -> list[str]:
    return list(folder.root.walk(place)) if folder.root.is_dir(place) else []
