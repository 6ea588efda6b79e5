"""Files that an editor, version control, a backup or a crash had in its hands: what proves itself is set right."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_world import World

from manusfs.memory import Workspace
from manusfs.memory.garbage import find
from manusfs.memory.mend_bytes import as_it_was, plain_ends
from manusfs.session import Transcript, sessions
from manusfs.store.observations_files import file_meta

URL = "https://example.org/a"
BODY = b"<html>" + b"The bridge is long.\nIt is old.\n" * 40

CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "line ends": lambda data: data.replace(b"\n", b"\r\n"),
    "a byte order mark": lambda data: b"\xef\xbb\xbf" + data,
    "both": lambda data: b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n"),
    "zeros behind it": lambda data: data + bytes(4096 - len(data) % 4096),
    "no newline at its end": lambda data: data.rstrip(b"\n"),
    "a newline more": lambda data: data + b"\n",
    "twice": lambda data: data * 2,
}


def let_go(world: World) -> None:
    """End the session that `add` writes to, which holds the workspace against a repair by another opening of it."""
    world.workspace._end_intake_session()
    world.net.pages.clear()


def files(path: Path) -> list[Path]:
    return [file for file in sorted(path.rglob("*")) if file.is_file() and ".manusfs" not in file.parts]


@given(st.binary(max_size=300), st.sampled_from(sorted(CHANGES)))
def test_what_comes_back_is_what_was_or_nothing(data: bytes, how: str) -> None:
    """Promise 4: never wrong bytes."""
    made = as_it_was(CHANGES[how](data), file_meta("text.md", data))
    assert made is None or made == data
    assert how in ("line ends", "both", "no newline at its end", "a byte order mark") or made == data


def test_other_bytes_are_never_made_right() -> None:
    wanted = file_meta("text.md", b"one\n")
    assert as_it_was(b"two\n", wanted) is None and as_it_was(b"", wanted) is None
    assert plain_ends(b'\xef\xbb\xbf{"a":1,\r\n"b":2}\r\n\0\0') == b'{"a":1,\n"b":2}\n'


@pytest.mark.parametrize("how", sorted(CHANGES))
def test_a_whole_workspace_that_was_changed_at_its_ends_is_whole_after_a_repair(world: World, how: str) -> None:
    """Promise 4 and I1: every file that manusfs wrote, with the network off; nothing is deleted."""
    refs = [world.store(URL, BODY), world.workspace.add_bytes(b"pasted\nby hand\n" * 200, "paste").ref]
    world.workspace.note(f"see {refs[0]}", "a")
    before = {ref: world.workspace.read(ref).data for ref in refs}
    lines = {info.session: _events(world, info.session) for info in sessions(world.workspace.folder)}
    for place in ("observations", "sessions"):
        for file in files(world.path / place):
            file.write_bytes(CHANGES[how](file.read_bytes()))
    spoiled = {sha256(file.read_bytes()).hexdigest() for file in files(world.path)}
    let_go(world)
    workspace = world.reopened()
    report = workspace.verify(repair=True)
    assert report.ok, (report.damaged, report.lost, report.lost_for_good)
    assert {ref: workspace.read(ref).data for ref in refs} == before
    assert {session: _events(world, session) for session in lines} == lines
    assert workspace.verify(repair=True).repaired == ()
    left = b"".join(file.read_bytes() for file in files(world.path))
    kept = {sha256(file.read_bytes()).hexdigest() for file in files(world.path)}
    assert all(digest in kept for digest in spoiled) or how in ("zeros behind it", "no newline at its end")
    assert b"pasted" in left
    workspace.close()


def _events(world: World, session: str) -> object:
    with Transcript.open(world.workspace.folder, session) as transcript:
        return transcript.events


def test_a_backup_by_hard_links_does_not_make_a_workspace_unreadable(world: World) -> None:
    """Promise 13: bytes that prove themselves are served, and get a name of their own."""
    refs = [world.store(URL, BODY), world.workspace.add_bytes(b"pasted " * 200, "paste").ref]
    before = {ref: world.workspace.read(ref).data for ref in refs}
    for place in ("observations", "sessions", "notes", "reports"):
        shutil.copytree(world.path / place, world.path.parent / "backup" / place, copy_function=os.link)
    let_go(world)
    workspace = world.reopened()
    assert not workspace.verify().ok
    assert {ref: workspace.read(ref).data for ref in refs} == before
    assert workspace.verify(repair=True).ok
    assert all(
        file.stat().st_nlink == 1 for place in ("observations", "sessions") for file in files(world.path / place)
    )
    assert find(workspace.folder, workspace.observations).uncertain == ()
    workspace.close()


def test_a_name_of_a_file_outside_is_never_taken_in(world: World) -> None:
    """I7: it does not prove itself."""
    text = world.files(world.store(URL, BODY))["text.md"]
    (world.path.parent / "secret").write_text("a secret of somebody else")
    text.unlink()
    text.hardlink_to(world.path.parent / "secret")
    let_go(world)
    world.workspace.verify(repair=True)
    assert not any(
        b"secret" in file.read_bytes()
        for file in files(world.path)
        if file.stat().st_nlink == 1 and file.suffix != ".json"
    )


def test_observations_that_changed_names_are_put_back(world: World) -> None:
    one, two = world.store(URL, BODY), world.store("https://example.org/b", BODY + b"more")
    first, second = (world.path / world.workspace.observations.path(ref[4:]) for ref in (one, two))
    before = {ref: world.workspace.read(ref).data for ref in (one, two)}
    first.rename(first.with_name("x"))
    second.rename(first)
    first.with_name("x").rename(second)
    let_go(world)
    workspace = world.reopened()
    assert workspace.verify(repair=True).ok
    assert {ref: workspace.read(ref).data for ref in (one, two)} == before
    workspace.close()


def test_descriptions_that_changed_places_are_made_anew(world: World) -> None:
    metas = [world.files(world.store(f"https://example.org/{n}", BODY + n.encode()))["meta.json"] for n in "ab"]
    one, two = (meta.read_bytes() for meta in metas)
    metas[0].write_bytes(two)
    metas[1].write_bytes(one)
    let_go(world)
    assert world.workspace.verify(repair=True).ok


def test_of_two_folders_of_one_observation_the_damaged_one_is_set_aside(world: World) -> None:
    ref = world.store(URL, BODY)
    folder = world.path / world.workspace.observations.path(ref[4:])
    shutil.copytree(folder, folder.with_name(f"zz-{ref[4:]}"))
    for file in folder.iterdir():
        file.write_bytes(b"rubbish")
    let_go(world)
    workspace = world.reopened()
    report = workspace.verify(repair=True)
    assert report.ok and "it is whole in" in report.repaired[0] and workspace.read(ref).text.startswith("v1 ")
    workspace.close()


@pytest.mark.parametrize("what", ["folder", "link", "pipe"])
@pytest.mark.parametrize("name", ["meta.json", "text.md", "raw.html"])
def test_what_is_no_file_in_the_place_of_one_of_ours_is_set_aside(world: World, name: str, what: str) -> None:
    ref = world.store(URL, BODY)
    file = world.files(ref)[name]
    file.unlink()
    {"link": lambda: file.symlink_to("/etc/hostname"), "folder": file.mkdir, "pipe": lambda: os.mkfifo(file)}[what]()
    world.workspace._end_intake_session()
    workspace = world.reopened()
    assert workspace.verify(repair=True).ok and workspace.verify().ok
    assert workspace.read(ref).text.startswith("v1 ") and workspace.read(ref, raw=True).data == BODY
    assert find(workspace.folder, workspace.observations).uncertain == ()
    workspace.close()


@pytest.mark.parametrize(
    "place", ["lost+found", ".manusfs", ".manusfs/tmp", ".manusfs/cache", "lost+found/lost-for-good.json"]
)
@pytest.mark.parametrize("what", ["file", "link", "pipe"])
def test_repair_makes_way_for_the_folders_that_it_needs(tmp_path: Path, place: str, what: str) -> None:
    """Promise 4: nothing in the way of a repair keeps it from its work, and nothing is deleted or followed."""
    with Workspace.create(tmp_path / "w") as made:
        ref = made.add_bytes(b"pasted " * 200, "paste").ref
        made.search("pasted")
    way = tmp_path / "w" / place
    shutil.rmtree(way, ignore_errors=True)
    way.parent.mkdir(exist_ok=True)
    (tmp_path / "outside").mkdir()
    make = {"file": lambda: way.write_text("[" * 100_000), "link": lambda: way.symlink_to(tmp_path / "outside")}
    make.get(what, lambda: os.mkfifo(way))()
    (path,) = tmp_path.glob("w/sessions/*/transcript.jsonl")
    path.write_bytes(b"rubbish\n" + path.read_bytes() + b'{"seq":9')
    with Workspace.open(tmp_path / "w") as workspace:
        assert not workspace.verify().ok
        assert workspace.verify(repair=True).ok and workspace.verify().ok
        assert workspace.add_bytes(b"more " * 200, "more").status == "new"
        assert workspace.read(ref).data == b"pasted " * 200
    assert not any((tmp_path / "outside").iterdir())
    assert any(b"rubbish" in file.read_bytes() for file in (tmp_path / "w/lost+found").iterdir() if file.is_file())


def test_what_lies_beside_the_index_never_ends_a_command(tmp_path: Path) -> None:
    """I8: a folder in the place of the index's journal goes to lost+found."""
    with Workspace.create(tmp_path / "w") as made:
        made.add_bytes(b"a word of a bridge " * 200, "paste")
        made.search("bridge")
    for name in ("index.db-wal", "index.db-shm", "index.db-journal"):
        shutil.rmtree(tmp_path / "w/.manusfs" / name, ignore_errors=True)
        (tmp_path / "w/.manusfs" / name).unlink(missing_ok=True)
        (tmp_path / "w/.manusfs" / name).mkdir()
        with Workspace.open(tmp_path / "w") as workspace:
            assert workspace.search("bridge") and workspace.index.lasts
            assert workspace.add_bytes(name.encode() * 99, name).status == "new"


def test_a_name_that_no_path_can_have_is_no_obstacle(tmp_path: Path) -> None:
    """Promise 14: what a file names is kept, whatever the file is called."""
    with Workspace.create(tmp_path / "w") as workspace:
        for name in (b"a\nb.md", b"\xff.md", "\u200b.md".encode(), b"back\\slash.md"):
            Path(os.fsdecode(os.fsencode(tmp_path / "w/notes") + b"/" + name)).write_text("see obs:0123456789ab")
        seen = find(workspace.folder, workspace.observations)
        assert seen.uncertain == () and seen.to_json()
        Path(os.fsdecode(os.fsencode(tmp_path / "w/notes") + b"/\xfe")).symlink_to("/etc/hostname")
        (why,) = find(workspace.folder, workspace.observations).uncertain
        assert why.encode("utf-8")
