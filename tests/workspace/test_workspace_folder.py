"""Making, opening and finding a workspace; the template in a checkout and in a wheel."""

from __future__ import annotations

import shutil
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from disks.faulty import KILLS, FaultyDisk, Killed

from manusfs.errors import ConfigError, NewerFormat, NoWorkspace
from manusfs.workspace import MARKER, Folder, find, folder, template_dir

PROJECT = Path(__file__).parents[2]


def test_a_new_workspace_has_what_the_template_has(tmp_path: Path) -> None:
    with Folder.create(tmp_path / "deep/er/notes") as made:
        files = {path.relative_to(template_dir()).as_posix() for path in template_dir().rglob("*") if path.is_file()}
        assert set(made.root.walk()) == {name for name in files if not name.endswith(".gitkeep")}
        assert made.root.is_dir("notes/findings")
    assert stat.S_IMODE((tmp_path / "deep/er/notes").stat().st_mode) == 0o700
    with Folder.open(tmp_path / "deep/er/notes"):
        pass


def test_files_that_are_there_already_are_kept(tmp_path: Path) -> None:
    (tmp_path / "todo.md").write_text("mine")
    Folder.create(tmp_path).close()
    assert (tmp_path / "todo.md").read_text() == "mine"
    assert (tmp_path / "AGENTS.md").exists()


def test_a_workspace_is_not_made_twice(tmp_path: Path) -> None:
    Folder.create(tmp_path).close()
    (tmp_path / "todo.md").write_text("mine")
    with pytest.raises(ConfigError, match="there is a workspace in"):
        Folder.create(tmp_path)
    assert (tmp_path / "todo.md").read_text() == "mine"


def test_a_file_in_the_way_is_told(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("")
    with pytest.raises(ConfigError, match="is a file"):
        Folder.create(tmp_path / "x")


@pytest.mark.parametrize("mode", KILLS)
def test_a_half_made_workspace_is_none_and_can_be_made_again(tmp_path: Path, mode: str) -> None:
    """Kill at every operation: `manusfs.toml` comes last, so that what has it is whole."""
    count = FaultyDisk()
    Folder.create(tmp_path / "whole", count).close()
    with Folder.open(tmp_path / "whole") as whole:
        names = list(whole.root.walk())
    for at in range(1, count.count + 1):
        path = tmp_path / "w"
        shutil.rmtree(path, ignore_errors=True)
        try:
            Folder.create(path, FaultyDisk(at, mode)).close()
        except Killed:
            pass
        if not (path / MARKER).exists():
            with pytest.raises(NoWorkspace):
                Folder.open(path)
            Folder.create(path, FaultyDisk()).close()
        with Folder.open(path) as opened:
            assert [name for name in opened.root.walk() if not name.startswith(".manusfs/")] == names


def test_opening_what_is_none_names_the_way_out(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(NoWorkspace) as caught:
            Folder.open(path)
        assert caught.value.hint.startswith("manusfs init")
        assert caught.value.exit_code == 78


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("format = 2\n", NewerFormat),
        ("format = 1000000\n", NewerFormat),
        ("", ConfigError),
        ("format = true\n", ConfigError),
        ("format = 0\n", ConfigError),
        ("format = '1'\n", ConfigError),
        ("format = \n", ConfigError),
    ],
)
def test_a_format_that_is_not_ours_is_refused(tmp_path: Path, text: str, error: type[ConfigError]) -> None:
    (tmp_path / MARKER).write_text(text)
    with pytest.raises(error):
        Folder.open(tmp_path)


def test_opening_and_reading_write_nothing(tmp_path: Path) -> None:
    Folder.create(tmp_path).close()
    shutil.rmtree(tmp_path / ".manusfs")
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    for path in tmp_path.rglob("*"):
        path.chmod(0o500 if path.is_dir() else 0o400)
    tmp_path.chmod(0o500)
    try:
        with Folder.open(tmp_path, FaultyDisk(1, "before")) as opened:
            assert opened.root.read("todo.md") is not None
            assert list(opened.root.walk())
        assert sorted(str(path) for path in tmp_path.rglob("*")) == before
    finally:
        tmp_path.chmod(0o700)
        for path in sorted(tmp_path.rglob("*")):
            path.chmod(0o700)


def test_a_workspace_is_found_as_git_finds_a_repository(tmp_path: Path) -> None:
    (tmp_path / "ws/notes/deep").mkdir(parents=True)
    (tmp_path / "ws" / MARKER).write_text("format = 1\n")
    assert find(tmp_path / "ws/notes/deep") == tmp_path / "ws"
    assert find(tmp_path / "ws") == tmp_path / "ws"
    for name in ("env", "flag"):
        (tmp_path / name).mkdir()
        (tmp_path / name / MARKER).write_text("format = 1\n")
    assert find(tmp_path / "ws", None, tmp_path / "env") == tmp_path / "env"
    assert find(tmp_path / "ws", tmp_path / "flag", tmp_path / "env") == tmp_path / "flag"
    with pytest.raises(NoWorkspace, match="nowhere"):
        find(tmp_path / "ws", tmp_path / "nowhere", tmp_path / "env")
    assert find(tmp_path / "ws", None, "") == tmp_path / "ws"
    with pytest.raises(NoWorkspace, match="or above it"):
        find(tmp_path)


def test_the_template_is_found_in_a_checkout() -> None:
    assert template_dir() == PROJECT / "workspace_template"


def test_the_template_is_found_in_an_installed_package(tmp_path: Path) -> None:
    shutil.copytree(PROJECT / "workspace_template", tmp_path / "site/manusfs/_template")
    assert folder._template_of(tmp_path / "site/manusfs") == tmp_path / "site/manusfs/_template"
    with pytest.raises(ConfigError, match="template is missing"):
        folder._template_of(tmp_path / "elsewhere/manusfs")


def test_the_wheel_holds_the_template(tmp_path: Path) -> None:
    builder = "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"
    done = subprocess.run([sys.executable, "-c", builder, str(tmp_path)], cwd=PROJECT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        wheel.extractall(tmp_path / "site")
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from manusfs.workspace import Folder, template_dir;"
        "print(template_dir()); Folder.create(sys.argv[2]).close()"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code, str(tmp_path / "site"), str(tmp_path / "w")], capture_output=True, text=True
    )
    assert done.stdout.strip() == str(tmp_path / "site/manusfs/_template"), done.stderr
    assert (tmp_path / "w" / MARKER).exists()


def test_what_is_set_aside_is_kept_and_never_overwrites(tmp_path: Path) -> None:
    """Section 2.12."""
    with Folder.create(tmp_path / "w") as made:
        paths = []
        for text in (b"1", b"2"):
            made.root.write_atomic("notes/x.md", text)
            paths.append(made.set_aside("notes/x.md"))
        assert [made.root.read(path) for path in paths] == [b"1", b"2"]
        assert not made.root.exists("notes/x.md")
        (tmp_path / "w/notes/link").symlink_to("/etc")
        made.set_aside("notes/link")
        assert Path("/etc").is_dir()
        assert not (tmp_path / "w/notes/link").is_symlink()
