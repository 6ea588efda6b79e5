"""The list of sessions, and single events, from whole and from damaged files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from disks.faulty import FaultyDisk
from disks.workload import empty_workspace

from manusfs.errors import NotFound
from manusfs.records import Event
from manusfs.session import Transcript, read_event, sessions
from manusfs.workspace import Folder


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    empty_workspace(tmp_path / "w")
    with Folder.open(tmp_path / "w", FaultyDisk()) as opened:
        yield opened


def _assistant(text: str) -> Event:
    return Event("message", {"role": "assistant", "content": [{"type": "text", "text": text}]})


def test_no_sessions_is_an_empty_list(folder: Folder) -> None:
    assert sessions(folder) == []


def test_a_session_is_listed_with_title_turns_and_end(folder: Folder) -> None:
    opening = [
        {"type": "text", "text": "date and standing instructions"},
        {"type": "text", "text": "<user_message>\nWho built\n the bridge?\ud800\n</user_message>"},
    ]
    with Transcript.create(folder) as first:
        first.append([Event("epoch", {"n": 1, "opening": opening})])
        first.append([_assistant('"kind":"message","data":{"role":"assistant"'), _assistant("b")])
        (end,) = first.append([Event("end", {"stop": "end_turn"})])
    with Transcript.create(folder, "intake") as second:
        second.append([Event("message", {"role": "user", "content": [{"type": "text", "text": "x" * 500}]})])
    listed = {info.session: info for info in sessions(folder)}
    info = listed[first.session]
    assert (info.title, info.turns, info.purpose) == ("Who built the bridge?\ufffd", 2, "run")
    assert (info.created, info.ended) == (first.events[0].time, end.time)
    info = listed[second.session]
    assert (info.turns, info.purpose, info.ended) == (0, "intake", "")
    assert len(info.title) == 120


def test_a_title_of_the_session_itself_comes_first(folder: Folder) -> None:
    with Transcript.create(folder, title="The bridge") as transcript:
        transcript.append([Event("message", {"role": "user", "content": [{"type": "text", "text": "hello"}]})])
    assert sessions(folder)[0].title == "The bridge"


def test_newest_come_last(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    names = []
    for number in range(3):
        monkeypatch.setattr("manusfs.session.transcript.now", lambda number=number: f"2026-11-30T12:00:0{number}.000Z")
        with Transcript.create(folder) as transcript:
            names.append(transcript.session)
    assert [info.session for info in sessions(folder)] == names


def test_damaged_and_foreign_folders_do_not_break_the_list(folder: Folder) -> None:
    with Transcript.create(folder) as transcript:
        transcript.append([_assistant("a")])
    for name, raw in (("20260101-aaaa", b"\0" * 3000), ("20260101-bbbb", b'{"seq":1,"ti'), ("20260101-cccc", b"")):
        (folder.path / "sessions" / name).mkdir()
        (folder.path / "sessions" / name / "transcript.jsonl").write_bytes(raw)
    (folder.path / "sessions/20260101-dddd").mkdir()
    (folder.path / "sessions/20260101-eeee").symlink_to("/etc")
    (folder.path / "sessions/my notes").mkdir()
    found = [info.session for info in sessions(folder)]
    assert found == ["20260101-aaaa", "20260101-bbbb", transcript.session]


def test_a_long_session_is_listed_without_being_read_into_memory(folder: Folder) -> None:
    import tracemalloc

    with Transcript.create(folder) as transcript:
        for _ in range(40):
            transcript.append([_assistant("x" * 10_000)] * 25)
        transcript.append([Event("end", {"stop": "end_turn"})])
    tracemalloc.start()
    (info,) = sessions(folder)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert info.turns == 1000
    assert info.ended
    assert peak < 5_000_000


def test_one_event_is_found_by_its_number(folder: Folder) -> None:
    with Transcript.create(folder) as transcript:
        transcript.append([_assistant(str(number)) for number in range(30)])
    for event in (transcript.events[0], transcript.events[16], transcript.events[-1]):
        assert read_event(folder, transcript.session, event.seq) == event
    for session, seq in ((transcript.session, 32), (transcript.session, 0), ("20260101-aaaa", 1)):
        with pytest.raises(NotFound):
            read_event(folder, session, seq)


def test_one_event_behind_rubbish_on_its_line_is_found(folder: Folder) -> None:
    """s09."""
    with Transcript.create(folder) as transcript:
        transcript.append([_assistant(str(number)) for number in range(3)])
    path = folder.path / "sessions" / transcript.session / "transcript.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1][:50] + lines[2] + lines[3])
    assert read_event(folder, transcript.session, 3) == transcript.events[2]
    with pytest.raises(NotFound, match="has no event 2"):
        read_event(folder, transcript.session, 2)
