"""What was acknowledged survives: an error, a kill and a power cut at every operation of commits and appends."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from disks.faulty import ERRORS, KILLS, FaultyDisk, Killed
from disks.powerless import Op, RecordingDisk, build, crash_states
from disks.workload import Acked, empty_workspace, problems, run

from manusfs.errors import ManusfsError
from manusfs.records import observation_id
from manusfs.session import transcript
from manusfs.store import observations_commit


def _work(path: Path, disk: FaultyDisk) -> list[Acked]:
    shutil.rmtree(path, ignore_errors=True)
    empty_workspace(path)
    acked: list[Acked] = []
    try:
        run(path, disk, acked.append)
    except Killed:
        pass
    return acked


@pytest.mark.parametrize("mode", [*KILLS, *ERRORS])
def test_acknowledged_work_survives_a_fault_at_every_operation(tmp_path: Path, mode: str) -> None:
    """I1: one fault at each operation; then the folder is opened, checked and worked in again."""
    whole = FaultyDisk()
    assert len(_work(tmp_path / "w", whole)) == 4
    failures = {}
    for at in range(1, whole.count + 1):
        acked = _work(tmp_path / "w", FaultyDisk(at, mode))
        if found := problems(tmp_path / "w", acked):
            failures[at, whole.names[at - 1]] = found
    assert not failures


def test_a_disk_that_stays_full_never_leaves_half_a_line(tmp_path: Path) -> None:
    """I1: from some write on every write fails half-way, as on a full disk."""
    whole = FaultyDisk()
    _work(tmp_path / "w", whole)
    writes = [at for at, name in enumerate(whole.names, 1) if name == "write"]
    for at in writes:
        acked = _work(tmp_path / "w", FaultyDisk(at, "ENOSPC", lasting=True))
        assert not problems(tmp_path / "w", acked), at


def test_a_write_that_can_not_be_taken_back_stops_the_session(tmp_path: Path) -> None:
    """I1: the append fails and so does the cut: then the session refuses to go on, and a new opening repairs it."""
    whole = FaultyDisk()
    _work(tmp_path / "w", whole)
    for at, name in enumerate(whole.names, 1):
        if name == "write":
            disk = _NoWayBack(at)
            acked = _work(tmp_path / "w", disk)
            assert not problems(tmp_path / "w", acked), at


class _NoWayBack(FaultyDisk):
    def __init__(self, at: int) -> None:
        super().__init__(at, "ENOSPC")

    def truncate(self, fd: int, size: int) -> None:
        if self.count >= self.at and self.mode:
            self.mode = ""
            self._fail()
        super().truncate(fd, size)

    def _fail(self) -> None:
        self.at, self.mode, at = self.count + 1, "EIO", self.at
        try:
            self._point("truncate", lambda: None)
        finally:
            self.at, self.mode = at, ""


def _recorded(path: Path, forgets: str = "") -> RecordingDisk:
    empty_workspace(path)
    disk = RecordingDisk(path, forgets)
    run(path, disk, disk.ack)
    return disk


def _losses(path: Path, ops: list[Op], step: int = 1, *, all_of_them: bool = False) -> tuple[list[str], int]:
    """Return what was lost in the states that a power cut may leave, up to the first, and how many were looked at."""
    left = path / "left"
    found: list[str] = []
    states = 0
    for state, acked in crash_states(ops, seed=7, step=step):
        states += 1
        shutil.rmtree(left, ignore_errors=True)
        build(state, left)
        (left / "manusfs.toml").write_text("format = 1\n")
        try:
            found += problems(left, acked)
        except ManusfsError as error:
            found.append(f"it can't go on: {error}")
        if found and not all_of_them:
            break
    return found, states


@pytest.mark.slow
def test_acknowledged_work_survives_a_power_cut_after_every_operation(tmp_path: Path) -> None:
    """I1, promise 2: unsynced data and names are lost, kept or half kept in any combination; at least 500 states."""
    found, states = _losses(tmp_path, _recorded(tmp_path / "w").ops, all_of_them=True)
    assert not found and states >= 500


@pytest.mark.parametrize(
    "forgotten",
    [
        "sync transcript.jsonl",
        "sync text.md",
        "sync raw.html",
        "sync meta.json",
        "sync_dir staged",
        "sync_dir h0.example",
        "sync_dir web",
        "sync_dir observations",
        "sync_dir sessions",
        "sync_dir .",
    ],
)
def test_the_power_cut_test_notices_a_missing_sync(tmp_path: Path, forgotten: str) -> None:
    """The harness itself: a product that forgot the sync of a file, of a folder or of the log would be caught."""
    assert _losses(tmp_path, _recorded(tmp_path / "w", forgotten).ops, step=3)[0]


def test_the_power_cut_test_notices_what_is_acknowledged_before_the_log_is_synced(tmp_path: Path) -> None:
    """The harness itself: the same operations, each acknowledgement one sync earlier."""
    early: list[Op] = []
    for op in _recorded(tmp_path / "w").ops:
        if op[0] == "ack":
            at = max(place for place, other in enumerate(early) if other[0] == "sync")
            early.insert(at, op)
        else:
            early.append(op)
    assert _losses(tmp_path, early)[0]


def test_the_power_cut_test_notices_a_torn_tail_that_is_not_repaired(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The harness itself: an opening that leaves half a line, behind which the next one is written."""
    ops = _recorded(tmp_path / "w").ops
    whole = transcript.scan

    def lazy(raw: bytes) -> Any:
        return replace(whole(raw), size=len(raw), closed=True)

    monkeypatch.setattr(transcript, "scan", lazy)
    assert _losses(tmp_path, ops)[0]


def test_the_power_cut_test_notices_that_what_exists_is_taken_for_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The harness itself: files written one by one in their final place; what is there is not looked at."""

    def in_place(self: Any, staged: Any, folders: Any, parts: tuple[str, ...]) -> bool:
        if parts in _there(self._root):
            staged.known = True
            return True
        place = folders.open(parts)
        for name in sorted(os.listdir(staged.folder_fd)):  # noqa: PTH208 (by descriptor)
            source = os.open(name, os.O_RDONLY, dir_fd=staged.folder_fd)
            data = os.read(source, 1 << 20)
            os.close(source)
            fd = self._fs.create(place, name)
            self._fs.write(fd, data)
            self._fs.sync(fd)
            self._fs.close(fd)
        folders.touch(parts)
        self.discard(staged)
        return True

    def unseen(self: Any, staged: Any, batch: dict[str, Any]) -> None:
        if not staged.known:
            id = observation_id(staged.meta.source, staged.meta.raw_sha256)
            staged.meta = batch[id] = staged.meta.with_(id=id)

    monkeypatch.setattr(observations_commit.Committer, "_rename", in_place)
    monkeypatch.setattr(observations_commit.Committer, "_decide", unseen)
    monkeypatch.setattr(observations_commit.Committer, "_find_known", lambda *_: None, raising=False)
    assert _losses(tmp_path, _recorded(tmp_path / "w").ops)[0]


def _there(root: Any) -> set[tuple[str, ...]]:
    return {tuple(path.split("/")[:-1]) for path in root.walk("observations")} if root.is_dir("observations") else set()
