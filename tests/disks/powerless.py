"""A file system that remembers what was done, and the trees that a power cut may leave of it.

Data is safe only after the file's sync, a name only after its folder's; anything else may be lost, kept, or half kept,
in any combination. So a sync that is missing or comes too late shows, although the test's own disk never loses power.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from manusfs.workspace import FileSystem

Op = tuple[Any, ...]


class RecordingDisk(FileSystem):
    """Does everything but syncs, and keeps a list of it.

    `forgets` names syncs that are left out of the list, as if the product had forgotten them: "sync text.md",
    "sync_dir web"; staged folders are called "staged", the workspace ".".
    """

    def __init__(self, root: Path, forgets: str = "") -> None:
        self.ops: list[Op] = []
        self._forgets = forgets
        self._nodes: dict[int, int] = {root.stat().st_ino: 0}
        self._names: dict[int, str] = {0: "."}

    def _new(self, inode: int) -> int:
        # The system gives numbers of removed files to new ones; ours are never used twice.
        self._nodes[inode] = len(self.ops) + 1
        return self._nodes[inode]

    def _node(self, fd: int) -> int:
        return self._nodes[os.fstat(fd).st_ino]

    def _note(self, *op: Any) -> None:
        self.ops.append(op)

    def _note_sync(self, kind: str, node: int) -> None:
        name = self._names.get(node, "")
        staged = "staged" if name[:1].isdigit() and "-" in name else name
        if f"{kind} {staged}" != self._forgets:
            self._note(kind, node)

    def ack(self, what: Any) -> None:
        """Record that `what` was acknowledged: from here on it must never be lost."""
        self.ops.append(("ack", what))

    def mkdir(self, dirfd: int, name: str) -> None:
        super().mkdir(dirfd, name)
        node = self._new(os.stat(name, dir_fd=dirfd).st_ino)
        self._names[node] = name
        self._note("name", self._node(dirfd), name, node, True)

    def create(self, dirfd: int, name: str) -> int:
        fd = super().create(dirfd, name)
        node = self._new(os.fstat(fd).st_ino)
        self._names[node] = name
        self._note("name", self._node(dirfd), name, node, False)
        return fd

    def write(self, fd: int, data: bytes | memoryview) -> None:
        super().write(fd, data)
        self._note("write", self._node(fd), bytes(data))

    def truncate(self, fd: int, size: int) -> None:
        super().truncate(fd, size)
        self._note("truncate", self._node(fd), size)

    def sync(self, fd: int) -> None:
        self._note_sync("sync", self._node(fd))

    def sync_dir(self, dirfd: int) -> None:
        # The folder above the workspace is none of ours.
        if os.fstat(dirfd).st_ino in self._nodes:
            self._note_sync("sync_dir", self._node(dirfd))

    def sync_all(self, files: Sequence[int], folders: Sequence[int] = ()) -> None:
        # One after another, so that the order of operations is the same every time.
        for fd in files:
            self.sync(fd)
        for fd in folders:
            self.sync_dir(fd)

    def rename(self, src_dirfd: int, src: str, dst_dirfd: int, dst: str) -> None:
        super().rename(src_dirfd, src, dst_dirfd, dst)
        status = os.stat(dst, dir_fd=dst_dirfd, follow_symlinks=False)
        self._note("move", self._node(src_dirfd), src, self._node(dst_dirfd), dst, self._nodes[status.st_ino])

    def unlink(self, dirfd: int, name: str) -> None:
        super().unlink(dirfd, name)
        self._note("gone", self._node(dirfd), name)

    def rmdir(self, dirfd: int, name: str) -> None:
        super().rmdir(dirfd, name)
        self._note("gone", self._node(dirfd), name)


@dataclass
class _Disk:
    rng: random.Random
    mode: str
    names: dict[int, dict[str, int]] = field(default_factory=lambda: {0: {}})
    folders: set[int] = field(default_factory=lambda: {0})
    pending: list[Op] = field(default_factory=list)
    files: dict[int, list[list[Any]]] = field(default_factory=dict)
    acked: list[Any] = field(default_factory=list)

    def play(self, op: Op) -> None:
        kind = op[0]
        if kind == "ack":
            self.acked.append(op[1])
        elif kind in ("write", "truncate"):
            self.files.setdefault(op[1], []).append([kind, op[2], False])
        elif kind == "sync":
            for change in self.files.get(op[1], []):
                change[2] = True
        elif kind == "sync_dir":
            for one in [one for one in self.pending if _folder(one) == op[1]]:
                self._settle(one)
            self.pending = [one for one in self.pending if _folder(one) != op[1]]
        else:
            if kind == "name" and op[4]:
                self.folders.add(op[3])
            self.pending.append(op)

    def _settle(self, op: Op) -> None:
        if op[0] == "name":
            self.names.setdefault(op[1], {})[op[2]] = op[3]
        elif op[0] == "gone":
            self.names.setdefault(op[1], {}).pop(op[2], None)
        else:
            self.names.setdefault(op[1], {}).pop(op[2], None)
            self.names.setdefault(op[3], {})[op[4]] = op[5]

    def crash(self) -> None:
        for op in self.pending:
            if {"none": False, "all": True}.get(self.mode, self.rng.random() < 0.5):
                self._settle(op)

    def content(self, node: int) -> bytes:
        data = b""
        for kind, value, durable in self.files.get(node, []):
            fate = 2 if durable else {"none": 0, "all": 2}.get(self.mode, self.rng.choice((0, 1, 2, 3)))
            if kind == "truncate":
                data = data[:value] if fate == 2 else data
            elif fate == 3:
                # The size grew, the data did not get there.
                data += bytes(len(value))
            elif fate:
                data += value if fate == 2 else value[: len(value) // 2]
        return data


def _folder(op: Op) -> int:
    return int(op[3] if op[0] == "move" else op[1])


def crash_states(ops: list[Op], seed: int, step: int = 1) -> Iterator[tuple[_Disk, list[Any]]]:
    """Yield disks as a power cut after every `step`-th operation may leave them, with what was acknowledged by then."""
    rng = random.Random(seed)
    for cut in range(1, len(ops) + 1, step):
        for mode in ("none", "all", "some", "some", "some", "some"):
            disk = _Disk(rng, mode)
            for op in ops[:cut]:
                disk.play(op)
            disk.crash()
            yield disk, disk.acked


def build(disk: _Disk, target: Path, node: int = 0) -> None:
    """Write the tree that is left on `disk` to the folder `target`."""
    target.mkdir(exist_ok=True)
    for name, child in disk.names.get(node, {}).items():
        if child in disk.folders:
            build(disk, target / name, child)
        else:
            (target / name).write_bytes(disk.content(child))
