"""Transcripts: what was appended comes back, whatever happened to the file."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from disks.faulty import FaultyDisk, Killed
from disks.workload import empty_workspace
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import manusfs
from manusfs.errors import Locked, NotFound, StorageError
from manusfs.records import Event
from manusfs.session import Transcript, next_child
from manusfs.session.lines import encode, scan
from manusfs.workspace import Folder, Root, lock_workspace
from manusfs.workspace.sealed import seal

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**15), 10**15) | st.text(st.characters(), max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
DATA = st.dictionaries(st.text(max_size=8), JSON, max_size=4)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    empty_workspace(tmp_path / "w")
    with Folder.open(tmp_path / "w", FaultyDisk()) as opened:
        yield opened


def _file(folder: Folder, session: str) -> Path:
    return folder.path / "sessions" / session / "transcript.jsonl"


def _shown(number: int) -> Event:
    return Event("shown", {"call": f"c{number}", "parts": [{"type": "text", "text": f"line\n{number} é 東京"}]})


def _told(transcript: Transcript) -> tuple[Event, ...]:
    """Return the events without those that only hold a number behind damage."""
    return tuple(event for event in transcript.events if event.kind != "mended")


def _filled(folder: Folder, count: int = 6) -> tuple[str, tuple[Event, ...]]:
    with Transcript.create(folder) as transcript:
        transcript.append([_shown(number) for number in range(count)])
        return transcript.session, transcript.events


def test_a_new_session_begins_with_its_own_line(folder: Folder) -> None:
    with Transcript.create(folder, purpose="intake") as transcript:
        assert re.fullmatch(r"\d{8}-[0-9a-f]{4}", transcript.session)
        (first,) = transcript.events
    assert first.kind == "session"
    assert first.seq == 1
    assert first.data == {
        "session": transcript.session,
        "format": 1,
        "purpose": "intake",
        "parent": None,
        "version": manusfs.__version__,
        "title": "",
    }


def test_a_line_is_one_json_object_that_ends_with_the_crc_of_what_stands_before(folder: Folder) -> None:
    """The format: any program can check it with a JSON parser and CRC-32."""
    session, events = _filled(folder)
    lines = _file(folder, session).read_bytes().splitlines(keepends=True)
    assert len(lines) == len(events)
    for number, (line, event) in enumerate(zip(lines, events, strict=True), 1):
        assert line.endswith(b"}\n")
        value = json.loads(line)
        assert list(value) == ["seq", "time", "kind", "data", "crc"]
        assert value["seq"] == event.seq == number
        before = line[: line.rindex(b'"crc"')]
        assert value["crc"] == f"{zlib.crc32(before):08x}"
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", value["time"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50, deadline=None)
@given(st.lists(DATA, min_size=1, max_size=4))
def test_what_goes_in_comes_out_exactly(folder: Folder, many: list[dict[str, Any]]) -> None:
    """I1, s10: any text, lone surrogates too, is the same after writing and loading, and so is what append returns."""
    with Transcript.create(folder) as transcript:
        appended = transcript.append([Event("shown", data) for data in many])
    with Transcript.open(folder, transcript.session) as again:
        assert again.events[1:] == appended
        assert [event.data for event in again.events[1:]] == many
        assert again.repairs == ()


def test_memory_holds_what_loading_would_give(folder: Folder) -> None:
    """I2: a resumed run must render the same request, so tuples and foreign keys do not live on in memory."""
    with Transcript.create(folder) as transcript:
        data: dict[str, Any] = {"spans": ((1, 2),), "n": {1: "x"}}
        (event,) = transcript.append([Event("shown", data)])
        data["spans"] = "changed later"
        assert event.data == {"spans": [[1, 2]], "n": {"1": "x"}}
    with Transcript.open(folder, transcript.session) as again:
        assert again.events[-1] == event


def test_one_writer_at_a_time_and_any_number_of_readers(folder: Folder) -> None:
    with Transcript.create(folder) as transcript:
        with pytest.raises(Locked):
            Transcript.open(folder, transcript.session, write=True)
        with Transcript.open(folder, transcript.session) as reader:
            assert reader.events == transcript.events
            with pytest.raises(StorageError, match="opened for reading"):
                reader.append([_shown(1)])
    Transcript.open(folder, transcript.session, write=True).close()


def test_nobody_repairs_the_workspace_under_a_session(folder: Folder) -> None:
    with Root(folder.path) as other:
        with Transcript.create(folder) as transcript, pytest.raises(Locked, match="in use"):
            lock_workspace(other, shared=False)
        with lock_workspace(other, shared=False), pytest.raises(Locked, match="being repaired"):
            Transcript.open(folder, transcript.session, write=True)
        Transcript.open(folder, transcript.session, write=True).close()


def test_children_lie_beside_their_parent_and_are_numbered(folder: Folder) -> None:
    """Section 2.9."""
    with Transcript.create(folder) as parent:
        names = []
        for _ in range(3):
            with Transcript.create(folder, "child", parent.session) as child:
                names.append(child.session)
                assert child.events[0].data["parent"] == parent.session
        with Transcript.create(folder, "child", names[1]) as grandchild:
            names.append(grandchild.session)
    assert names == [f"{parent.session}.{n}" for n in (1, 2, 3)] + [f"{parent.session}.2.1"]


def test_a_name_that_is_taken_is_drawn_again(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = iter(["20260101-aaaa", "20260101-aaaa", "20260101-bbbb"])
    monkeypatch.setattr("manusfs.session.transcript.new_name", lambda attempt: next(drawn))
    names = []
    for _ in range(2):
        with Transcript.create(folder) as transcript:
            names.append(transcript.session)
    assert names == ["20260101-aaaa", "20260101-bbbb"]


@pytest.mark.parametrize("session", ["20260101-zzzz", "../../etc", "", "x", "20260101-aaaa/..", "20260101-aaaa\n"])
def test_no_session_of_that_name(folder: Folder, session: str) -> None:
    """I7: a session's name never becomes a path unless it is one."""
    with pytest.raises(NotFound, match="no session"):
        Transcript.open(folder, session, write=True)


def test_a_file_cut_at_every_byte_keeps_all_whole_records(folder: Folder) -> None:
    """I1, s06: what is whole loads, the torn rest is kept aside and told, and appending goes on, twice."""
    session, events = _filled(folder, 3)
    path = _file(folder, session)
    raw = path.read_bytes()
    lost = folder.path / "lost+found"
    for cut in range(len(raw) + 1):
        path.write_bytes(raw[:cut])
        whole = [event for event, end in zip(events, _ends(raw), strict=True) if end <= cut + 1]
        tail = raw[raw.rfind(b"\n", 0, cut) + 1 : cut]
        torn = bool(tail) and cut + 1 not in _ends(raw)
        with Transcript.open(folder, session) as reader:
            assert list(reader.events) == whole
            assert bool(reader.repairs) == torn
        assert path.read_bytes() == raw[:cut], "reading must not change the file"
        with Transcript.open(folder, session, write=True) as writer:
            assert list(writer.events) == whole
            assert len(writer.repairs) == torn
            (added,) = writer.append([_shown(9)])
        if torn:
            kept = re.search(r"lost\+found/\S+", writer.repairs[0])
            assert kept is not None
            assert (folder.path / kept[0]).read_bytes() == tail
        with Transcript.open(folder, session, write=True) as again:
            assert list(again.events) == [*whole, added]
            assert again.repairs == ()
        assert path.read_bytes().startswith(raw[: cut - len(tail) if torn else cut])
    assert lost.is_dir()


def _ends(raw: bytes) -> list[int]:
    return [at + 1 for at, byte in enumerate(raw) if byte == 10]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 300), st.sampled_from(["zero", "flip", "drop", "newlines"]))
def test_damage_in_the_middle_costs_only_what_it_touches(folder: Folder, at: int, length: int, how: str) -> None:
    """s07: records before and after load; the place is told; nothing is edited away; numbers are never used again."""
    session, events = _filled(folder, 6)
    path = _file(folder, session)
    raw = path.read_bytes()
    ends = _ends(raw)
    at %= len(raw)
    end = min(len(raw), at + length)
    damaged = {
        "zero": raw[:at] + bytes(end - at) + raw[end:],
        "flip": raw[:at] + bytes(255 - byte for byte in raw[at:end]) + raw[end:],
        "drop": raw[:at] + raw[end:],
        "newlines": raw[:at] + b"\n" * (end - at) + raw[end:],
    }[how]
    path.write_bytes(damaged)
    starts = [0, *ends[:-1]]
    safe = [event for event, a, b in zip(events, starts, ends, strict=True) if b - 1 <= at or a >= end]
    with Transcript.open(folder, session, write=True) as transcript:
        assert [event for event in safe if event not in transcript.events] == []
        assert all(event in events or event.kind == "mended" for event in transcript.events)
        if len(safe) < len(events):
            assert transcript.repairs or how == "drop"
        (added,) = transcript.append([_shown(9)])
        assert added.seq > max((event.seq for event in transcript.events[:-1]), default=0)
    kept = path.read_bytes()
    torn = b"".join(one.read_bytes() for one in (folder.path / "lost+found").glob(f"{session}*"))
    assert kept.startswith(damaged[: len(damaged) - len(torn)])
    assert damaged.endswith(torn)
    with Transcript.open(folder, session, write=True) as again:
        assert again.events[-1] == added


def test_zero_bytes_in_the_middle_are_told_with_place_and_length(folder: Folder) -> None:
    """s07."""
    session, events = _filled(folder, 4)
    path = _file(folder, session)
    lines = path.read_bytes().splitlines(keepends=True)
    offset = len(b"".join(lines[:2]))
    path.write_bytes(b"".join(lines[:2]) + bytes(500) + b"\n" + b"".join(lines[2:]))
    with Transcript.open(folder, session, write=True) as transcript:
        assert _told(transcript) == events
        assert transcript.repairs == (f"session {session}: zero bytes: 500 bytes at offset {offset}; left as it is",)


@pytest.mark.parametrize("glue", [b"", b"\0\0\0", b'{"seq":3,"time":"x","kind":"shown","data":{"half":'])
def test_records_joined_on_one_line_are_recovered(folder: Folder, glue: bytes) -> None:
    """s09: half a record, or a whole one, with the next record on the same line."""
    session, events = _filled(folder, 4)
    path = _file(folder, session)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1][:-1] + glue + lines[2] + lines[3] + lines[4][:-1] + glue)
    with Transcript.open(folder, session, write=True) as transcript:
        assert _told(transcript) == events
        (added,) = transcript.append([_shown(5)])
    with Transcript.open(folder, session, write=True) as again:
        assert _told(again) == (*events, added)


def test_half_a_record_before_a_whole_one_is_told(folder: Folder) -> None:
    """s09."""
    session, events = _filled(folder, 3)
    path = _file(folder, session)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1][:40] + lines[2] + lines[3])
    with Transcript.open(folder, session, write=True) as transcript:
        assert transcript.events == (events[0], *events[2:])
        assert transcript.repairs == (
            f"session {session}: no whole record: 40 bytes at offset {len(lines[0])}; left as it is",
        )


def test_two_histories_are_not_mixed(folder: Folder) -> None:
    """A merged copy repeats numbers: the first of each counts, the others are told and stay in the file."""
    session, events = _filled(folder, 3)
    path = _file(folder, session)
    raw = path.read_bytes()
    path.write_bytes(raw + raw.splitlines(keepends=True)[2])
    with Transcript.open(folder, session) as transcript:
        assert transcript.events == events
        assert "record 3 out of order" in transcript.repairs[0]


def test_numbers_of_damaged_records_are_not_used_again(folder: Folder) -> None:
    """A `msg:` ref must never come to mean something else."""
    session, _ = _filled(folder, 3)
    path = _file(folder, session)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2]) + b"x" + lines[2][1:] + lines[3].replace(b"line", b"lime"))
    with Transcript.open(folder, session, write=True) as transcript:
        assert [(event.seq, event.kind) for event in transcript.events[1:]] == [(2, "shown"), (5, "mended")]
        assert transcript.append([_shown(1)])[0].seq == 6


@pytest.mark.parametrize("rubbish", [b"rubbish\n", b'{"seq":3,"time":"20\n' * 2, bytes(40) + b"\n"])
def test_the_next_number_follows_from_the_last_event_also_behind_damage(folder: Folder, rubbish: bytes) -> None:
    """Lines are named before they are written: random kills found refs to a line that never was."""
    session, _ = _filled(folder, 1)
    path = _file(folder, session)
    path.write_bytes(path.read_bytes() + rubbish)
    for _ in range(2):
        with Transcript.open(folder, session, write=True) as again:
            last = again.events[-1].seq
            assert again.append([_shown(1)])[0].seq == last + 1
    assert [event.kind for event in again.events].count("mended") == 1, "damage is passed over once"
    assert len({event.seq for event in again.events}) == len(again.events)


@pytest.mark.parametrize("mode", ["ENOSPC", "EIO"])
def test_after_a_failed_append_the_next_one_is_whole(folder: Folder, mode: str) -> None:
    """I1: half of a line is taken back, so that nothing lands behind it."""
    disk = folder.fs
    assert isinstance(disk, FaultyDisk)
    with Transcript.create(folder) as transcript:
        for operation in (1, 2):
            before = transcript.events
            disk.at, disk.mode = disk.count + operation, mode
            with pytest.raises(StorageError):
                transcript.append([_shown(1), _shown(2)])
            assert transcript.events == before
            (added,) = transcript.append([_shown(3)])
            assert added.seq == before[-1].seq + 1
        events = transcript.events
    with Transcript.open(folder, transcript.session, write=True) as again:
        assert (again.events, again.repairs) == (events, ())


def test_when_half_a_line_can_not_be_taken_back_the_session_refuses_to_go_on(folder: Folder) -> None:
    disk = folder.fs
    assert isinstance(disk, FaultyDisk)
    with Transcript.create(folder) as transcript:
        events = transcript.events
        disk.at, disk.mode = disk.count + 1, "half"
        with pytest.raises(Killed):
            transcript.append([_shown(1)])
        disk._dead = False
        with pytest.raises(StorageError, match="interrupted") as caught:
            transcript.append([_shown(2)])
        assert "resume" in caught.value.hint
    with Transcript.open(folder, transcript.session, write=True) as again:
        assert again.events == events
        assert len(again.repairs) == 1


def test_a_clock_that_goes_back_changes_nothing_but_the_times(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """d13: order is by number."""
    times = iter(["2026-11-30T12:00:00.000Z", "1970-01-01T00:00:00.000Z", "2099-01-01T00:00:00.000Z"])
    monkeypatch.setattr("manusfs.session.transcript.now", lambda: next(times))
    with Transcript.create(folder) as transcript:
        for number in range(2):
            transcript.append([_shown(number)])
    with Transcript.open(folder, transcript.session) as again:
        assert [event.seq for event in again.events] == [1, 2, 3]
        assert [event.time[:4] for event in again.events] == ["2026", "1970", "2099"]


def test_a_hostile_line_costs_no_more_than_its_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """I4: a line made to look like thousands of half records is not hashed thousands of times."""
    line, _ = encode(Event("shown", {"x": 1}, 1, "t"))
    real, hashed = zlib.crc32, 0

    def crc32(data: bytes, value: int = 0) -> int:
        nonlocal hashed
        hashed += len(data)
        return real(data, value)

    monkeypatch.setattr(zlib, "crc32", crc32)
    for hostile in (
        line[:-1] * 20_000,
        (line[:-3] + b"x") * 20_000,
        b'{"seq":1,"time":"' * 20_000 + b',"crc":"00000000"}' * 20_000,
    ):
        hashed = 0
        scan(hostile + b"\n")
        assert hashed <= 3 * len(hostile)


@pytest.mark.parametrize(
    "members", [b'"seq":2', b'"seq":"2","kind":"shown","data":{}', b'"seq":2,"kind":"shown","data":[]', b'"x":1']
)
def test_a_sealed_line_of_something_else_is_damage(folder: Folder, members: bytes) -> None:
    """A stranger may have written the file, with a valid CRC."""
    session, events = _filled(folder, 1)
    path = _file(folder, session)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + seal(members) + b"\n" + lines[1])
    with Transcript.open(folder, session) as transcript:
        assert {event.seq for event in transcript.events} <= {1, 2}
        assert all(isinstance(event.data, dict) for event in transcript.events)
        assert transcript.repairs
        assert transcript.events[0] == events[0]


def test_loading_ten_thousand_events_parses_each_line_once(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    with Transcript.create(folder) as transcript:
        transcript.append([_shown(number) for number in range(10_000)])
    calls = 0
    real = json.loads

    def loads(*given: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        return real(*given, **named)

    monkeypatch.setattr(json, "loads", loads)
    with Transcript.open(folder, transcript.session) as again:
        assert len(again.events) == calls == 10_001


def test_nothing_in_a_session_names_the_place_where_it_lies(folder: Folder, tmp_path: Path) -> None:
    """d11: the folder may be moved."""
    session, events = _filled(folder)
    assert str(tmp_path).encode() not in _file(folder, session).read_bytes()
    folder.path.rename(tmp_path / "moved")
    with Root(tmp_path / "moved") as root, Transcript.open(Folder(root), session, write=True) as again:
        assert again.events == events


def test_a_child_is_made_under_the_name_that_its_parent_wrote_down_and_taken_up_where_a_crash_left_it(
    folder: Folder,
) -> None:
    """Section 2.9: the register is written before the child, so that each stage of its birth may be the last."""
    with Transcript.create(folder) as parent:
        name = f"{parent.session}.{next_child(folder, parent.session)}"
        assert name.endswith(".1")
        (folder.path / "sessions" / name).mkdir()
        assert next_child(folder, parent.session) == 2
        with Transcript.child(folder, name, parent.session, "look") as child:
            assert [event.kind for event in child.events] == ["session"]
            assert child.events[0].data["parent"] == parent.session and child.events[0].data["purpose"] == "child"
            with pytest.raises(Locked):
                Transcript.child(folder, name, parent.session)
        (folder.path / "sessions" / f"{parent.session}.2").mkdir()
        (folder.path / "sessions" / f"{parent.session}.2" / "transcript.jsonl").touch()
        with Transcript.child(folder, f"{parent.session}.2", parent.session) as again:
            assert len(again.events) == 1
        with Transcript.child(folder, name, parent.session) as child:
            assert len(child.events) == 1
