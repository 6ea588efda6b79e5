"""Repair mends what can be proved, never makes anything worse, and says what is lost for good (I1, I9; d07, d11)."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from memory_world import World

from manusfs.errors import Damaged
from manusfs.memory import Workspace, citations
from manusfs.memory.meta_mending import one_byte_off
from manusfs.records import Span
from manusfs.workspace.sealed import dumps, seal

URL = "https://example.org/page"
BODY = b"<html>" + b"The bridge is long.\n" * 40


def flip(file: Path, at: int = -1) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2 if at < 0 else at] ^= 0xFF
    file.write_bytes(data)


def footnote(ref: str) -> str:
    quote = "The bridge is long."
    return (
        f"It is long.[^1]\n\n{citations.format_footnote(1, quote, 'A page', '', f'{ref}@{Span(3, 3 + len(quote))}')}\n"
    )


def files_of(world: World) -> int:
    return sum(1 for file in world.path.rglob("*") if file.is_file() and ".manusfs" not in file.parts)


def test_a_text_is_made_again_from_its_raw_bytes(world: World) -> None:
    ref = world.store(URL, BODY)
    before = files_of(world)
    flip(world.files(ref)["text.md"])
    told = world.workspace.verify()
    assert told.lost == () and len(told.damaged) == 1, "what repair or `read` brings back is not called lost"
    world.net.pages.clear()
    report = world.workspace.verify(repair=True)
    assert report.ok and report.repaired[0].endswith(": mended")
    assert files_of(world) == before + 1, "nothing is deleted: the damaged text was set aside"
    assert world.workspace.verify().ok and world.workspace.read(ref).text.startswith("v1 ")


def test_a_raw_body_is_asked_of_its_source_once(world: World) -> None:
    ref = world.store(URL, BODY)
    for name in ("raw.html", "text.md"):
        flip(world.files(ref)[name])
    world.net.asked.clear()
    report = world.workspace.verify(repair=True)
    assert report.ok and world.net.asked == [URL] and world.workspace.verify().ok


@pytest.mark.parametrize("changed", [True, False])
def test_what_nothing_gives_back_is_kept_beside_what_is_whole(world: World, changed: bool) -> None:
    """A damaged raw body whose text is whole keeps its text and the citations of it."""
    ref = world.store(URL, BODY)
    flip(world.files(ref)["raw.html"])
    world.net.pages.clear()
    if changed:
        world.net.put(URL, BODY + b"more")
    report = world.workspace.verify(repair=True)
    assert "kept as it is, with what is lost for good" in report.repaired[0]
    again = world.workspace.verify()
    assert again.damaged == again.lost == () and len(again.lost_for_good) == 1 and not again.ok
    assert "raw.html" in again.lost_for_good[0] and again.orphans == ()
    assert world.workspace.read(ref).text.startswith("v1 The bridge")
    assert citations.check(footnote(ref), world.workspace.resolver).ok
    assert [line.to_json()["ref"] for line in world.workspace.ls()] == [ref]
    with pytest.raises(Damaged):
        world.workspace.resolver.data(world.workspace.resolver.parse(f"{ref}/raw"))
    world.net.put(URL, BODY)
    assert world.workspace.verify(repair=True).ok and world.workspace.verify().ok, "a source that is back mends it"


def test_a_damaged_text_that_nothing_makes_again_stays_in_its_place(world: World) -> None:
    """Its whole blocks can still be read."""
    ref = world.store(URL, b"<html>" + b"The bridge is long.\n" * 40_000)
    world.extractor.version = 2
    world.net.pages.clear()
    flip(world.files(ref)["text.md"], at=700_000)
    report = world.workspace.verify(repair=True)
    assert report.damaged == () and report.lost_for_good == world.workspace.verify().lost_for_good != ()
    assert citations.check(footnote(ref), world.workspace.resolver).ok


@pytest.mark.parametrize("at", [0, 40, 300, -19, -12, -2])
def test_a_wrong_byte_of_a_description_is_found_by_its_checksum(world: World, at: int) -> None:
    ref = world.store(URL, BODY)
    file = world.files(ref)["meta.json"]
    before = file.read_bytes()
    flip(file, at % len(before))
    report = world.workspace.verify(repair=True)
    assert report.ok and "one byte was wrong" in report.repaired[0] and file.read_bytes() == before
    assert world.workspace.verify().ok


@given(st.binary(min_size=1, max_size=400), st.integers(0, 2_000), st.integers(1, 255))
@example(b"\x00z", 29, 32)  # a capital in the seal
@settings(max_examples=60, deadline=None)
def test_any_wrong_byte_of_a_sealed_object_is_mended(text: bytes, at: int, error: int) -> None:
    data = seal(b'"text":' + dumps(text.decode("latin-1"))) + b"\n"
    wrong = bytearray(data)
    wrong[at % (len(data) - 1)] ^= error
    assert next(one_byte_off(bytes(wrong))) == data


@pytest.mark.parametrize("how", ["missing", "empty", "rubbish", "cut"])
@pytest.mark.parametrize("body", [BODY, b"The bridge is long.\n" * 40])
def test_a_description_is_made_anew_from_what_lies_beside_it(world: World, body: bytes, how: str) -> None:
    ref = world.store(URL, body)
    file = world.files(ref)["meta.json"]
    whole, before = file.read_bytes(), world.workspace.read(ref).text
    file.write_bytes({"empty": b"", "rubbish": b"\x00" * 900, "cut": whole[:200]}.get(how, b""))
    if how == "missing":
        file.unlink()
    world.net.pages.clear()
    report = world.workspace.verify(repair=True)
    assert report.ok and "made anew" in report.repaired[0]
    assert world.workspace.verify().ok
    made = world.reopened()
    assert made.read(ref).text == before and made.read(f"{ref}/raw").data == body
    made.close()


def test_a_folder_of_which_nothing_tells_what_it_is_is_set_aside_and_told_once(world: World) -> None:
    ref = world.store(URL, BODY)
    world.net.pages.clear()
    world.files(ref)["meta.json"].write_bytes(b"")
    flip(world.files(ref)["raw.html"])
    report = world.workspace.verify(repair=True)
    assert ": moved to lost+found/" in report.repaired[0]
    again = world.workspace.verify()
    assert again.damaged == again.lost == () and [line.partition(" ")[0] for line in again.lost_for_good] == [ref]
    assert world.workspace.ls() == []


def test_what_is_gone_as_a_whole_comes_back_from_its_source(world: World) -> None:
    ref = world.store(URL, BODY)
    shutil.rmtree(world.files(ref)["text.md"].parent)
    assert [line.partition(" ")[0] for line in world.workspace.verify().lost] == [ref]
    report = world.workspace.verify(repair=True)
    assert report.ok and "stored again" in report.repaired[0] and world.workspace.verify().ok


def test_a_file_that_is_added_again_mends_what_was_lost_for_good(world: World, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_bytes(BODY)
    ref = world.workspace.add(str(tmp_path / "page.html")).ref
    flip(world.files(ref)["raw.html"])
    assert world.workspace.verify(repair=True).lost_for_good
    assert world.workspace.add(str(tmp_path / "page.html")).ref == ref
    assert world.workspace.verify().ok


def test_a_ref_in_a_note_that_leads_nowhere_is_told_and_is_no_damage(world: World) -> None:
    world.workspace.note("See obs:cccccccccccc@0-5.", "Wrong")
    ref = world.store(URL, BODY)
    path = world.workspace.note(f"See {ref}.", "Right")
    report = world.workspace.verify()
    assert report.ok and len(report.dangling) == 1 and report.dangling[0].startswith("obs:cccccccccccc in notes/")
    shutil.rmtree(world.files(ref)["text.md"].parent)
    (line,) = world.workspace.verify().lost
    assert line.startswith(ref) and "and 1 more place" in line and path.startswith("notes/")


def test_repair_sets_half_a_last_line_aside(tmp_path: Path) -> None:
    """Promise 4: what a kill left of a line was never acknowledged: it goes to lost+found/, and nothing is lost."""
    with Workspace.create(tmp_path / "w") as workspace:
        workspace.add_bytes(b"kept " * 100, "paste")
    (transcript,) = (tmp_path / "w/sessions").glob("*/transcript.jsonl")
    whole = transcript.read_bytes()
    transcript.write_bytes(whole + whole[:70])
    with Workspace.open(tmp_path / "w") as workspace:
        assert not workspace.verify().ok
        report = workspace.verify(repair=True)
        assert report.ok and report.lost_for_good == () and "lost+found" in report.repaired[0]
        assert workspace.verify().ok
    assert transcript.read_bytes() == whole
    assert [path.read_bytes() for path in (tmp_path / "w/lost+found").glob("*.torn*")] == [whole[:70]]
