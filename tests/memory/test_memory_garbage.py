"""Nothing is deleted unless asked, and never what anything refers to, whatever happens in the middle."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from disks.faulty import ERRORS, KILLS, FaultyDisk, Killed

from manusfs.errors import Locked, ManusfsError
from manusfs.memory import Workspace, garbage
from manusfs.records import Fetched, Source
from manusfs.session import Transcript
from manusfs.workspace import Folder
from manusfs.workspace.locks import lock_workspace


def orphan(workspace: Workspace, text: str) -> str:
    """Store something of which no transcript will tell, as a crash between storing and writing down does."""
    body = Fetched(Source.web(f"https://example.org/{text}?token=SECRETSECRET"), text.encode() * 50, "text/plain")
    (taken,) = workspace.intake.take([body], "20261130-aaaa", [""])
    workspace.intake.index(taken)
    return taken.meta.id


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace.create(tmp_path / "w") as made:
        made.add_bytes(b"kept by the transcript", "paste")
        yield made


def found(workspace: Workspace) -> list[str]:
    return [
        waste.ref.removeprefix("obs:") for waste in garbage.find(workspace.folder, workspace.observations).observations
    ]


def closed(workspace: Workspace) -> Workspace:
    """Let the intake session go, whose lock says that someone works here."""
    workspace._end_intake_session()
    return workspace


def test_what_nothing_names_is_found_and_freed_and_the_rest_stays(workspace: Workspace) -> None:
    """Promise 14: said in numbers, with secrets masked; what is left is whole and found by search."""
    ids = [orphan(workspace, "one"), orphan(workspace, "two")]
    seen = garbage.find(workspace.folder, workspace.observations)
    assert sorted(found(workspace)) == sorted(ids) and seen.kept == 1 and seen.bytes > 300
    assert "SECRET" not in json.dumps(seen.to_json())
    with pytest.raises(Locked), lock_workspace(Folder.open(workspace.folder.path).root, shared=True):
        garbage.free(workspace.folder, workspace.observations, seen)
    assert sorted(found(workspace)) == sorted(ids)
    freed = garbage.free(closed(workspace).folder, workspace.observations, seen)
    assert {waste.ref for waste in freed.observations} == {f"obs:{id}" for id in ids}
    assert found(workspace) == [] and workspace.verify().ok and workspace.verify().orphans == ()
    assert workspace.search("kept") and not workspace.search("two")
    assert [line.ref for line in workspace.ls()] == [workspace.search("kept")[0].ref.partition("@")[0]]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "place",
    ["notes/findings/a.md", "reports/r.md", "todo.md", "AGENTS.md", "paper.tex", "skills/s/SKILL.md", "lost+found/x"],
)
@pytest.mark.parametrize(
    "how", ["obs:{}", "obs:{}@0-10", "observations/web/example.org/one-{}/text.md", "obs:{:.7}", "{}"]
)
def test_a_ref_anywhere_keeps_what_it_names(workspace: Workspace, place: str, how: str) -> None:
    """Section 2.12, promise 14: in any file, whole, with a span, as a path, or cut to its first digits."""
    id = orphan(workspace, "one")
    other = orphan(workspace, "two")
    path = workspace.folder.path / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x" * ((1 << 20) - 20) + f" see {how.format(id)}.\n")
    assert found(workspace) == [other]


def test_what_a_transcript_showed_of_an_orphan_keeps_it(workspace: Workspace) -> None:
    """A hit of a search names it: then the model saw it, and a msg: ref leads there."""
    id = orphan(workspace, "one")
    with Transcript.create(workspace.folder) as transcript:
        from manusfs.records import Event

        parts = [{"type": "text", "text": f'<hit ref="obs:{id}@0-3" …>'}]
        transcript.append([Event("shown", {"call": "x", "parts": parts, "is_error": False})])
    assert found(workspace) == []


def test_the_history_of_what_is_kept_is_kept(workspace: Workspace) -> None:
    """What an observation replaced goes only with it."""
    source = Source.web("https://example.org/page")
    for text in (b"first version", b"second version"):
        (taken,) = workspace.intake.take([Fetched(source, text, "text/plain")], "20261130-aaaa", [""])
        workspace.intake.index(taken)
    assert taken.meta.previous
    assert len(found(workspace)) == 2
    workspace.note(f"see obs:{taken.meta.id}", "a")
    assert found(workspace) == []


def test_while_a_transcript_is_not_whole_no_observation_is_freed(workspace: Workspace) -> None:
    """A flipped bit may have hit the very ref. Rubbish between whole lines names nothing."""
    id = orphan(workspace, "one")
    (path,) = workspace.folder.path.glob("sessions/*/transcript.jsonl")
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    path.write_bytes(lines[0] + b"rubbish\n" + b"".join(lines[1:]))
    assert found(workspace) == [id]
    path.write_bytes(lines[0].replace(b"session", b"sessioN", 1) + b"".join(lines[1:]))
    seen = garbage.find(workspace.folder, workspace.observations)
    assert seen.observations == () and "not whole" in seen.uncertain[0]
    path.unlink()
    path.symlink_to("/etc/hostname")
    assert "transcript.jsonl" in garbage.find(workspace.folder, workspace.observations).uncertain[0]


@pytest.mark.parametrize("place", ["sessions", "notes", "notes/findings", "reports", "lost+found", "mine"])
def test_what_lies_behind_a_link_may_name_anything(workspace: Workspace, tmp_path: Path, place: str) -> None:
    """A user may keep sessions or notes on another disk: a walk that follows no link would take them for empty."""
    id = orphan(workspace, "one")
    path = closed(workspace).folder.path / place
    path.parent.mkdir(exist_ok=True)
    if path.exists():
        path.rename(tmp_path / "elsewhere")
    else:
        (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/n.md").write_text(f"obs:{id}")
    path.symlink_to(tmp_path / "elsewhere")
    seen = garbage.find(workspace.folder, workspace.observations)
    assert seen.observations == () and place in seen.uncertain[0]
    assert garbage.free(workspace.folder, workspace.observations, seen).observations == ()


def test_a_second_name_of_a_file_may_name_anything(workspace: Workspace, tmp_path: Path) -> None:
    id = orphan(workspace, "one")
    note = workspace.folder.path / workspace.note(f"see obs:{id}", "a")
    (tmp_path / "second").hardlink_to(note)
    assert garbage.find(workspace.folder, workspace.observations).observations == ()


def test_an_observation_with_files_of_others_in_it_stays(workspace: Workspace) -> None:
    id = orphan(workspace, "one")
    place = workspace.folder.path / workspace.observations.path(id)
    (place / "my-remarks.txt").write_text("mine")
    assert found(workspace) == []
    (place / "my-remarks.txt").unlink()
    (place / "raw.txt").symlink_to("/etc/hostname")
    assert found(workspace) == []


def test_what_was_named_after_the_listing_is_not_freed(workspace: Workspace) -> None:
    id, other = orphan(workspace, "one"), orphan(workspace, "two")
    seen = garbage.find(workspace.folder, workspace.observations)
    workspace.note(f"I need obs:{id} after all", "a")
    third = orphan(workspace, "three")
    freed = garbage.free(closed(workspace).folder, workspace.observations, seen)
    assert [waste.ref for waste in freed.observations] == [f"obs:{other}"]
    assert found(workspace) == [third], "what nobody saw in the list is not freed either"


def test_unfinished_files_and_the_cache_are_freed(workspace: Workspace) -> None:
    left = workspace.folder.path / ".manusfs/tmp/99999-dead/1-abc"
    left.mkdir(parents=True)
    (left / "text.md").write_bytes(b"x" * 1_000)
    cache = workspace.folder.path / ".manusfs/cache"
    cache.mkdir(exist_ok=True)
    (cache / "cache.db").write_bytes(b"x" * 5_000)
    seen = garbage.find(workspace.folder, workspace.observations)
    assert seen.staging_bytes >= 1_000 and seen.cache_bytes == 5_000 and seen.observations == ()
    freed = garbage.free(closed(workspace).folder, workspace.observations, seen)
    assert freed.cache_bytes == 5_000 and freed.staging_bytes >= 1_000
    assert not (left / "text.md").exists() and not (cache / "cache.db").exists()


@pytest.mark.parametrize("mode", [*KILLS, *ERRORS])
def test_a_fault_in_the_middle_loses_nothing_that_is_referred_to(tmp_path: Path, mode: str) -> None:
    """Promise 14: at every operation; afterwards each observation is whole or not there, and gc can be run again."""
    with Workspace.create(tmp_path / "start") as made:
        keep = made.add_bytes(b"kept by the transcript", "paste").ref.removeprefix("obs:")
        ids = {orphan(made, "one"), orphan(made, "two")}
    count = 1
    for at in range(1, 200):
        copy = tmp_path / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(tmp_path / "start", copy)
        disk = FaultyDisk(at, mode)
        workspace = Workspace.open(copy, fs=disk)
        try:
            garbage.free(
                workspace.folder, workspace.observations, garbage.find(workspace.folder, workspace.observations)
            )
        except (Killed, ManusfsError):
            pass
        count = disk.count
        disk.at = 0
        try:
            workspace.close()
        except (Killed, ManusfsError):
            pass
        with Workspace.open(copy) as again:
            report = again.verify()
            assert report.ok, (at, report)
            there = set(again.observations.ids())
            assert keep in there and there <= ids | {keep}
            garbage.free(again.folder, again.observations, garbage.find(again.folder, again.observations))
            assert set(again.observations.ids()) == {keep}, at
        if at >= count:
            return
    raise AssertionError("it never got through")
