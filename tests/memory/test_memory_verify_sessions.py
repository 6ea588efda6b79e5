"""A transcript that is gone, emptied or cut is damage where anything else names its session (I1, I9)."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from memory_world import World

from manusfs.records import Event
from manusfs.session import Transcript

URL = "https://example.org/page"
BODY = b"<html>" + b"The bridge is long.\n" * 40
BREAK: dict[str, Callable[[Path], object]] = {
    "emptied": lambda file: file.write_bytes(b""),
    "deleted": lambda file: file.unlink(),
    "blank": lambda file: file.write_bytes(b"\n\n"),
}


def _report(world: World, session: str, number: int) -> str:
    path = f"reports/{session}-{number}.md"
    (world.path / "reports").mkdir(exist_ok=True)
    (world.path / path).write_text(f"# Q\n\n> q\n\n2026-11-30 · m · session {session}\n\nYes.\n")
    return path


def _answer(text: str = "Yes.") -> Event:
    return Event("message", {"role": "assistant", "content": [{"type": "text", "text": text}]})


def _call() -> Event:
    call = {"type": "tool_use", "id": "c", "name": "read", "input": {}}
    return Event("message", {"role": "assistant", "content": [call]})


def _end(report: str) -> Event:
    return Event("end", {"stop": "end_turn", "report": report, "message": ""})


@pytest.mark.parametrize("how", BREAK)
def test_a_lost_transcript_is_damage_where_an_observation_names_its_session(world: World, how: str) -> None:
    world.store(URL, BODY)
    (file,) = world.path.glob("sessions/*/transcript.jsonl")
    assert world.workspace.verify().ok
    BREAK[how](file)
    (line,) = world.workspace.verify().damaged
    assert line.startswith(f"sessions/{file.parent.name}/") and "gone or empty" in line and "obs:" in line
    assert world.workspace.verify(repair=True).lost_for_good == (line,)
    shutil.rmtree(file.parent)
    report = world.workspace.verify()
    assert report.ok and report.orphans, "a person may delete a session as a whole"


@pytest.mark.parametrize("how", BREAK)
def test_a_lost_transcript_is_damage_where_a_report_or_a_relative_names_it(world: World, how: str) -> None:
    with Transcript.create(world.workspace.folder) as parent:
        child = f"{parent.session}.1"
        Transcript.child(world.workspace.folder, child, parent.session).close()
        report = _report(world, parent.session, 1)
        parent.append([Event("child", {"session": child, "state": "finished", "turns": 1}), _answer(), _end(report)])
    assert world.workspace.verify().ok
    files = {name: world.path / f"sessions/{name}/transcript.jsonl" for name in (parent.session, child)}
    whole = files[child].read_bytes()
    BREAK[how](files[child])
    (line,) = world.workspace.verify().damaged
    assert child in line and f"msg:{parent.session}:2" in line
    files[child].write_bytes(whole)
    BREAK[how](files[parent.session])
    (line,) = world.workspace.verify().damaged
    assert line.startswith(f"sessions/{parent.session}/")


@pytest.mark.parametrize("how", BREAK)
def test_a_session_that_died_before_its_first_line_is_no_fault(world: World, how: str) -> None:
    """A crash right after mkdir, or before the first line, leaves nothing that could be lost."""
    Transcript.create(world.workspace.folder).close()
    (file,) = world.path.glob("sessions/*/transcript.jsonl")
    BREAK[how](file)
    assert world.workspace.verify().ok


def test_a_transcript_that_is_cut_before_the_answer_of_its_report_is_damage(world: World) -> None:
    """A crash between report and end leaves the answer, and a resume writes the next report: neither is a fault."""
    with Transcript.create(world.workspace.folder) as transcript:
        reports = [_report(world, transcript.session, number) for number in (1, 2)]
        transcript.append([_call(), _answer(), _end(reports[0]), _call(), _answer("More."), _end(reports[1])])
    file = world.path / f"sessions/{transcript.session}/transcript.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    ok = {}
    for kept in range(1, len(lines) + 1):
        file.write_bytes(b"".join(lines[:kept]))
        found = world.workspace.verify()
        ok[kept] = found.ok
        assert all("it is cut" in line for line in found.damaged)
    (world.path / reports[1]).unlink()
    assert ok == {1: False, 2: False, 3: True, 4: False, 5: False, 6: True, 7: True}
    file.write_bytes(b"".join(lines[:3]))
    assert world.workspace.verify().ok, "the crash between the report and its end"


def test_a_file_that_is_only_named_like_a_report_tells_nothing(world: World) -> None:
    (world.path / "reports").mkdir(exist_ok=True)
    (world.path / "reports/20261130-abcd-1.md").write_text("# By hand\n")
    assert world.workspace.verify().ok
