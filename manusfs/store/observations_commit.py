"""How observations become durable: staged under `.manusfs/tmp/`, synced together, put in place by one rename each."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from manusfs.errors import Damaged, ManusfsError, StorageError
from manusfs.records import Meta, Source, observation_id
from manusfs.store.observations_files import META, Draft, check, encode_meta, load_meta
from manusfs.store.observations_names import Names
from manusfs.workspace import Folder, check_relative, set_aside
from manusfs.workspace.tree import Folders, open_folder, opening_error

__all__ = ["Committed", "Committer", "Staged"]

_ID_DIGITS = 12
_MAX_HELD = 192
"""Descriptors that staged observations may hold open; those beyond are synced and closed at once."""
_GROUP = 64
"""Observations that are synced together at most, for the same reason."""


@dataclass(frozen=True, slots=True)
class Committed:
    """An observation that is durable. `known` is True when the same bytes of the same source were there before."""

    meta: Meta
    known: bool
    repairs: tuple[str, ...] = ()
    """What was found damaged in its place and set aside, for the person."""


@dataclass(slots=True)
class Staged:
    """An observation on its way: its files are written but not yet durable, and nobody can see them."""

    meta: Meta
    known: bool = False
    name: str = ""
    """Of its folder in the staging folder; empty when there is none."""
    folder_fd: int = -1
    file_fds: list[int] = field(default_factory=list)
    held: int = 0
    """How many descriptors it holds open until it is committed."""
    replaces: str = ""
    """The path of a damaged folder of the same id, to be set aside."""
    repairs: list[str] = field(default_factory=list)


class Committer:
    """Stages in any thread; commits one group at a time."""

    def __init__(self, folder: Folder, names: Names) -> None:
        self._root = folder.root
        self._fs = folder.fs
        self._names = names
        self._lock = threading.Lock()
        self._held = 0
        self._held_lock = threading.Lock()
        self._durable: set[str] = set()

    def stage(self, draft: Draft) -> Staged:
        """Write the files of `draft`, unless the workspace has the same bytes of the same source already."""
        files, bodies = draft.files()
        staged = Staged(draft.meta(files))
        self._decide(staged, {})
        if staged.known:
            return staged
        try:
            self._write(staged, bodies)
        except BaseException:
            self.discard(staged)
            raise
        return staged

    def known(self, source: Source, raw_sha256: str) -> Meta | None:
        """Return the observation of these bytes of this source, if there is one and all of it is whole."""
        id, held = self._settle(source, raw_sha256, {})
        path = self._names.held(id)
        if held is None or path is None or check(self._root, path, held):
            return None
        return held

    def commit(self, group: Sequence[Staged]) -> list[Committed]:
        """Make a group durable: sync all, rename all, sync the parents once. On an error none of it counts."""
        with self._lock:
            try:
                slices = range(0, len(group), _GROUP)
                return [one for at in slices for one in self._commit(group[at : at + _GROUP])]
            except BaseException:
                # What was renamed before the error is whole, and is found as known when it is tried again.
                self._names.forget()
                for staged in group:
                    self.discard(staged)
                raise

    def _commit(self, group: Sequence[Staged]) -> list[Committed]:
        batch: dict[str, Meta] = {}
        for staged in group:
            self._decide(staged, batch)
            if not staged.known:
                self._write_meta(staged)
        self._sync(group)
        with self._root.folders() as folders:
            for staged in group:
                self._place(staged, folders)
            folders.sync()
        for staged in group:
            self._durable.add(staged.meta.id)
        return [Committed(staged.meta, staged.known, tuple(staged.repairs)) for staged in group]

    def discard(self, staged: Staged) -> None:
        """Give up a staged observation; what can't be removed now goes with the next process's cleaning."""
        self._release(staged)
        name, staged.name = staged.name, ""
        if name:
            try:
                self._root.staging.remove(self._root.staging.fd, name)
            except (OSError, ManusfsError):
                pass

    def _decide(self, staged: Staged, batch: dict[str, Meta]) -> None:
        """Settle the id: grown past those that a different pair holds; known where the same pair is there, whole."""
        if staged.known:
            return
        meta = staged.meta
        id, held = self._settle(meta.source, meta.raw_sha256, batch)
        path = self._names.held(id)
        if held is not None and path is not None and id not in batch:
            problems = check(self._root, path, held)
            if problems:
                staged.repairs = list(problems)
                staged.replaces, held = path, None
        if held is None:
            staged.meta = batch[id] = meta.with_(id=id)
            return
        self.discard(staged)
        staged.meta, staged.known = held, True

    def _settle(self, source: Source, raw_sha256: str, batch: dict[str, Meta]) -> tuple[str, Meta | None]:
        for digits in range(_ID_DIGITS, 65, 4):
            id = observation_id(source, raw_sha256, digits)
            path = self._names.held(id)
            held = batch.get(id)
            if held is None and path is None:
                return id, None
            try:
                held = held or load_meta(self._root, path or "", id)
            except Damaged:
                # Whose it was can't be told, unless it lies just where ours would: then it is ours, and is replaced.
                if path == source.folder(id):
                    return id, None
                continue
            if _pair(held) == (source.key, raw_sha256):
                return id, held
        raise Damaged(f"no free id for {source.key!r}", hint="run `manusfs verify`")

    def _write(self, staged: Staged, bodies: dict[str, bytes]) -> None:
        tmp, name = self._root.staging.fd, self._root.staging.new_name()
        self._fs.mkdir(tmp, name)
        staged.name = name
        self._open_folder(staged)
        for file, data in bodies.items():
            fd = self._fs.create(staged.folder_fd, file)
            staged.file_fds.append(fd)
            self._fs.write(fd, data)
        if not self._may_hold(staged, 1 + len(bodies)):
            self._sync([staged], folders=False)
            self._release(staged)

    def _may_hold(self, staged: Staged, count: int) -> bool:
        with self._held_lock:
            if self._held + count > _MAX_HELD:
                return False
            self._held += count
            staged.held = count
            return True

    def _open_folder(self, staged: Staged) -> None:
        try:
            staged.folder_fd = open_folder(self._root.staging.fd, staged.name)
        except OSError as error:
            raise opening_error(error, staged.name) from error

    def _write_meta(self, staged: Staged) -> None:
        if staged.folder_fd < 0:
            self._open_folder(staged)
        fd = self._fs.create(staged.folder_fd, META)
        staged.file_fds.append(fd)
        self._fs.write(fd, encode_meta(staged.meta))

    def _sync(self, group: Sequence[Staged], folders: bool = True) -> None:
        folder_fds = [staged.folder_fd for staged in group if folders and staged.folder_fd >= 0]
        self._fs.sync_all([fd for staged in group for fd in staged.file_fds], folder_fds)
        for staged in group:
            while staged.file_fds:
                self._fs.close(staged.file_fds.pop())

    def _release(self, staged: Staged) -> None:
        for fd in (*staged.file_fds, staged.folder_fd):
            if fd >= 0:
                os.close(fd)
        staged.file_fds.clear()
        staged.folder_fd = -1
        with self._held_lock:
            self._held -= staged.held
            staged.held = 0

    def _place(self, staged: Staged, folders: Folders) -> None:
        meta = staged.meta
        if staged.known:
            self._settle_known(meta, folders)
            return
        if staged.replaces:
            self._set_aside(staged, staged.replaces)
        parts = check_relative(meta.folder)
        if not self._rename(staged, folders, parts):
            self._take_place(staged, folders, parts)
        if not staged.known:
            folders.touch(parts[:-1])
            self._names.put(meta.id, meta.folder)

    def _settle_known(self, meta: Meta, folders: Folders) -> None:
        """Make sure of the name of what was there: whoever renamed it may have died before the parent was synced."""
        if meta.id not in self._durable:
            parts = check_relative(self._names.held(meta.id) or meta.folder)
            folders.open(parts[:-1])
            folders.touch(parts[:-1])

    def _rename(self, staged: Staged, folders: Folders, parts: tuple[str, ...]) -> bool:
        try:
            self._fs.rename(self._root.staging.fd, staged.name, folders.open(parts[:-1]), parts[-1])
        except (FileExistsError, NotADirectoryError):
            return False
        staged.name = ""
        self._release(staged)
        return True

    def _take_place(self, staged: Staged, folders: Folders, parts: tuple[str, ...]) -> None:
        """Something stands at our place: the same, put there by another process just now, or a damaged folder."""
        path, meta = "/".join(parts), staged.meta
        try:
            held = load_meta(self._root, path, meta.id)
            problems = check(self._root, path, held)
        except Damaged as error:
            held, problems = meta, (str(error),)
        if _pair(held) != _pair(meta):
            raise StorageError(f"two observations took the id {meta.id} at one time", hint="try again")
        if not problems:
            self.discard(staged)
            staged.meta, staged.known = held, True
            self._names.put(held.id, path)
            folders.touch(parts[:-1])
            return
        staged.repairs.extend(problems)
        self._set_aside(staged, path)
        if not self._rename(staged, folders, parts):
            raise Damaged(f"{path!r} can't be replaced", hint="run `manusfs verify --repair`")

    def _set_aside(self, staged: Staged, path: str) -> None:
        staged.repairs.append(f"{path} was damaged: kept in {set_aside(self._root, path)}, stored again")


def _pair(meta: Meta) -> tuple[str, str]:
    """Return what makes two observations the same one."""
    return meta.source.key, meta.raw_sha256
