"""The check of everything, with the network off, and repair (I1, I8, I9; d07, d11)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from memory_world import World

from manusfs.errors import Locked
from manusfs.memory import Workspace
from manusfs.records import Event, part_to_json
from manusfs.session import Transcript
from manusfs.workspace import Root, lock_workspace

URL = "https://example.org/page"
BODY = b"<html>" + b"The bridge is long.\n" * 40


def test_a_sound_workspace_is_told_in_numbers(world: World) -> None:
    for n in range(3):
        world.store(f"{URL}/{n}", BODY + b"%d" % n)
    world.net.pages.clear()
    report = world.workspace.verify()
    files = [file for file in world.path.rglob("*") if file.is_file()]
    hashed = sum(f.stat().st_size for f in files if "observations" in f.parts or f.name == "transcript.jsonl")
    assert report.to_json() == {
        "observations": 3,
        "bytes": hashed,
        "refs": 3,
        "damaged": [],
        "lost": [],
        "orphans": [],
        "repaired": [],
        "lost_for_good": [],
        "dangling": [],
        "ok": True,
    }
    assert world.net.asked == [URL + f"/{n}" for n in range(3)]


@pytest.mark.parametrize("where", ["head", "middle", "end"])
@pytest.mark.parametrize("name", ["text.md", "full.md", "raw.html", "meta.json"])
def test_a_flipped_bit_anywhere_is_found_and_named(world: World, name: str, where: str) -> None:
    """d07: 20 of 20."""
    ref = world.store(URL, BODY)
    file = world.files(ref)[name]
    data = bytearray(file.read_bytes())
    data[{"head": 0, "middle": len(data) // 2, "end": len(data) - 2}[where]] ^= 1
    file.write_bytes(data)
    report = world.workspace.verify()
    assert not report.ok and any(line.startswith(ref) and name in line for line in report.damaged)


def test_a_transcript_line_that_is_not_whole_is_found(world: World) -> None:
    world.store(URL, BODY)
    (file,) = world.path.glob("sessions/*/transcript.jsonl")
    lines = file.read_bytes().split(b"\n")
    lines[1] = lines[1].replace(b'"status":"new"', b'"status":"odd"')
    file.write_bytes(b"\n".join(lines))
    (line,) = world.workspace.verify().damaged
    assert line.startswith("msg:") and "line 2 is not whole" in line


def test_a_ref_of_a_transcript_that_leads_nowhere_is_lost(world: World) -> None:
    ref = world.store(URL, BODY)
    shutil.rmtree(world.files(ref)["text.md"].parent)
    report = world.workspace.verify()
    assert not report.ok and len(report.lost) == 1 and report.lost[0].startswith(ref)


def test_what_was_shown_must_render_to_the_same_text(world: World) -> None:
    """I1: not only the bytes, but what the model saw."""
    ref = world.store(URL, BODY)
    part, _ = world.workspace.resolver.show(world.workspace.read(ref, chars=30))
    wrong = {**part_to_json(part), "sha256": "0" * 64}
    with Transcript.create(world.workspace.folder) as transcript:
        transcript.append([Event("shown", {"call": "c", "parts": [part_to_json(part)], "is_error": False})])
        assert world.workspace.verify().ok
        transcript.append([Event("shown", {"call": "c", "parts": [wrong], "is_error": False})])
    (line,) = world.workspace.verify().lost
    assert "no longer gives the text that was shown" in line


def test_the_refs_of_an_opening_are_followed(world: World) -> None:
    """I1: a collapsed ledger is one read away, and a ref that leads nowhere is lost."""
    ledger = {"type": "text", "text": "<ledger>\nall of it\n</ledger>", "form": "collapsed"}
    with Transcript.create(world.workspace.folder) as transcript:
        session = transcript.session
        here = f"msg:{session}"
        words = f'<user_message ref="{here}:2.0">\nq\n</user_message>\n'
        words += f'<ledger refs="1" from="{here}:2-3" whole="{here}:3.1"/>'
        opening = [{"type": "text", "text": "q"}]
        epoch = {"n": 1, "because": "start", "opening": opening}
        moves = {"moves": [], "policy": "manus", "ledgers": [ledger, {**ledger, "text": "the other"}]}
        later = {**epoch, "n": 2, "opening": [{"type": "text", "text": words}]}
        transcript.append([Event("epoch", epoch), Event("compaction", moves), Event("epoch", later)])
        report = world.workspace.verify()
        assert report.ok and report.refs == 3
        assert "the other" in world.workspace.read(f"{here}:3.1").text
        gone = [{"type": "text", "text": words.replace(":3.1", ":3.2").replace(":2.0", ":99.0")}]
        transcript.append([Event("epoch", {**epoch, "n": 3, "opening": gone})])
    lost = world.workspace.verify().lost
    assert len(lost) == 2 and "there is no line 99" in lost[0] and f"{here}:3.2 in {here}:5" in lost[1]


def test_an_observation_without_a_transcript_line_is_an_orphan_and_no_fault(world: World) -> None:
    """A crash between commit and transcript leaves one: whole, kept."""
    from memory_world import page

    (taken,) = world.workspace.intake.take([page(URL, BODY)], "s", ["c"])
    report = world.workspace.verify()
    assert report.ok and report.orphans == (f"obs:{taken.meta.id} {taken.meta.folder}",)


def test_a_report_that_cites_what_is_gone_is_told_but_not_what_a_model_made_up(world: World) -> None:
    world.store(URL, BODY)
    session = next((world.path / "sessions").iterdir()).name
    (world.path / "reports").mkdir(exist_ok=True)
    (world.path / f"reports/{session}-1.md").write_text('[^1]: "x" — y, obs:aaaaaaaaaaaa@0-1\n')
    assert world.workspace.verify().ok
    (world.path / "reports/20200101-gone-1.md").write_text('[^1]: "x" — y, obs:bbbbbbbbbbbb@0-1\n')
    (line,) = world.workspace.verify().lost
    assert line.startswith("obs:bbbbbbbbbbbb in reports/20200101-gone-1.md")


def test_repair_waits_for_nobody(world: World) -> None:
    with Root(world.path) as other, lock_workspace(other, shared=True), pytest.raises(Locked):
        world.workspace.verify(repair=True)


def test_the_derived_folder_may_go_at_any_time(world: World, tmp_path: Path) -> None:
    """I8."""
    refs = [world.store(f"{URL}/{n}", BODY + b"%d" % n) for n in range(4)]
    world.workspace.close()
    shutil.rmtree(world.path / ".manusfs")
    again = World(world.path, Workspace.open)
    assert again.workspace.verify().ok
    assert [again.workspace.read(ref).state for ref in refs] == ["stored"] * 4
    assert len(again.workspace.ls()) == 4
    assert json.loads(json.dumps(again.workspace.verify().to_json()))["ok"]
    again.workspace.close()
