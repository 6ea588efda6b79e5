"""What nothing in a workspace refers to, and how it is freed: only when asked, and never what anything names."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from manusfs.errors import ManusfsError, NotFound, PathRefused
from manusfs.memory.mending import given_up
from manusfs.memory.verify_sessions import Named, gap
from manusfs.records import valid_text
from manusfs.session.lines import scan
from manusfs.session.names import misplaced
from manusfs.store import Observations
from manusfs.store.observations_names import walk
from manusfs.workspace import Folder, Root, lock_workspace, read_span, storage_error

__all__ = ["Garbage", "Waste", "find", "free", "unnamed"]

_DERIVED = ".manusfs"
_STAGING = f"{_DERIVED}/tmp"  # noqa: S108 (in the workspace)
_CACHE = f"{_DERIVED}/cache"
# No look-around and no word border: they cost most of the time of a search, and what is found beside is only kept.
_NAMED = re.compile(rb"[0-9a-f]{12,}")
_REF = re.compile(rb"obs:([0-9a-f]{1,64})")
_ID_MOST = 64
_PIECE = 1 << 20
_REF_MOST = 72
_TRANSCRIPT = re.compile(r"sessions/(\d{8}-[0-9a-z]{4,12}(?:\.\d{1,6})*)/transcript\.jsonl\Z")
_SET_ASIDE = re.compile(r"lost\+found/[^/]*~[0-9a-f]{8}\Z")
"""What repair moved out of the way: a link that was put in the place of a file of ours."""
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
    seen = _seen(folder)
    kept = _kept(there, seen, observations)
    uncertain = _doubts(folder, seen)
    waste = (_waste(root, observations, id, path) for id, path in there.items() if id not in kept)
    found = () if uncertain else tuple(one for one in waste if one is not None)
    staging = list(_files(root, _STAGING))
    cache = sum(size for _, size in _files(root, _CACHE))
    left = len(there) - len(found)
    return Garbage(found, len(staging), sum(size for _, size in staging), cache, left, uncertain)


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


@dataclass(slots=True)
class _Seen:
    """What was read in search of refs."""

    texts: set[bytes] = field(default_factory=set)
    """What may be an id, or its beginning (then with a `*` behind it)."""
    uncertain: list[str] = field(default_factory=list)
    """What could not be read, or is not whole."""
    named: Named = field(default_factory=Named)

    def look(self, fd: int, rel: str) -> None:
        """Take in every file below the folder `rel`, which is open as `fd`.

        By descriptors: names that no path of ours may have can stand in a folder all the same. Of a second name of a
        file, which may lead outside, nothing but ids is taken.
        """
        for name in sorted(os.listdir(fd)):
            path = f"{rel}/{name}" if rel else name
            if path in ("observations", _DERIVED):
                continue
            try:
                inner = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY, dir_fd=fd)
            except OSError as error:
                if error.errno in (errno.ELOOP, errno.EMLINK, errno.ENXIO):
                    self._odd(path)
                elif error.errno != errno.ENOENT:  # it went meanwhile
                    self._doubt(f"{path}: {storage_error(error, 'open', path)}")
                continue
            try:
                self._take(inner, path)
            finally:
                os.close(inner)

    def _take(self, fd: int, path: str) -> None:
        mode = os.fstat(fd).st_mode
        if stat.S_ISDIR(mode):
            self.look(fd, path)
        elif not stat.S_ISREG(mode):
            self._odd(path)
        else:
            try:
                for piece in _pieces(fd):
                    self.texts.update(found for found in _NAMED.findall(piece) if len(found) <= _ID_MOST)
                    self.texts.update(prefix + b"*" for prefix in _REF.findall(piece))
                if match := _TRANSCRIPT.match(path):
                    self._transcript(match[1], read_span(fd, 0, os.fstat(fd).st_size))
            except OSError as error:
                self._doubt(f"{path}: {storage_error(error, 'read', path)}")

    def _odd(self, path: str) -> None:
        if not _SET_ASIDE.match(path):
            self._doubt(f"{path} is a link or no plain file: refs may stand in it")

    def _transcript(self, session: str, raw: bytes) -> None:
        """Note which records are not whole: they may name anything. Rubbish between whole records says nothing."""
        found = scan(raw)
        if found.owner not in ("", session):
            self._doubt(str(misplaced(session, found.owner)))
            self.named.damaged.add(session)
            return
        for first, last in found.missing:
            self._doubt(gap(session, first, last))
            self.named.damaged.add(session)
        for event in found.events:
            self.named.take(event, session)

    def _doubt(self, why: str) -> None:
        self.uncertain.append(valid_text(why))


def unnamed(folder: Folder, observations: Observations) -> list[str]:
    """Return the ids of the observations that nothing names, or that only what earlier repairs wrote down does."""
    there = dict(walk(folder.root))
    seen = _seen(folder)
    return sorted(there.keys() - _kept(there, seen, observations))


def _seen(folder: Folder) -> _Seen:
    seen = _Seen()
    fd = folder.root.open_dir("")
    try:
        seen.look(fd, "")
    finally:
        os.close(fd)
    return seen


def _doubts(folder: Folder, seen: _Seen) -> tuple[str, ...]:
    """Return why nothing may be freed now; what a repair gave up, and wrote down what it may name of, is none."""
    root = folder.root
    reports = list(root.walk("reports")) if root.is_dir("reports") else []
    known = given_up(folder)
    return tuple(why for why in (*seen.uncertain, *seen.named.broken(folder, reports)) if why not in known)


def _pieces(fd: int) -> Iterator[bytes]:
    """Yield the file in pieces that overlap, so that no ref is cut; where only zeros stand there is none."""
    rest = b""
    while piece := os.read(fd, _PIECE):
        if piece.strip(b"\0"):
            yield rest + piece
        rest = (rest + piece)[-_REF_MOST:]


def _kept(there: Iterable[str], seen: _Seen, observations: Observations) -> set[str]:
    named = {text.decode("ascii") for text in seen.texts}
    beginnings = tuple(text[:-1] for text in named if text.endswith("*"))
    kept = {id for id in there if id in named or id.startswith(beginnings)}
    previous = dict.fromkeys(there, "")
    for id in previous:
        try:
            meta = observations.meta(id)
        except ManusfsError:
            continue
        previous[id] = meta.previous
        seen.named.name(meta.session, f"obs:{id}", meta.call)
    for id in list(kept):
        # What an observation replaced is its source's history: it goes only with it.
        while (id := previous.get(id, "")) and id not in kept:
            kept.add(id)
    return kept


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
