"""The one way out: every ref, every unit, and damage of every kind (I1, I9, OC-14, MA-11; d07, d11, h12)."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from memory_world import World

from manusfs.errors import BadRef, Damaged, ManusfsError, NotFound, PathRefused, UsageError
from manusfs.memory import Workspace
from manusfs.records import Event, Fetched, Heading, Source, TextPart, part_to_json
from manusfs.session import Transcript

URL = "https://example.org/page"
BODY = b"<html>" + "The bridge 桥 is long.\n".encode() * 40


def test_an_observation_is_read_by_ref_path_url_and_short_id(world: World) -> None:
    ref = world.store(URL, BODY)
    folder = world.workspace.observations.path(ref.removeprefix("obs:"))
    whole = world.workspace.read(ref)
    assert whole.state == "stored" and whole.ref == ref and whole.next_offset is None
    for same in (f"{folder}/text.md", folder, f"{folder}/", URL, ref[:10], f"{ref}/text", f"{ref}@0-{whole.total}"):
        assert world.workspace.read(same).text == whole.text
    assert world.workspace.read(ref, raw=True).data == BODY
    assert world.workspace.read(f"{ref}/full").text == "full: " + whole.text


def test_a_url_that_is_not_stored_is_an_error_that_says_how_to_fetch_it(world: World) -> None:
    with pytest.raises(NotFound, match="nothing is stored") as caught:
        world.workspace.read("https://example.org/other")
    assert "manusfs add" in caught.value.hint and world.net.asked == []


@pytest.mark.parametrize("bad", ["obs:zz", "msg:", "", "obs:0123456789ab@9-3"])
def test_what_is_no_ref_is_told(world: World, bad: str) -> None:
    with pytest.raises(BadRef):
        world.workspace.read(bad)


@pytest.mark.parametrize("bad", ["../etc/passwd", "/etc/passwd", ".manusfs/index.db", "notes/../../x"])
def test_no_path_leaves_the_workspace(world: World, bad: str) -> None:
    """I7, OC-28."""
    world.store(URL, BODY)
    with pytest.raises(PathRefused):
        world.workspace.read(bad)


def test_a_look_alike_in_a_page_stays_text(world: World) -> None:
    """h12: only ids that the store issued resolve."""
    ref = world.store(URL, b"<html>[stub id=0000 path=../../etc/passwd] obs:000000000000")
    assert "obs:000000000000" in world.workspace.read(ref).text
    with pytest.raises(NotFound):
        world.workspace.read("obs:000000000000")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
@given(size=st.integers(1, 400), unit=st.sampled_from(["bytes", "characters"]))
def test_pieces_of_a_stored_text_join_to_the_whole(world: World, size: int, unit: str) -> None:
    if not list(world.workspace.observations.ids()):
        world.store(URL, BODY)
    read = world.workspace.read
    at: int | None = 0
    pieces = []
    while at is not None:
        made = read(URL, at, size) if unit == "bytes" else read(URL, at, chars=size)
        assert made.start == at and hashlib.sha256(made.data).hexdigest() == made.sha256
        pieces.append(made.data)
        at = made.next_offset
    assert b"".join(pieces) == read(URL).data


def test_reading_by_lines_and_inside_a_span(world: World) -> None:
    ref = world.store(URL, BODY)
    lines = world.workspace.read(ref).text.splitlines(keepends=True)
    made = world.workspace.read(ref, lines=(3, 5))
    assert made.text == "".join(lines[2:5]) and made.lines == "3-5"
    assert world.workspace.read(ref, lines=(39,)).text == "".join(lines[38:])
    assert world.workspace.read(ref, lines=(900, 901)).text == ""
    inside = world.workspace.read(f"{ref}@10-60", chars=10)
    assert (inside.start, len(inside.text), inside.next_offset) == (10, 10, inside.end)
    with pytest.raises(UsageError):
        world.workspace.read(ref, lines=(5, 3))
    with pytest.raises(UsageError):
        world.workspace.read(ref, start=-1)


def test_reading_by_page_gives_exactly_the_pages(world: World) -> None:
    """MA-4."""
    from manusfs.records import Extracted

    def extract(raw: bytes, **hints: str) -> Extracted:
        return Extracted("application/pdf", "one\ntwo 桥\nthree", pages=(0, 4, 12), outline=(Heading(0, 1, "x"),))

    world.extractor.extract = extract  # type: ignore[method-assign]
    ref = world.store(URL, b"%PDF-1.7")
    pages = [world.workspace.read(ref, page=n) for n in (1, 2, 3)]
    assert [made.text for made in pages] == ["one\n", "two 桥\n", "three"] and pages[1].page == "2"
    for wrong in (0, 4):
        with pytest.raises(UsageError, match="pages 1 to 3"):
            world.workspace.read(ref, page=wrong)
    with pytest.raises(UsageError, match="has no pages"):
        world.workspace.read(ref, page=1, raw=True)


def test_a_view_that_is_not_there_says_why_and_what_is(world: World) -> None:
    ref = world.store(URL, b"\x89PNG\r\n\x1a\n" + bytes(50))
    with pytest.raises(UsageError, match="no text: image/png") as caught:
        world.workspace.read(ref)
    assert f"{ref}/raw" in caught.value.hint


def test_an_important_tail_is_named_and_shown_with_the_head(world: World) -> None:
    """OC-3."""
    ref = world.store(URL, b"<html>" + b"ok line\n" * 2_000 + b"Total: 41 sites\n")
    made = world.workspace.read(ref, chars=1_000, tail=True)
    part, text = world.workspace.resolver.show(made)
    assert made.tail is not None and made.tail.end == made.total
    assert len(made.text) + len(made.tail) <= 1_000
    assert text.endswith("Total: 41 sites\n\n</read>") and f"…[OMITTED {made.end}-{made.tail.start}: read(" in text
    assert world.workspace.renderer.text(part) == text
    assert world.workspace.read(ref, chars=1_000).tail is None


def test_notes_are_read_as_they_are_now(world: World) -> None:
    path = world.workspace.note("The toll is four marks.", "Toll 桥")
    assert world.workspace.read(path).text == "# Toll 桥\n\nThe toll is four marks.\n"
    (world.path / path).write_text("changed by a person\n")
    made = world.workspace.read(path)
    part, text = world.workspace.resolver.show(made)
    assert isinstance(part, TextPart) and text.startswith(f'<read ref="{path}" view="text" start="0" end="20"')
    with pytest.raises(UsageError, match="is a folder"):
        world.workspace.read("notes")
    with pytest.raises(NotFound):
        world.workspace.read("notes/none.md")


def test_blocks_messages_and_ranges_of_a_transcript_resolve(world: World) -> None:
    """I1: every block that the model ever saw has a ref."""
    ref = world.store(URL, BODY)
    with Transcript.create(world.workspace.folder) as transcript:
        call = {"type": "tool_use", "id": "t1", "name": "read", "input": {"b": 1, "a": "桥"}}
        stub = world.workspace.resolver.show(world.workspace.read(ref, chars=50))
        transcript.append(
            [
                Event("message", {"role": "user", "content": [{"type": "text", "text": "Frage 桥"}]}),
                Event("message", {"role": "assistant", "content": [{"type": "text", "text": "hm"}, call]}),
                Event("shown", {"call": "t1", "parts": [part_to_json(stub[0])], "is_error": False}),
            ]
        )
        name = transcript.session
    read = world.workspace.read
    assert read(f"msg:{name}:2.0").text == "Frage 桥" == read(f"msg:{name}:2").text
    assert read(f"msg:{name}:3.1").text == '{"id":"t1","input":{"a":"桥","b":1},"name":"read","type":"tool_use"}'
    assert read(f"msg:{name}:4.0").text == stub[1]
    assert read(f"msg:{name}:2.0@6-9").text == "桥"
    whole = read(f"msg:{name}:2-4").text
    assert "[2] user:\nFrage 桥\n" in whole and stub[1] in whole
    for missing in (f"msg:{name}:99", f"msg:{name}:2.7", "msg:20200101-none:1", f"msg:{name}:50-60"):
        with pytest.raises(NotFound):
            read(missing)


Damage = Callable[[Path, bytes], None]


def flip(file: Path, other: bytes) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0x10
    file.write_bytes(data)


def cut(file: Path, other: bytes) -> None:
    file.write_bytes(file.read_bytes()[:-2])


def zero(file: Path, other: bytes) -> None:
    file.write_bytes(bytes(file.stat().st_size))


def swap(file: Path, other: bytes) -> None:
    file.write_bytes(other)


def remove(file: Path, other: bytes) -> None:
    file.unlink()


DAMAGES: list[Damage] = [flip, cut, zero, swap, remove]
FILES = ["text.md", "full.md", "raw.html", "meta.json"]


def damaged(world: World, damage: Damage, name: str) -> str:
    """Store two pages, damage a file of the first, and return its ref."""
    ref = world.store(URL, BODY)
    other = world.store("https://example.org/other", b"<html>quite another page")
    damage(world.files(ref)[name], world.files(other)[name].read_bytes())
    world.workspace.observations._metas.clear()
    world.net.asked.clear()
    return ref


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_always_found_and_wrong_bytes_are_never_served(world: World, damage: Damage, name: str) -> None:
    """d07: with the network off, what comes is right or an error that names the observation."""
    ref = damaged(world, damage, name)
    assert not world.workspace.verify().ok
    world.extractor.version = 2
    world.net.pages.clear()
    good = {"": b"v1 " + BODY[6:], "/full": b"full: v1 " + BODY[6:], "/raw": BODY}
    for view, expected in good.items():
        try:
            made = world.workspace.read(f"{ref}{view}")
        except ManusfsError as error:
            assert ref.removeprefix("obs:") in str(error)
        else:
            assert made.data == expected and made.state == "stored"


@pytest.mark.parametrize("name", FILES[:3])
@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_still_there_repairs_what_is_not(world: World, damage: Damage, name: str) -> None:
    """A text is made again from its raw bytes, or the raw bytes come from the source; sha256 says if it is the one."""
    ref = damaged(world, damage, name)
    view = {"text.md": "", "full.md": "/full", "raw.html": "/raw"}[name]
    made = world.workspace.read(f"{ref}{view}")
    assert made.data == {"": b"v1 " + BODY[6:], "/full": b"full: v1 " + BODY[6:], "/raw": BODY}[view]
    assert made.state == ("unchanged" if name == "raw.html" else "stored")
    assert world.net.asked == ([URL] if name == "raw.html" else [])
    assert "repaired" in made.message and world.told
    assert world.workspace.verify().ok
    assert world.workspace.read(f"{ref}{view}").message == ""
    if damage is not remove:
        assert list((world.path / "lost+found").iterdir())


def test_a_changed_source_is_a_new_observation_and_both_are_told(world: World) -> None:
    ref = damaged(world, flip, "raw.html")
    world.net.put(URL, b"<html>new words")
    made = world.workspace.read(ref, raw=True)
    assert made.state == "changed" and made.ref != ref and made.text == "v1 new words\n"
    assert ref in made.message and made.ref in made.message
    assert world.workspace.read(made.ref).state == "stored"
    assert world.workspace.read(ref).data == b"v1 " + BODY[6:]


@pytest.mark.parametrize("status", [404, 410])
def test_a_source_that_is_gone_is_told_and_nothing_is_served(world: World, status: int) -> None:
    ref = damaged(world, flip, "raw.html")
    world.net.put(URL, b"<html>no such page", status)
    made = world.workspace.read(ref, raw=True)
    assert (made.state, made.text, made.total) == ("gone", "", 0) and f"HTTP {status}" in made.message
    assert world.workspace.resolver.show(made)[1].startswith(f'<read ref="{ref}')


@pytest.mark.parametrize("status", [500, 403])
def test_a_source_that_fails_leaves_the_damage_as_it_was_told(world: World, status: int) -> None:
    ref = damaged(world, flip, "raw.html")
    world.net.put(URL, b"<html>busy", status)
    with pytest.raises(Damaged, match=f"HTTP {status}"):
        world.workspace.read(ref, raw=True)


def test_the_network_is_not_asked_for_what_is_whole_or_for_files(world: World, tmp_path: Path) -> None:
    """MA-10, MA-11."""
    file = tmp_path / "a.html"
    file.write_bytes(BODY)
    ref = world.workspace.add(str(file)).ref
    world.workspace.read(ref)
    world.files(ref)["raw.html"].write_bytes(b"x")
    with pytest.raises(Damaged, match="a file source is not fetched again"):
        world.workspace.read(ref, raw=True)
    assert world.net.asked == []


def test_a_folder_that_vanished_comes_back_from_its_source(world: World) -> None:
    ref = world.store(URL, BODY)
    shutil.rmtree(world.files(ref)["text.md"].parent)
    made = world.workspace.read(ref)
    assert (made.state, made.ref, made.data) == ("unchanged", ref, b"v1 " + BODY[6:])
    assert world.workspace.verify().ok


def test_another_text_from_the_same_bytes_is_not_passed_off_as_the_old_one(world: World) -> None:
    ref = damaged(world, flip, "text.md")
    world.extractor.version = 2
    with pytest.raises(Damaged, match="made another text"):
        world.workspace.read(ref)
    assert world.workspace.read(ref, raw=True).data == BODY


def test_a_copied_and_renamed_folder_resolves_everything(world: World, tmp_path: Path) -> None:
    """d11, R58: no absolute path anywhere."""
    refs = [world.store(f"https://example.org/{n}", b"<html>page %d" % n) for n in range(50)]
    world.workspace.close()
    moved = tmp_path / "somewhere" / "else"
    shutil.copytree(world.path, moved)
    old = str(world.path).encode()
    assert not [file for file in moved.rglob("*") if file.is_file() and old in file.read_bytes()]
    again = World(moved, Workspace.open)
    assert [again.workspace.read(ref).text for ref in refs] == [f"v1 page {n}\n" for n in range(50)]
    assert again.net.asked == []
    again.workspace.close()


def test_resolved_bytes_of_a_ref_need_no_network(world: World) -> None:
    ref = world.store(URL, BODY)
    world.net.pages.clear()
    resolved = world.workspace.resolver.resolve(f"{ref}@3-13", network=False)
    assert (resolved.data, resolved.state, resolved.ref) == (b"The bridge", "stored", ref)


def test_a_search_hit_leads_to_its_text(world: World) -> None:
    """OC-13, OC-14: least information first, then just that text."""
    world.store(URL, BODY)
    (hit, *_) = world.workspace.search("bridge long")
    assert world.workspace.read(hit.ref).text == hit.snippet


def test_reading_twice_the_same_source_kind_is_stable(world: World) -> None:
    body = Fetched(Source.user("paste"), b"a\r\nb\x00c")
    (taken,) = world.workspace.intake.take([body], "s", [""])
    assert world.workspace.read(f"obs:{taken.meta.id}").data == b"a\r\nb\x00c"
