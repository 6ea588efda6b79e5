"""The index: rows that can be checked, orders that never repeat, and a file that may be lost at any time (I8)."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from manusfs.errors import StorageError
from manusfs.records import FileMeta, HttpMeta, Meta, Source
from manusfs.store import Index, MessageRow, NoteRow, SessionRow, Text, index_file, index_find
from manusfs.workspace import Folder


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    with Folder.create(tmp_path / "w") as folder:
        yield folder


@pytest.fixture
def index(folder: Folder) -> Iterator[Index]:
    index = Index(folder)
    yield index
    index.close()


def meta(id: str = "3f9c21ab77de", key: str = "https://example.org/a", **changes: object) -> Meta:
    files = {"text": FileMeta("text.md", 10, "0" * 64)}
    made = Meta(id, Source.web(key), "A title", "text/html", "utf-8", "1" * 64, 20, files, 5, "plain/1")
    return made.with_(**changes)


def text(owner: str, *bodies: str, title: str = "") -> Text:
    return Text(owner, "text", [len(body.encode()) for body in bodies], bodies, [""] * len(bodies), title)


def path(folder: Folder) -> Path:
    return folder.path / ".manusfs" / "index.db"


def test_what_is_queued_is_found_by_the_next_query(index: Index) -> None:
    index.add_observation(meta(), 1, [text("obs:3f9c21ab77de", "the bridge", "was opened")])
    assert index.locate("3f9c21ab77de") == meta().folder
    assert index_find.matches(index, '"opening"', 9) == [2]


def test_an_unknown_id_is_located_nowhere_and_makes_no_file(folder: Folder, index: Index) -> None:
    assert index.locate("0" * 12) is None
    assert not path(folder).exists()
    assert (index.needs_rebuild, index.reason) == (True, "missing")


def test_orders_rise_by_one_also_after_reopening(folder: Folder, index: Index) -> None:
    assert [index.next_order(), index.next_order(3), index.next_order()] == [1, 2, 5]
    again = Index(folder)
    assert again.next_order() == 6
    again.close()


def test_a_new_index_takes_its_first_order_from_the_transcripts(index: Index) -> None:
    index.recover_order = lambda: 41
    assert index.next_order() == 42
    assert index.needs_rebuild


def test_a_damaged_counter_is_taken_from_the_transcripts_again(folder: Folder, index: Index) -> None:
    index.next_order(7)
    index.close()
    with contextlib.closing(sqlite3.connect(path(folder))) as other, other:
        other.execute("UPDATE counters SET value = 3 WHERE name = 'order'")
    index.recover_order = lambda: 7
    assert index.next_order() == 8


def test_reset_keeps_the_orders_and_forgets_the_rows(index: Index) -> None:
    index.next_order(5)
    index.add_observation(meta(), 5, [text("obs:3f9c21ab77de", "words")])
    index.reset()
    assert index.locate("3f9c21ab77de") is None
    assert index.next_order() == 6


def test_the_latest_of_a_source_is_the_greatest_order_and_never_an_error_or_a_cut_body(index: Index) -> None:
    """The content of a source may go A, B, A: no clock decides."""
    key = meta().source.key
    index.add_observation(meta("a" * 12), 1)
    index.add_observation(meta("b" * 12), 2)
    assert index.latest(key) == "b" * 12
    index.add_observation(meta("a" * 12), 3)
    assert index.latest(key) == "a" * 12
    index.add_observation(meta("c" * 12, http=HttpMeta(404, key)), 4)
    index.add_observation(meta("d" * 12, complete=False), 5)
    assert index.latest(key) == "a" * 12
    assert index.latest("https://example.org/other") is None


def test_an_older_order_never_replaces_a_newer_one(index: Index) -> None:
    index.add_observation(meta("a" * 12), 9)
    index.add_observation(meta("a" * 12), 2)
    index.flush()
    index.add_observation(meta("a" * 12), 3)
    index.note_orders({"a" * 12: (1, 5), "f" * 12: (50, 50)})
    assert [(row.first_order, row.latest_order) for row in index.observations()] == [(1, 9)]


def test_a_row_with_a_flipped_bit_is_no_row(folder: Folder, index: Index) -> None:
    """SQLite's own checks pass a changed letter; the row's checksum does not (case d03)."""
    index.add_observation(meta(), 1, [text("obs:3f9c21ab77de", "words")])
    index.add_observation(meta("b" * 12, "https://example.org/b"), 2, [text(f"obs:{'b' * 12}", "words")])
    index.close()
    data = path(folder).read_bytes()
    assert data.count(b"A title") == 2
    path(folder).write_bytes(data.replace(b"A title", b"A tit\xece", 1))
    known = index.known_ids()
    assert len(known) == 1
    assert index.missing(["3f9c21ab77de", "b" * 12]) == sorted({"3f9c21ab77de", "b" * 12} - known)


def test_an_observation_whose_text_is_not_indexed_is_missing(index: Index) -> None:
    """One that was seen again before its text was indexed: the row alone must not hide that."""
    index.add_observation(meta(), 1)
    assert index.missing(["3f9c21ab77de"]) == ["3f9c21ab77de"]
    index.add_observation(meta(), 1, [text("obs:3f9c21ab77de", "words")])
    assert index.missing(["3f9c21ab77de"]) == []


def test_a_path_that_leads_elsewhere_is_never_given(folder: Folder, index: Index) -> None:
    """A stranger's index may have sound checksums over lies."""
    index.add_observation(meta(), 1)
    index.close()
    from manusfs.store.index_rows import checksum

    with contextlib.closing(sqlite3.connect(path(folder))) as other, other:
        row = list(other.execute("SELECT * FROM observations").fetchone())
        row[7] = "../../etc-3f9c21ab77de"
        other.execute("UPDATE observations SET path = ?, crc = ?", (row[7], checksum(row[:-1])))
    assert index.locate("3f9c21ab77de") is None


def test_a_changed_note_is_found_by_its_new_words_only(index: Index) -> None:
    index.add_note(NoteRow("notes/a.md", 1, 5, "x"), [text("notes/a.md", "old words")])
    index.flush()
    index.add_note(NoteRow("notes/a.md", 2, 5, "y"), [text("notes/a.md", "new words")])
    found = index_find.matches(index, '"words"', 9)
    places = index_find.segments(index, found)
    assert len(places) == 1
    assert not index_find.segments(index, index_find.matches(index, '"old"', 9))
    index.forget_note("notes/a.md")
    assert index.notes() == {}
    assert not index_find.segments(index, found)


def test_chunks_of_two_texts_are_never_neighbours(index: Index) -> None:
    index.add_message(MessageRow("msg:s:1.0", "s", 1, "user", ""), [text("msg:s:1.0", "one", "two")])
    index.add_message(MessageRow("msg:s:2.0", "s", 2, "user", ""), [text("msg:s:2.0", "three")])
    (first,), (second,) = (index_find.matches(index, f'"{word}"', 1) for word in ("two", "three"))
    assert second - first > 2


def test_the_segments_of_a_long_text_add_up(index: Index) -> None:
    bodies = [f"word{number}" for number in range(2_500)]
    index.add_observation(meta(), 1, [text("obs:3f9c21ab77de", *bodies)])
    segments = index_find.ranges(index, "obs:3f9c21ab77de")
    assert sum(segment.chunks for segment in segments) == 2_500
    assert [segment.start for segment in segments[1:]] == [
        sum(len(body) for body in bodies[:at]) for at in (1_024, 2_048)
    ]
    (number,) = index_find.matches(index, '"word2400"', 1)
    segment = index_find.segments(index, [number])[number]
    assert segment.start + sum(segment.lengths[: number - segment.first]) == sum(len(body) for body in bodies[:2_400])


def test_sessions_and_mentions_come_back(index: Index) -> None:
    row = SessionRow("20260101-ab12", "run", "2026-01-01T00:00:00Z", "what?", 100, 7)
    index.add_session(row)
    index.add_refs("notes/a.md", ["obs:3f9c21ab77de"])
    assert index.sessions() == {"20260101-ab12": row}
    assert index.mentions("obs:3f9c21ab77de") == ["notes/a.md"]


def test_several_threads_may_write_and_read(index: Index) -> None:
    def work(name: str) -> None:
        for number in range(20):
            index.add_observation(meta(f"{name}{number:011x}"), index.next_order())
            assert index.locate(f"{name}{number:011x}")

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rows = index.observations()
    assert len(rows) == 80
    assert sorted(row.latest_order for row in rows) == list(range(1, 81))


def _count(path: str, times: int, queue: multiprocessing.Queue[list[int]]) -> None:
    with Folder.open(path) as folder:
        index = Index(folder)
        queue.put([index.next_order() for _ in range(times)])
        index.close()


def test_several_processes_never_get_the_same_order(folder: Folder) -> None:
    """A read before a write in one deferred transaction loses against others; BEGIN IMMEDIATE never does (F12)."""
    context = multiprocessing.get_context("spawn")
    queue: multiprocessing.Queue[list[int]] = context.Queue()
    workers = [context.Process(target=_count, args=(str(folder.path), 25, queue)) for _ in range(4)]
    for worker in workers:
        worker.start()
    orders = [order for _ in workers for order in queue.get(timeout=60)]
    for worker in workers:
        worker.join()
    assert sorted(orders) == list(range(1, 101))


def test_an_index_in_a_folder_that_cannot_be_written_lives_in_memory(folder: Folder, index: Index) -> None:
    place = folder.path / ".manusfs"
    for entry in place.iterdir():
        entry.rmdir()
    place.rmdir()
    place.write_text("in the way")
    index.add_observation(meta(), index.next_order(), [text("obs:3f9c21ab77de", "words")])
    assert index.locate("3f9c21ab77de") == meta().folder
    assert index_find.matches(index, '"word"', 1)
    assert place.read_text() == "in the way"


def test_locating_loads_no_sqlite_utils(folder: Folder, index: Index) -> None:
    """`manusfs read` pays for the standard sqlite3 alone."""
    index.add_observation(meta(), 1)
    index.close()
    program = (
        "import sys; from manusfs.workspace import Folder; from manusfs.store import Index;"
        f"print(Index(Folder.open({str(folder.path)!r})).locate('3f9c21ab77de'), 'sqlite_utils' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [meta().folder, "False"]


def test_a_full_disk_is_told(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    from manusfs.store import index_write

    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    index.add_observation(meta(), 1)
    monkeypatch.setattr(index_write, "write", full)
    with pytest.raises(StorageError, match="full"):
        index.flush()


def test_the_files_are_for_their_owner_only(folder: Folder, index: Index) -> None:
    index.next_order()
    modes = {entry.name: entry.stat().st_mode & 0o777 for entry in (folder.path / ".manusfs").iterdir()}
    assert {mode for name, mode in modes.items() if name.startswith("index.db")} == {0o600}


def test_no_wal_on_a_network_file_system(folder: Folder, index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    """A WAL needs memory that two machines do not share; one that was made elsewhere is given up at opening."""
    index.next_order()
    assert index.select("PRAGMA journal_mode") == [("wal",)]
    index.close()
    monkeypatch.setattr(index_file, "on_network", lambda path: True)
    assert index.next_order() == 2
    assert index.select("PRAGMA journal_mode") == [("delete",)]


def test_the_kind_of_file_system_is_that_of_the_nearest_mount(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = (
        "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
        f"2 1 0:40 / {tmp_path} rw shared:1 - nfs4 server:/x rw\n"
        f"3 2 0:41 / {tmp_path}/local rw - tmpfs none rw\n"
    )
    monkeypatch.setattr(Path, "read_text", lambda self, *_: mounts)
    assert index_file.on_network(tmp_path / "w" / "index.db")
    assert not index_file.on_network(tmp_path / "local" / "index.db")
    assert not index_file.on_network(Path(os.sep) / "index.db")
