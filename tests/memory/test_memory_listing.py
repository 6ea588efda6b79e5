"""What `ls` lists: only what is there, by first arrival, with what it is called and what became of it (GN-2, MA-8)."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from memory_world import World

from manusfs.errors import UsageError
from manusfs.memory.workspace import Doors, Workspace
from manusfs.records import Event
from manusfs.session import Transcript

URL = "https://example.org/page"
BODY = b"<html>" + b"The bridge is long.\n" * 40


def listed(world: World, kind: str = "observations") -> list[dict[str, object]]:
    return [line.to_json() for line in world.workspace.ls(kind)]


def test_what_is_gone_is_not_listed(world: World) -> None:
    gone, kept = world.store(f"{URL}/a", BODY), world.store(f"{URL}/b", BODY)
    assert [line["ref"] for line in listed(world)] == [gone, kept]
    shutil.rmtree(world.files(gone)["text.md"].parent)
    assert [line["ref"] for line in listed(world)] == [kept]


def test_what_is_added_again_keeps_its_place(world: World) -> None:
    refs = [world.store(f"{URL}/{at}", BODY) for at in range(3)]
    assert world.workspace.add(f"{URL}/0").status == "known"
    rows = {row.id: row for row in world.workspace.index.observations()}
    later = rows[refs[0][4:]]
    assert max(rows.values(), key=lambda row: row.latest_order) == later
    assert [line["ref"] for line in listed(world)] == refs


def test_the_order_is_that_of_arrival_whatever_the_clock_says(tmp_path: Path) -> None:
    """d13: a clock that goes back moves nothing, also when the index is made anew."""
    times = iter(["2026-11-30T12:00:00Z", "2026-11-30T10:00:00Z", "1970-01-01T00:00:00Z", "2099-01-01T00:00:00Z"] * 2)
    with Workspace.create(tmp_path / "w", doors=Doors(network=False, clock=lambda: next(times))) as workspace:
        refs = [workspace.add_bytes(f"text {at}".encode(), f"n{at}").ref for at in range(4)]
        assert workspace.add_bytes(b"text 1", "n1").status == "known"
        assert [line.to_json()["ref"] for line in workspace.ls()] == refs
    shutil.rmtree(tmp_path / "w/.manusfs")
    with Workspace.open(tmp_path / "w", doors=Doors(network=False)) as workspace:
        assert [line.to_json()["ref"] for line in workspace.ls()] == refs


def test_a_line_says_what_its_source_is_called(world: World, tmp_path: Path) -> None:
    (tmp_path / "staff.md").write_text("# People\n\nMara Lindt is head roaster.\n")
    world.workspace.add(str(tmp_path / "staff.md"))
    world.store(URL, BODY)
    assert {line["name"] for line in listed(world)} == {"staff.md", URL}


def test_what_has_no_text_says_why(world: World, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_bytes(b"")
    (tmp_path / "photo.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(50))
    for name, why in (("empty.txt", "it is empty"), ("photo.png", "image/png, 58 bytes; the raw bytes are kept")):
        added = world.workspace.add(str(tmp_path / name))
        assert (added.status, added.note) == ("new", why)
        assert [line["note"] for line in listed(world) if line["ref"] == added.ref] == [why]
        with pytest.raises(UsageError, match=f"has no text: {why}") as caught:
            world.workspace.read(added.ref)
        assert f"{added.ref}/raw" in caught.value.hint and "--raw" in caught.value.hint
        assert world.workspace.read(f"{added.ref}/raw").data == (tmp_path / name).read_bytes()


def test_sessions_say_how_they_ended(world: World) -> None:
    world.store(URL, BODY)
    for stop in ("end_turn", "interrupted", "max_turns", None):
        with Transcript.create(world.workspace.folder) as transcript:
            transcript.append([Event("epoch", {"n": 1, "opening": []})])
            if stop is not None:
                transcript.append([Event("end", {"stop": stop, "report": "", "message": ""})])
    found = sorted((str(line["purpose"]), str(line["state"]), str(line["stop"])) for line in listed(world, "sessions"))
    assert found == [
        ("intake", "finished", ""),
        ("run", "finished", "end_turn"),
        ("run", "open", ""),
        ("run", "stopped", "interrupted"),
        ("run", "stopped", "max_turns"),
    ]


def test_reports_stand_in_the_order_of_their_time_and_templates_are_none(world: World) -> None:
    (world.path / "reports").mkdir(exist_ok=True)
    for at, name in enumerate(("b", "c", "a")):
        file = world.path / f"reports/{name}.md"
        file.write_text(f"# Report {name}\n")
        os.utime(file, (1_700_000_000 + at, 1_700_000_000 + at))
    assert [line["path"] for line in listed(world, "reports")] == ["reports/b.md", "reports/c.md", "reports/a.md"]
    assert listed(world, "notes") == []
    readme = world.path / "notes/findings/README.md"
    readme.write_text("# Ours\n\nWe wrote this.\n")
    assert [line["title"] for line in listed(world, "notes")] == ["Ours"]


def test_one_file_too_deep_hides_no_other(world: World) -> None:
    """Promise 12: a stranger's notes lie deeper than any path may be, or have names that none may have."""
    (world.workspace.folder.path / "notes/a.md").write_text("# Plain\n")
    deep = world.workspace.folder.path / "notes" / "/".join("d" * 70)
    deep.mkdir(parents=True)
    (deep / "b.md").write_text("# Deep\n")
    (world.workspace.folder.path / "notes/\x1b[2J.md").write_text("# Controls\n")
    assert [line["title"] for line in listed(world, "notes")] == ["Plain"]
