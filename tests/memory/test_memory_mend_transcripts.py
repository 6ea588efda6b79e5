"""Transcripts that something was done to: found, set right without loss, and no obstacle to `gc` for ever."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from memory_world import World

from manusfs.memory import Workspace, garbage
from manusfs.records import Event, Fetched, Source
from manusfs.session import Transcript
from manusfs.session.lines import scan

Lines = list[bytes]


@pytest.fixture
def session(world: World) -> str:
    """A session of six lines with a call and what it stored."""
    with Transcript.create(world.workspace.folder, title="A question") as transcript:
        blocks = [{"type": "tool_use", "id": "call_1", "name": "web_fetch", "input": {}}]
        transcript.append([Event("message", {"role": "assistant", "content": blocks})])
        body = Fetched(Source.web("https://example.org/a"), b"The first bridge is long. " * 30, "text/plain")
        (taken,) = world.workspace.intake.take([body], transcript.session, ["call_1"])
        transcript.append([world.workspace.intake.event(taken, "call_1")])
        for n in range(3):
            transcript.append([Event("message", {"role": "user", "content": [{"type": "text", "text": f"word {n}"}]})])
        world.workspace.intake.index(taken)
    world.workspace.index.flush()
    return transcript.session


def place(world: World, session: str) -> Path:
    return world.path / "sessions" / session / "transcript.jsonl"


def orphan(workspace: Workspace, text: str) -> str:
    body = Fetched(Source.user(text), text.encode() * 50, "text/plain")
    (taken,) = workspace.intake.take([body], "20261130-aaaa", [""])
    return taken.meta.id


def wasted(workspace: Workspace) -> tuple[list[str], tuple[str, ...]]:
    found = garbage.find(workspace.folder, workspace.observations)
    return [waste.ref.removeprefix("obs:") for waste in found.observations], found.uncertain


@pytest.mark.parametrize(
    "spoil",
    [
        lambda lines: [line.replace(b"\n", b"\r\n") for line in lines],
        lambda lines: [b"\xef\xbb\xbf" + lines[0], *lines[1:]],
        lambda lines: lines * 2,
        lambda lines: lines[::-1],
        lambda lines: [*lines[:2], b"<<<<<<< HEAD\n", *lines[2:4], b"=======\n", *lines[2:4], *lines[4:]],
        lambda lines: [*lines[:3], b"\0" * 900 + b"\n", *lines[3:]],
        lambda lines: [*lines[:3], lines[3][:40] + lines[3], *lines[4:]],
    ],
    ids=["line ends", "byte order mark", "twice", "backwards", "a merge", "zeros", "half a record before it"],
)
def test_what_cost_no_record_is_mended_and_the_workspace_is_whole_again(
    world: World, session: str, spoil: Callable[[Lines], Lines]
) -> None:
    """Promise 4: told, then set right: every record stays byte for byte, and the file as it was is kept."""
    path = place(world, session)
    whole = path.read_bytes()
    path.write_bytes(spoiled := b"".join(spoil(whole.splitlines(keepends=True))))
    assert world.workspace.verify().damaged
    report = world.workspace.verify(repair=True)
    assert report.ok and path.read_bytes() == whole
    kept = [file.read_bytes() for file in (world.path / "lost+found").glob(f"{session}.jsonl~*")]
    assert kept == [spoiled]
    again = world.workspace.verify(repair=True)
    assert again.ok and again.repaired == () and wasted(world.workspace)[1] == ()


@pytest.mark.parametrize("at", [[2], [0], [3, 4]])
def test_lines_that_were_taken_out_are_damage(world: World, session: str, at: list[int]) -> None:
    """I9: every line that is left is whole, and yet something is lost."""
    path = place(world, session)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(line for number, line in enumerate(lines) if number not in at))
    (told,) = world.workspace.verify().damaged
    assert told.startswith(f"msg:{session}:{at[0] + 1} sessions/{session}/transcript.jsonl: line")
    assert "not whole or gone" in told
    assert world.workspace.verify(repair=True).lost_for_good == (told,)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda lines: [*lines[:2], lines[2].replace(b"observation", b"0bservation", 1), *lines[3:]],
        lambda lines: [*lines[:2], *lines[3:]],
        lambda lines: [*lines[:5], lines[5].replace(b"word", b"w0rd")],
        lambda lines: lines[:1],
    ],
    ids=["a bit", "taken out", "the last line", "cut"],
)
def test_what_a_lost_line_may_have_named_is_kept_and_gc_works_on(
    world: World, session: str, spoil: Callable[[Lines], Lines]
) -> None:
    """Promise 14: first nothing is freed; after a repair only what came later, as no lost line can have named it."""
    early = orphan(world.workspace, "early")
    path = place(world, session)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(spoil(lines)))
    assert wasted(world.workspace)[0] == [] and wasted(world.workspace)[1], "nothing is freed while it is in doubt"
    report = world.workspace.verify(repair=True)
    assert not report.ok and report.lost_for_good and not report.damaged
    assert wasted(world.workspace) == ([], ())
    late = orphan(world.workspace, "late")
    assert wasted(world.workspace) == ([late], ())
    assert world.workspace.verify(repair=True).repaired == ()
    assert wasted(world.workspace) == ([late], ()), "what is known as lost is not lost anew"
    told = json.loads((world.path / "lost+found/lost-for-good.json").read_text())
    assert early in told["may_name"]
    path.write_bytes(b"".join(lines))
    assert world.workspace.verify(repair=True).ok
    assert sorted(wasted(world.workspace)[0]) == sorted([early, late]), "with its lines back nothing is in doubt"


def test_a_number_at_a_damaged_end_never_comes_to_mean_something_else(world: World, session: str) -> None:
    path = place(world, session)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:5]) + lines[5].replace(b"word", b"w0rd"))
    world.workspace.verify(repair=True)
    assert not scan(path.read_bytes()).damage
    with Transcript.open(world.workspace.folder, session, write=True) as transcript:
        assert transcript.events[-1].kind == "mended" and transcript.repairs == ()
        assert transcript.append([Event("message", {"role": "user", "content": []})])[0].seq > 6


def test_a_transcript_that_lost_calls_of_what_is_stored_is_told_as_cut(world: World, session: str) -> None:
    """A call is durable before it is made: what it stored says that the transcript was longer."""
    path = place(world, session)
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    (told,) = world.workspace.verify().damaged
    assert "it is cut" in told and "obs:" in told
    path.unlink()
    (told,) = world.workspace.verify().damaged
    assert "gone or empty" in told
    shutil.rmtree(path.parent)
    assert world.workspace.verify().ok, "a person deleted the session"
    path.parent.write_text("a file in its place")
    assert world.workspace.verify().ok


@pytest.mark.parametrize("what", ["link", "folder", "pipe"])
def test_what_is_no_file_in_the_place_of_a_transcript_is_set_aside(world: World, session: str, what: str) -> None:
    path = place(world, session)
    path.rename(world.path.parent / "elsewhere.jsonl")
    {"link": lambda: path.symlink_to("/etc/hostname"), "folder": path.mkdir, "pipe": lambda: os.mkfifo(path)}[what]()
    assert not world.workspace.verify().ok
    report = world.workspace.verify(repair=True)
    assert "no plain file" in report.repaired[0] and not path.exists() and not report.damaged
    assert wasted(world.workspace)[1] == ()
    (world.path.parent / "elsewhere.jsonl").rename(path)
    assert world.workspace.verify(repair=True).ok


def test_a_transcript_with_a_second_name_gets_one_of_its_own(world: World, session: str) -> None:
    """A backup by hard links must not make a workspace unreadable for good; what is not ours is never copied."""
    path = place(world, session)
    (world.path.parent / "backup").hardlink_to(path)
    assert not world.workspace.verify().ok
    assert world.workspace.verify(repair=True).ok and path.stat().st_nlink == 1
    path.unlink()
    (world.path.parent / "secret").write_text("a secret of somebody else\n")
    path.hardlink_to(world.path.parent / "secret")
    assert not world.workspace.verify(repair=True).ok and path.stat().st_nlink == 2
    assert not any(b"secret" in file.read_bytes() for file in (world.path / "lost+found").rglob("*") if file.is_file())


def test_transcripts_that_changed_places_are_put_back(world: World, session: str) -> None:
    with Transcript.create(world.workspace.folder, title="Another") as other:
        pass
    first, second = place(world, session), place(world, other.session)
    one, two = first.read_bytes(), second.read_bytes()
    first.write_bytes(two)
    second.write_bytes(one)
    assert len(world.workspace.verify().damaged) == 2
    assert world.workspace.verify(repair=True).ok
    assert (first.read_bytes(), second.read_bytes()) == (one, two)


def test_other_line_ends_are_told_once_and_not_once_a_line(world: World, session: str) -> None:
    path = place(world, session)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    (told,) = world.workspace.verify().damaged
    assert "6 lines have other line ends" in told and world.workspace.verify(repair=True).ok


def test_copies_that_a_synchronising_program_left_are_none_of_ours(world: World, session: str) -> None:
    """A reader passes over names that it does not know."""
    shutil.copytree(place(world, session).parent, world.path / "sessions" / f"{session} (1)")
    assert world.workspace.verify().ok and world.workspace.verify(repair=True).repaired == ()


def test_what_is_appended_after_a_repair_is_found_by_search(world: World, session: str) -> None:
    """I8: the index goes by how far a transcript was read, and repair makes it shorter."""
    world.workspace.search("bridge")
    path = place(world, session)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    world.workspace.search("bridge")
    world.workspace.verify(repair=True)
    world.workspace.search("bridge")
    with Transcript.open(world.workspace.folder, session, write=True) as transcript:
        text = "a zeppelin crossed the river at noon and was seen by everybody"
        transcript.append([Event("message", {"role": "user", "content": [{"type": "text", "text": text}]})])
    assert world.workspace.search("zeppelin kind:message")
