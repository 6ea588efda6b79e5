"""No path leads out of the workspace, and what is inside is reached exactly."""

from __future__ import annotations

import os
import shutil
import threading
import tracemalloc
from pathlib import Path

import pytest
from disks.faulty import ERRORS, KILLS, FaultyDisk, Killed
from hypothesis import given
from hypothesis import strategies as st

from manusfs.errors import NotFound, PathRefused, StorageError
from manusfs.workspace import Root, check_relative


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A workspace with every kind of trap, and secrets beside it."""
    for folder in ("ws/d", "outside", "ws-evil"):
        (tmp_path / folder).mkdir(parents=True)
    for secret in ("outside/f", "ws-evil/f"):
        (tmp_path / secret).write_text("SECRET")
    ws = tmp_path / "ws"
    (ws / "d/f").write_text("fine")
    (ws / "lfile").symlink_to("../outside/f")
    (ws / "ldir").symlink_to("../outside")
    (ws / "hard").hardlink_to(tmp_path / "outside/f")
    os.mkfifo(ws / "fifo")
    (ws / "loop").symlink_to("loop")
    return ws


@pytest.mark.parametrize("path", ["d/f", "d/./f", "./d//f"])
def test_a_plain_path_is_read(tree: Path, path: str) -> None:
    with Root(tree) as root:
        assert root.read(path) == b"fine"


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    "path",
    [
        "../outside/f",
        "d/../../outside/f",
        "/etc/hostname",
        "lfile",
        "ldir/f",
        "hard",
        "fifo",
        "loop",
        "../ws-evil/f",
        "d/f\0.txt",
        "~/x",
        "..",
        "",
        ".",
        "d",
        "d\\f",
        "d/f/x",
        "d/\u202ef",
        "d/\ud800",
        "d/" + "x" * 256,
        "x/" * 65 + "f",
        "é" * 3000,
    ],
)
def test_a_path_that_leaves_or_deceives_is_refused(tree: Path, path: str) -> None:
    """I7, OC-28: no link in any component, no second name of a file, no pipe that blocks, no way up."""
    with Root(tree) as root:
        with pytest.raises(PathRefused):
            root.read(path)
        with pytest.raises(PathRefused):
            os.close(root.append_to(path))


def test_a_percent_sign_stays_as_it_is(tmp_path: Path) -> None:
    with Root(tmp_path) as root:
        root.write_atomic("notes/%2e%2e", b"x")
        assert root.read("notes/%2e%2e") == b"x"
        with pytest.raises(NotFound):
            root.read("%2e%2e/x")


def test_writing_never_goes_through_a_link(tree: Path) -> None:
    """I7: a link at the place of the file is replaced, one in a folder's place is refused."""
    with Root(tree) as root:
        root.write_atomic("lfile", b"ours")
        root.write_atomic("hard", b"ours")
        with pytest.raises(PathRefused):
            root.write_atomic("ldir/f", b"ours")
        with pytest.raises(PathRefused):
            root.write_atomic("d", b"ours")
        assert root.read("lfile") == root.read("hard") == b"ours"
    assert (tree.parent / "outside/f").read_text() == "SECRET"


def test_a_temporary_folder_that_is_a_link_is_refused(tree: Path) -> None:
    """I7: a stranger's folder must not make us write elsewhere."""
    (tree / ".manusfs").symlink_to("../outside")
    with Root(tree) as root, pytest.raises(PathRefused):
        root.write_atomic("x", b"x")
    assert sorted(path.name for path in (tree.parent / "outside").iterdir()) == ["f"]


def test_listing_and_walking_leave_links_and_pipes_out(tree: Path) -> None:
    with Root(tree) as root:
        assert [(entry.name, entry.is_dir, entry.size) for entry in root.listdir()] == [("d", True, 0)]
        assert list(root.walk()) == ["d/f"]
        assert root.exists("d/f")
        assert root.is_dir("d")
        assert not any(root.exists(path) for path in ("lfile", "ldir", "ldir/f", "hard", "fifo", "nothing"))


@pytest.mark.timeout(20)
def test_a_link_swapped_in_during_the_opening_is_never_followed(tree: Path) -> None:
    """F8: while `swap` turns from folder to link and back, no read ever returns what lies outside."""
    (tree / "real").mkdir()
    (tree / "real/f").write_text("fine")
    (tree / "link").symlink_to("../outside")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            for target in ("real", "link"):
                (tree / target).rename(tree / "swap")
                (tree / "swap").rename(tree / target)

    thread = threading.Thread(target=swap)
    thread.start()
    seen = set()
    try:
        with Root(tree) as root:
            for _ in range(3000):
                try:
                    seen.add(root.read("swap/f"))
                    seen.update(root.read(path) for path in root.walk("swap"))
                except (NotFound, PathRefused):
                    continue
    finally:
        stop.set()
        thread.join()
    assert seen <= {b"fine"}


@given(st.text(max_size=40), st.text(max_size=10))
def test_what_is_accepted_never_goes_up_or_out(text: str, more: str) -> None:
    """I7: an accepted path has only plain components; joined again they are the same path."""
    for path in (text, f"{text}/{more}", f"../{text}", f"notes/{text}/../{more}"):
        try:
            parts = check_relative(path)
        except PathRefused:
            continue
        assert parts
        assert not {"", ".", ".."} & set(parts)
        assert not any("/" in part or "\0" in part for part in parts)
        assert check_relative("/".join(parts)) == parts


def test_a_span_is_cut_at_the_end_and_memory_stays_flat(tmp_path: Path) -> None:
    size = 100 << 20
    with (tmp_path / "big").open("wb") as file:
        file.truncate(size)
    with Root(tmp_path) as root:
        tracemalloc.start()
        assert root.read("big", size - 10, size + 10) == bytes(10)
        assert root.read("big", size + 5, size + 10) == b""
        assert len(root.read("big", 50 << 20, (50 << 20) + 16_000)) == 16_000
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert root.size("big") == size
    assert peak < 1 << 20


def test_folders_and_files_are_for_the_owner_only(tmp_path: Path) -> None:
    with Root(tmp_path) as root:
        root.write_atomic("a/b/f", b"x")
    assert [(tmp_path / path).stat().st_mode & 0o777 for path in ("a", "a/b", "a/b/f")] == [0o700, 0o700, 0o600]


def test_a_root_works_on_after_the_folder_was_renamed(tmp_path: Path) -> None:
    """d11: the folder is held by its descriptor, and nothing in it holds its path."""
    (tmp_path / "A").mkdir()
    with Root(tmp_path / "A") as root:
        root.write_atomic("f", b"1")
        (tmp_path / "A").rename(tmp_path / "B")
        root.write_atomic("g", b"2")
        assert root.read("f") + root.read("g") == b"12"
    assert (tmp_path / "B/g").read_bytes() == b"2"


def test_rename_refuses_a_folder_that_is_taken(tmp_path: Path) -> None:
    with Root(tmp_path) as root:
        root.write_atomic("a/f", b"1")
        root.write_atomic("b/f", b"2")
        with pytest.raises(PathRefused):
            root.rename("a", "b")
        root.rename("a/f", "c/g")
        assert list(root.walk()) == ["b/f", "c/g"]


def test_deleting_the_derived_folder_at_any_time_does_no_harm(tmp_path: Path) -> None:
    """I8: `.manusfs/` goes while the workspace is open, and the next write makes it again."""
    with Root(tmp_path) as root:
        root.write_atomic("a", b"1")
        shutil.rmtree(tmp_path / ".manusfs")
        root.write_atomic("a", b"2")
        assert root.read("a") == b"2"


def test_a_write_that_is_cut_short_leaves_the_old_file(tmp_path: Path) -> None:
    """I1: whatever operation fails or is the last one, the file is the old or the new one, whole."""
    count = FaultyDisk()
    (tmp_path / "n").mkdir()
    (tmp_path / "n/f").write_bytes(b"old")
    with Root(tmp_path, count) as root:
        root.write_atomic("n/f", b"new text")
        ends = count.count
    for mode in (*KILLS, *ERRORS):
        for at in range(1, ends + 1):
            (tmp_path / "n/f").write_bytes(b"old")
            try:
                with Root(tmp_path, FaultyDisk(at, mode)) as root:
                    root.write_atomic("n/f", b"new text")
            except (Killed, StorageError):
                pass
            assert (tmp_path / "n/f").read_bytes() in (b"old", b"new text")
    with Root(tmp_path) as root:
        assert root.staging.fd >= 0
        assert [path for path in root.walk() if path != "n/f"] == []


def test_folders_without_end_hide_nothing_else(tmp_path: Path) -> None:
    """I7, promise 12: a stranger nests folders deeper than any path may be; what is listed can be opened."""
    (tmp_path / "notes/a").mkdir(parents=True)
    (tmp_path / "notes/a/x.md").write_text("x")
    fd = os.open(tmp_path / "notes", os.O_RDONLY)
    for name in ["d" * 100] * 70:
        os.mkdir(name, dir_fd=fd)
        inner = os.open(name, os.O_RDONLY, dir_fd=fd)
        os.close(os.open("y.md", os.O_CREAT | os.O_WRONLY, dir_fd=inner))
        os.close(fd)
        fd = inner
    os.close(fd)
    with Root(tmp_path) as root:
        for place in ("", "notes", "notes/a"):
            found = list(root.walk(place))
            assert "notes/a/x.md" in found and all(root.size(path) <= 1 for path in found)
