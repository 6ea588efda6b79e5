"""An index that is zeroed, cut, flipped, replaced or foreign: set aside and made anew (d01 to d05)."""

from __future__ import annotations

import contextlib
import random
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from manusfs.records import FileMeta, Meta, Source
from manusfs.store import Index, Text, index_find
from manusfs.workspace import Folder

COUNT = 200


def _meta(number: int) -> Meta:
    files = {"text": FileMeta("text.md", 10, "0" * 64)}
    source = Source.web(f"https://example.org/page/{number}")
    return Meta(f"{number:012x}", source, f"Page {number}", "text/html", "utf-8", "1" * 64, 9, files, 5, "plain/1")


def _fill(index: Index) -> None:
    words = random.Random(1)
    for number in range(COUNT):
        bodies = [" ".join(f"w{words.randrange(3000)}" for _ in range(60)) for _ in range(3)] + [f"number{number}"]
        lengths = [len(body) for body in bodies]
        id = f"obs:{number:012x}"
        index.add_observation(
            _meta(number), number + 1, [Text(id, "text", lengths, bodies, [""] * 4, f"Page {number}")]
        )
    index.flush()
    index.rebuilt()


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    with Folder.create(tmp_path_factory.mktemp("sound") / "w") as folder:
        index = Index(folder)
        index.next_order(COUNT)
        _fill(index)
        index.close()
        return file(folder).read_bytes()


@pytest.fixture
def folder(tmp_path: Path, sound: bytes) -> Iterator[Folder]:
    with Folder.create(tmp_path / "w") as folder:
        folder.root.make_dirs(".manusfs")
        file(folder).write_bytes(sound)
        yield folder


def file(folder: Folder) -> Path:
    return folder.path / ".manusfs" / "index.db"


def _zero(page: int) -> Callable[[bytes], bytes]:
    return lambda data: data[: page * 4096] + b"\0" * 4096 + data[(page + 1) * 4096 :]


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "first page zeros": _zero(0),
    "second page zeros": _zero(1),
    "a middle page zeros": lambda data: _zero(len(data) // 8192)(data),
    "last page zeros": lambda data: _zero(len(data) // 4096 - 1)(data),
    "cut at half": lambda data: data[: len(data) // 2],
    "cut inside a page": lambda data: data[:5000],
    "empty": lambda data: b"",
    "all zeros": lambda data: b"\0" * len(data),
    "text": lambda data: b"This is no database.\n" * 500,
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_index_is_set_aside_and_filled_again(folder: Folder, name: str) -> None:
    damaged = DAMAGE[name](file(folder).read_bytes())
    file(folder).write_bytes(damaged)
    index = Index(folder)
    index.recover_order = lambda: COUNT
    assert index.ensure()
    assert index.reason
    assert "\n" not in index.reason
    assert index.next_order() == COUNT + 1
    _fill(index)
    assert len(index.known_ids()) == COUNT
    assert not index.needs_rebuild
    aside = [entry for entry in folder.path.rglob("index.db*") if entry.read_bytes() == damaged]
    assert len(aside) == 1
    index.close()


@pytest.mark.parametrize("name", DAMAGE)
def test_reading_never_raises_on_a_damaged_index(folder: Folder, name: str) -> None:
    file(folder).write_bytes(DAMAGE[name](file(folder).read_bytes()))
    index = Index(folder)
    for number in range(COUNT):
        assert index.locate(f"{number:012x}") in (None, _meta(number).folder)
    index.close()


def test_a_flipped_bit_never_gives_a_wrong_row(folder: Folder, sound: bytes) -> None:
    """Every row that comes back is one that was written; the others count as missing (F2)."""
    written = {f"{number:012x}": _meta(number) for number in range(COUNT)}
    for seed in range(150):
        chance = random.Random(seed)
        data = bytearray(sound)
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        file(folder).write_bytes(bytes(data))
        index = Index(folder)
        for row in index.observations():
            meta = written[row.id]
            assert (row.url, row.title, row.path, row.sha256) == (meta.source.url, meta.title, meta.folder, "1" * 64)
        for number in (3, 150):
            assert index.latest(f"https://example.org/page/{number}") in (None, f"{number:012x}")
        for number in index_find.matches(index, '"number7"', 5):
            for segment in index_find.segments(index, [number]).values():
                assert segment.owner.startswith("obs:")
        index.close()


def test_the_journal_of_a_deleted_index_is_not_replayed(folder: Folder) -> None:
    """Case d05: index.db deleted, -wal and -shm left behind."""
    index = Index(folder)
    index.add_observation(_meta(999), 999)
    index.flush()
    left = {suffix: Path(f"{file(folder)}{suffix}").read_bytes() for suffix in ("-wal", "-shm")}
    index.close()
    file(folder).unlink()
    for suffix, data in left.items():
        Path(f"{file(folder)}{suffix}").write_bytes(data)
    again = Index(folder)
    again.recover_order = lambda: COUNT
    assert again.next_order() == COUNT + 1
    assert again.known_ids() == set()
    assert again.needs_rebuild
    again.close()


def test_a_database_of_somebody_else_goes_to_lost_and_found(folder: Folder) -> None:
    file(folder).unlink()
    with contextlib.closing(sqlite3.connect(file(folder))) as other, other:
        other.execute("CREATE TABLE mine (x)")
    data = file(folder).read_bytes()
    index = Index(folder)
    assert index.ensure()
    assert index.reason == "not an index of manusfs"
    assert [entry.read_bytes() for entry in (folder.path / "lost+found").rglob("*") if entry.is_file()] == [data]
    index.close()


def test_an_index_with_a_trigger_is_foreign(folder: Folder) -> None:
    """What came with a stranger's folder must not run at our next insert."""
    with contextlib.closing(sqlite3.connect(file(folder))) as other, other:
        other.execute("CREATE TRIGGER t AFTER INSERT ON notes BEGIN DELETE FROM observations; END")
    index = Index(folder)
    assert index.ensure()
    assert index.reason == "not an index of manusfs"
    index.close()


def test_an_index_of_another_version_is_made_anew(folder: Folder) -> None:
    with contextlib.closing(sqlite3.connect(file(folder))) as other, other:
        other.execute("PRAGMA user_version = 99")
    index = Index(folder)
    assert index.ensure()
    assert "99" in index.reason
    index.close()


def test_a_link_in_place_of_the_index_is_not_followed(folder: Folder, tmp_path: Path) -> None:
    """I7: a stranger's folder must not make us write elsewhere."""
    outside = tmp_path / "outside.db"
    file(folder).rename(outside)
    before = outside.read_bytes()
    file(folder).symlink_to(outside)
    index = Index(folder)
    assert index.locate(f"{1:012x}") is None
    index.add_observation(_meta(1), 1)
    index.flush()
    assert index.locate(f"{1:012x}") == _meta(1).folder
    assert outside.read_bytes() == before
    assert not file(folder).is_symlink()
    index.close()


def test_an_index_that_another_process_replaced_is_opened_anew(folder: Folder) -> None:
    mine, other = Index(folder), Index(folder)
    assert mine.locate(f"{1:012x}")
    other.reset()
    other.add_observation(_meta(5), 500, [Text(f"obs:{5:012x}", "text", [4], ["word"], [""])])
    other.flush()
    other.rebuilt()
    assert mine.known_ids() == {f"{5:012x}"}
    assert mine.next_order() == COUNT + 1
    mine.close()
    other.close()


def test_an_index_that_nobody_finished_filling_says_so(tmp_path: Path) -> None:
    with Folder.create(tmp_path / "w") as folder:
        index = Index(folder)
        index.ensure()
        index.close()
        again = Index(folder)
        assert again.ensure()
        assert again.reason == "not finished"
        again.rebuilt()
        again.close()
        assert not Index(folder).ensure()


def test_damage_that_shows_in_the_middle_of_a_run_costs_no_order(folder: Folder) -> None:
    index = Index(folder)
    index.recover_order = lambda: COUNT + 1
    assert index.next_order() == COUNT + 1
    data = file(folder).read_bytes()
    with file(folder).open("r+b") as handle:
        handle.write(b"\0" * len(data))
    for suffix in ("-wal", "-shm"):
        Path(f"{file(folder)}{suffix}").unlink(missing_ok=True)
    assert index.next_order() > COUNT + 1
    index.close()
