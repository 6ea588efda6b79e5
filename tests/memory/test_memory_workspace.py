"""The public face: what programs and commands call, in contracted shapes (CC-10, CC-18, MA-8, MA-9, OC-4)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from memory_world import CLOCK, World

from manusfs.errors import NotFound, NoWorkspace, Refused, UsageError
from manusfs.memory import Workspace
from manusfs.memory.sources import classify, from_bytes, read_file
from manusfs.records import observation_id, sha256_hex
from manusfs.workspace.settings import Settings

URL = "https://example.org/page"
BODY = b"<html>" + b"The bridge is long.\n" * 40


def test_add_has_the_shape_of_the_contract(world: World) -> None:
    world.net.put(URL, BODY)
    added = world.workspace.add(URL)
    meta = world.workspace.observations.meta(added.ref.removeprefix("obs:"))
    assert added.to_json() == {
        "source": URL,
        "ref": f"obs:{meta.id}",
        "kind": "web",
        "path": meta.folder,
        "url": URL,
        "title": "A page",
        "media_type": "text/html",
        "bytes": len(BODY),
        "text_bytes": len(BODY) - 3,
        "tokens": meta.tokens,
        "sha256": sha256_hex(BODY),
        "status": "new",
        "error": "",
        "note": "",
    }
    assert world.workspace.add(URL).status == "known"
    world.net.put(URL, BODY + b"more")
    assert world.workspace.add(URL).status == "changed"


def test_ls_lists_what_add_told_and_when(world: World) -> None:
    added = world.store(URL, BODY)
    (line,) = world.workspace.ls()
    listed = line.to_json()
    assert listed.pop("created") == CLOCK
    assert (listed["ref"], listed["status"]) == (added, "known")
    assert [line.to_json()["purpose"] for line in world.workspace.ls("sessions")] == ["intake"]
    path = world.workspace.note("Text.", "A finding")
    assert path in [line.to_json()["path"] for line in world.workspace.ls("notes")]
    assert world.workspace.ls("reports") == [] or all(line.to_json()["path"] for line in world.workspace.ls("reports"))
    with pytest.raises(UsageError, match="can't list 'cats'"):
        world.workspace.ls("cats")


def test_many_sources_come_in_order_and_a_bad_one_stops_no_other(world: World, tmp_path: Path) -> None:
    urls = [f"{URL}/{n}" for n in range(20)]
    for n, url in enumerate(urls):
        world.net.put(url, b"<html>page %d" % n)
    world.net.put(urls[3], b"<html>no", 404)
    del world.net.pages[urls[5]]
    given = [*urls, str(tmp_path / "none.txt"), "ftp://example.org/x"]
    added = list(world.workspace.add_all(given))
    assert [one.source for one in added] == given
    failed = {one.source: one.error for one in added if one.status == "error"}
    assert set(failed) == {urls[3], urls[5], *given[20:]}
    assert failed[urls[3]].startswith("HTTP 404 from") and added[3].ref
    assert "could not be fetched" in failed[urls[5]] and not added[5].ref
    assert world.workspace.verify().ok and len(world.workspace.ls("sessions")) == 1


def test_what_was_yielded_is_durable_and_in_the_transcript(world: World) -> None:
    for n in range(10):
        world.net.put(f"{URL}/{n}", b"<html>page %d" % n)
    results = world.workspace.add_all(f"{URL}/{n}" for n in range(10))
    first = next(results)
    other = World(world.path, Workspace.open)
    assert other.workspace.read(first.ref).text == "v1 page 0\n"
    assert first.ref.removeprefix("obs:") in next(world.path.glob("sessions/*/transcript.jsonl")).read_text()
    other.workspace.close()
    results.close()


def test_standard_input_is_a_source(world: World) -> None:
    added = world.workspace.add_bytes(b"pasted text\n")
    assert (added.kind, added.source, added.status) == ("user", "stdin", "new")
    assert world.workspace.read(added.ref).text == "pasted text\n"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("https://e.org", "url"),
        ("HTTP://E.org/x", "url"),
        ("-", "-"),
        ("a.txt", "path"),
        ("dir/b:c.txt", "path"),
        ("file:///tmp/a%20b", "path"),
        ("C:\\x", "path"),
    ],
)
def test_sources_are_told_apart(text: str, kind: str) -> None:
    assert classify(text) == kind


@pytest.mark.parametrize("text", ["", "  ", "ftp://e.org/x", "gopher://e.org"])
def test_what_can_be_no_source_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        classify(text)


def test_files_are_read_and_their_path_is_not_kept(world: World, tmp_path: Path) -> None:
    file = tmp_path / "Bericht 桥.txt"
    file.write_bytes(b"x")
    root = world.workspace.folder.root
    fetched = read_file(str(file), root, 100)
    assert (
        fetched.raw == b"x"
        and fetched.source.key.startswith("file:Bericht 桥.txt#")
        and str(tmp_path) not in str(fetched)
    )
    assert read_file(f"file://{file}", root, 100).source == fetched.source
    inside = world.path / "notes" / "mine.txt"
    inside.write_bytes(b"y")
    assert read_file(str(inside), root, 100).source.key == "file:notes/mine.txt"


def test_what_is_no_plain_file_is_refused_with_the_way_out(world: World, tmp_path: Path) -> None:
    """CC-10: a file that is too large is refused before it is read."""
    root = world.workspace.folder.root
    (tmp_path / "big").write_bytes(bytes(101))
    os.mkfifo(tmp_path / "pipe")
    for name, error, words in (
        ("none", NotFound, "no such file"),
        ("big", Refused, "has 101 bytes; the most is 100"),
        ("pipe", Refused, "no plain file"),
        ("", UsageError, "is a folder"),
    ):
        with pytest.raises(error, match=words) as caught:
            read_file(str(tmp_path / name), root, 100)
        assert caught.value.hint
    ref = world.store(URL, BODY)
    stored = world.files(ref)["text.md"]
    with pytest.raises(UsageError, match=f"it is {ref} already"):
        read_file(str(stored), root, 10_000)


def test_notes_never_overwrite(world: World) -> None:
    first = world.workspace.note("One.", "The same title!")
    assert world.workspace.note("One.", "The same title!") == first
    second = world.workspace.note("Two.", "The same title!")
    assert second == "notes/findings/the-same-title-2.md"
    assert (world.path / first).read_text() == "# The same title!\n\nOne.\n"
    assert world.workspace.note("三", "桥梁", "background").startswith("notes/background/note-")
    for text, title, folder in (("", "t", "findings"), ("x", " ", "findings"), ("x", "t", "nowhere"), ("x", "t", "..")):
        with pytest.raises(UsageError):
            world.workspace.note(text, title, folder)


def test_a_folder_that_is_no_workspace_is_told(tmp_path: Path) -> None:
    with pytest.raises(NoWorkspace):
        Workspace.open(tmp_path)


def test_the_index_is_rebuilt_on_demand(world: World) -> None:
    world.store(URL, BODY)
    assert world.workspace.rebuild_index() == 1
    assert world.workspace.search("bridge")


@pytest.mark.parametrize("name", ["CON", "a/b", "..", "", "x" * 300, "日" * 200, "LPT¹", "a\nb", "é", "é", "%2e%2e%2f"])
def test_any_name_becomes_a_safe_path_and_stays_the_title(world: World, name: str) -> None:
    """t01: the slug follows from the source, the original name stays in the description."""
    (taken,) = world.workspace.intake.take([from_bytes(b"x", name or "empty")], "s", [""])
    parts = taken.meta.folder.split("/")
    assert all(0 < len(part) <= 120 and set(part) <= set("abcdefghijklmnopqrstuvwxyz0123456789._-") for part in parts)
    assert taken.meta.title == " ".join((name or "empty").split())
    assert taken.meta.id == observation_id(taken.meta.source, sha256_hex(b"x"))


def test_reading_a_stored_span_loads_nothing_heavy(world: World) -> None:
    ref = world.store(URL, BODY)
    world.workspace.close()
    code = (
        "import sys; from manusfs import Workspace; "
        f"assert Workspace.open({str(world.path)!r}).read({ref!r}, 0, 10).text; "
        "heavy = 'sqlite_utils httpx trafilatura anthropic pypdf pypdfium2 diskcache rich regex'.split(); "
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_settings_reach_the_stub(tmp_path: Path) -> None:
    world = World(tmp_path / "w", lambda path, **named: Workspace.create(path, Settings(inline_chars=5), **named))
    (taken,) = world.workspace.intake.take([from_bytes(b"123456")], "s", [""])
    assert taken.part.form == "stub"
    world.workspace.close()
