"""What nothing in a workspace refers to, and how it is freed: only when asked, and never what anything names."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from manusfs.errors import ManusfsError, NotFound, PathRefused
from manusfs.session.lines import scan
from manusfs.store import Observations
from manusfs.store.observations_names import walk
from manusfs.workspace import Folder, Root, lock_workspace

__all__ = ["Garbage", "Waste", "find", "free"]

_DERIVED = ".manusfs"
_STAGING = f"{_DERIVED}/tmp"  # noqa: S108 (in the workspace)
_CACHE = f"{_DERIVED}/cache"
_NAMED = re.compile(rb"(?<![0-9a-f])[0-9a-f]{12,64}(?![0-9a-f])")
_REF = re.compile(rb"\bobs:([0-9a-f]{1,64})")
_PIECE = 1 << 20
_REF_MOST = 72
_FILE = re.compile(r"(?:meta\.json|text\.md|full\.md|raw(?:\.[a-z0-9]{1,16})?)\Z")


@dataclass(frozen=True, slots=True)
class Waste:
    """An observation that no transcript, note or report names."""

    ref: str
    path: str
    source: str
    """Where it came from, secrets masked; empty when nothing tells."""
    bytes: int


@dataclass(frozen=True, slots=True)
class Garbage:
    """What may be freed, and what keeps the rest."""

    observations: tuple[Waste, ...] = ()
    staging_files: int = 0
    """Unfinished files of processes that are gone."""
    staging_bytes: int = 0
    cache_bytes: int = 0
    """The cache of HTTP bodies: what is in it comes again from the network."""
    kept: int = 0
    """Observations that something refers to."""
    uncertain: tuple[str, ...] = ()
    """Why no observation may be freed now: places where refs may stand that can't be read."""

    @property
    def bytes(self) -> int:
        """All that would be freed."""
        return sum(waste.bytes for waste in self.observations) + self.staging_bytes + self.cache_bytes

    def to_json(self) -> dict[str, Any]:
        """Return the object that `gc --json` prints."""
        return {**asdict(self), "bytes": self.bytes}


def find(folder: Folder, observations: Observations) -> Garbage:
    """Return what nothing refers to. Nothing is changed; what others write meanwhile may be named or not.

    A ref counts wherever it stands: in transcripts (whole lines and others), notes, reports, the plan, skills,
    `lost+found/` and any file that people put into the folder. So does one cut to its first digits.
    """
    root = folder.root
    there = dict(walk(root))
    named, uncertain = _named(root)
    kept = _kept(there, named, observations)
    waste = (_waste(root, observations, id, path) for id, path in there.items() if id not in kept)
    found = () if uncertain else tuple(one for one in waste if one is not None)
    staging = list(_files(root, _STAGING))
    cache = sum(size for _, size in _files(root, _CACHE))
    left = len(there) - len(found)
    return Garbage(found, len(staging), sum(size for _, size in staging), cache, left, tuple(uncertain))


def free(folder: Folder, observations: Observations, agreed: Garbage) -> Garbage:
    """Free what of `agreed` nothing refers to even now, and return what was freed.

    Each observation leaves its place by one rename before its files go: after a crash it is whole, or it is not there.

    Raises:
        Locked: someone works in the workspace.
    """
    root = folder.root
    with lock_workspace(root, shared=False):
        now = find(folder, observations)
        wanted = {(waste.ref, waste.path) for waste in agreed.observations}
        done = tuple(waste for waste in now.observations if (waste.ref, waste.path) in wanted)
        _remove(root, [waste.path for waste in done])
        root.staging.clean()
        left = sum(size for _, size in _files(root, _STAGING))
        cache = _empty(root, _CACHE) if agreed.cache_bytes else 0
    return Garbage(done, now.staging_files, max(0, now.staging_bytes - left), cache, now.kept, now.uncertain)


def _named(root: Root) -> tuple[set[str], list[str]]:
    """Return every text that may be an id or its beginning (then with a `*` behind it), and what could not be read."""
    found: set[bytes] = set()
    uncertain: list[str] = []
    for path in _everything(root, "", uncertain):
        try:
            for piece in _pieces(root, path):
                found.update(_NAMED.findall(piece))
                found.update(prefix + b"*" for prefix in _REF.findall(piece))
            if path.endswith("/transcript.jsonl") and (missing := _missing(root.read(path))):
                uncertain.append(f"{path}: {missing}")
        except ManusfsError as error:
            uncertain.append(f"{path}: {error}")
    return {text.decode("ascii") for text in found}, uncertain


def _missing(transcript: bytes) -> str:
    """Return which records are not whole: they may name anything. Rubbish between whole records says nothing."""
    found = scan(transcript)
    numbers = {event.seq for event in found.events}
    lost = [number for number in range(1, max(numbers, default=0) + 1) if number not in numbers]
    return f"line {lost[0]} is not whole" if lost else ""


def _everything(root: Root, rel: str, uncertain: list[str]) -> Iterator[str]:
    """Yield every file below `rel` that may name observations; what can't be looked into is added to `uncertain`.

    A walk passes over links and second names of files: a folder of sessions that lies elsewhere would seem empty.
    """
    fd = root.open_dir(rel)
    try:
        names = sorted(os.listdir(fd))  # noqa: PTH208 (by descriptor)
    finally:
        os.close(fd)
    plain = {entry.name: entry for entry in root.listdir(rel)}
    for name in names:
        path = f"{rel}/{name}" if rel else name
        if path in ("observations", _DERIVED):
            continue
        if name not in plain:
            uncertain.append(f"{path} is a link or no plain file: refs may stand in it")
        elif plain[name].is_dir:
            yield from _everything(root, path, uncertain)
        else:
            yield path


def _pieces(root: Root, path: str) -> Iterator[bytes]:
    """Yield the file in pieces that overlap, so that no ref is cut."""
    fd, rest = root.open_read(path), b""
    try:
        while piece := os.read(fd, _PIECE):
            yield rest + piece
            rest = (rest + piece)[-_REF_MOST:]
    finally:
        os.close(fd)


def _kept(there: Iterable[str], named: set[str], observations: Observations) -> set[str]:
    beginnings = tuple(text[:-1] for text in named if text.endswith("*"))
    kept = {id for id in there if id in named or id.startswith(beginnings)}
    for id in list(kept):
        # What an observation replaced is its source's history: it goes only with it.
        while id and (id := _previous(observations, id)) and id not in kept:
            kept.add(id)
    return kept


def _previous(observations: Observations, id: str) -> str:
    try:
        return observations.meta(id).previous
    except ManusfsError:
        return ""


def _waste(root: Root, observations: Observations, id: str, path: str) -> Waste | None:
    """Return what would be freed at `path`; None when files stand there that are none of ours."""
    try:
        entries = root.listdir(path)
    except (NotFound, PathRefused):
        return None
    with_links = {entry.name for entry in entries if not entry.is_dir and _FILE.fullmatch(entry.name)}
    fd = root.open_dir(path)
    try:
        if set(os.listdir(fd)) != with_links:  # noqa: PTH208 (by descriptor)
            return None
    finally:
        os.close(fd)
    try:
        source = observations.meta(id).source.shown
    except ManusfsError:
        source = ""
    return Waste(f"obs:{id}", path, source, sum(entry.size for entry in entries))


def _files(root: Root, rel: str) -> Iterator[tuple[str, int]]:
    if root.is_dir(rel):
        for path in root.walk(rel):
            try:
                yield path, root.size(path)
            except ManusfsError:
                continue  # it went meanwhile


def _remove(root: Root, paths: list[str]) -> None:
    """Take the folders out of their places, all of them durably, then remove their files."""
    staging = root.staging
    names = []
    with root.folders() as folders:
        for path in paths:
            *above, name = path.split("/")
            gone = staging.new_name()
            root.fs.rename(folders.open(tuple(above), create=False), name, staging.fd, gone)
            folders.touch(tuple(above))
            names.append(gone)
        folders.sync()
    for gone in names:
        staging.remove(staging.fd, gone)


def _empty(root: Root, rel: str) -> int:
    """Remove the plain files below `rel` and return their bytes."""
    freed = 0
    with root.folders() as folders:
        for path, size in list(_files(root, rel)):
            *above, name = path.split("/")
            root.fs.unlink(folders.open(tuple(above), create=False), name)
            freed += size
    return freed
