"""A check that can't read everything says so, and repairs nothing that it has not seen (I9)."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memory_world import World

from manusfs.errors import Locked, StorageError

URL = "https://example.org/page"


@contextmanager
def _files_left(count: int) -> Iterator[None]:
    """Let this process open at most `count` more files."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.open(os.devnull, os.O_RDONLY)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free + count, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def _stored(world: World) -> list[Path]:
    for n in range(3):
        world.store(f"{URL}/{n}", b"The bridge is long.\n" * 40 + b"%d" % n)
    return sorted(path for path in world.path.rglob("observations/**/*") if path.is_file())


def test_too_many_open_files_are_no_damage_and_move_nothing(world: World) -> None:
    stored = _stored(world)
    assert world.workspace.verify().ok
    outcomes = set()
    for count in range(12):
        with _files_left(count):
            try:
                report = world.workspace.verify(repair=True)
                outcomes.add((report.ok, report.observations, report.repaired))
            except (StorageError, Locked) as error:
                assert "too many open files" in str(error)
                outcomes.add(("told", 0, ()))
    assert outcomes == {("told", 0, ()), (True, 3, ())}
    assert [path for path in stored if not path.exists()] == []


def test_a_transcript_that_cannot_be_read_is_told(world: World, tmp_path: Path) -> None:
    _stored(world)
    (transcript,) = world.path.glob("sessions/*/transcript.jsonl")
    transcript.rename(tmp_path / "elsewhere")
    transcript.symlink_to(tmp_path / "elsewhere")
    report = world.workspace.verify()
    assert not report.ok and any("transcript.jsonl" in line for line in report.damaged)


def test_refs_are_found_wherever_a_large_note_has_them(world: World) -> None:
    """Read in pieces: a ref may lie across the border of two, and the note may be larger than memory."""
    world.store(URL, b"The bridge is long.")
    note = world.path / "notes" / "log.md"
    ref = b"obs:" + b"a" * 12
    told = (f"{ref.decode()} in notes/log.md: there is no such observation",)
    for shift in range(20):
        note.write_bytes(b"x" * ((1 << 20) - shift) + ref + b" " + b"y" * 300)
        assert world.workspace.verify().dangling == told
    with note.open("wb") as file:
        file.seek(200 << 20)
        file.write(ref)
    report = world.workspace.verify()
    assert report.ok and report.dangling == told
