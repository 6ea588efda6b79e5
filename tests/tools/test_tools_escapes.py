"""No tool reads or writes anything outside the workspace, or changes what is stored, whatever path it is given."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from manusfs.errors import ManusfsError, ToolError
from manusfs.memory import Workspace
from manusfs.records import Fetched, Span
from manusfs.tools import TOOLS
from manusfs.workspace.settings import Settings

SECRET = "SECRETSECRET"
CALLS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("read", "ref", {}),
    ("grep", "within", {"pattern": "SECRET"}),
    ("search", "within", {"query": SECRET}),
    ("list", "within", {"what": "notes"}),
    ("write", "path", {"content": "overwritten"}),
    ("write", "path", {"content": "overwritten", "append": True}),
    ("edit", "path", {"old": "SECRET", "new": "overwritten"}),
)
PLACES = (
    "..", "../outside/f", "notes/../../outside/f", "notes/./../../outside/f", "/etc/hostname", "{outside}/f", "~/x",
    "~root/.bashrc", "file://{outside}/f", "notes/link", "notes/dir/f", "notes/dir", "notes/hard", "notes/fifo",
    "notes/loop", "notes/loop/x", "notes/device", "notes/socket", "../w-evil/f", "w-evil/f",
    "notes\\..\\..\\outside\\f",
    "notes/%2e%2e/%2e%2e/outside/f", "notes/..%2f..%2foutside/f", "notes/\u2025/outside/f", "notes/\uff0e\uff0e/f",
    "notes/.\u200b./f", "notes/\u2024\u2024/f", "notes\u2215..\u2215..\u2215outside/f", "notes/d\u0000/../../outside/f",
    "notes/\ud800/f", "notes/a\nb", "notes//", "notes", "", ".", "./", "observations", "observations/user", "{stored}",
    "sessions/{session}/transcript.jsonl", "Sessions/{session}/transcript.jsonl", "NOTES/x", ".manusfs/index.db",
    "manusfs.toml", "AGENTS.md", "todo.md", "lost+found/x", "reports/../manusfs.toml", "notes/../observations/x",
    "obs:{id}@0-5/../../x", "msg:../../outside:1", "msg:{session}:1/../../x", "notes/" + "a/" * 70 + "f",
    "notes/" + "a" * 300, "/proc/self/environ", "/proc/self/fd/0", "/dev/stdin", "notes/.hidden", "CON", "notes/nul",
)  # fmt: skip


class PathEnv:
    """What the tools need of an agent."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.settings = Settings()
        self.session = "20261130-abcd"
        self.call = "toolu_1"
        self.window = 200_000
        self.tools = TOOLS.names()
        self.skills = None

    def window_left(self) -> int:
        return 100_000

    def fetch(self, url: str) -> Fetched:
        raise AssertionError(f"a path was fetched: {url}")

    def standing(self, ref: str, span: Span) -> str:
        return ""

    def may_change(self, place: str) -> str:
        return ""


@pytest.fixture
def env(tmp_path: Path) -> Iterator[PathEnv]:
    """A workspace beside a secret, with every kind of way to it."""
    for outside in ("outside", "w-evil"):
        (tmp_path / outside).mkdir()
        (tmp_path / outside / "f").write_text(SECRET)
    with Workspace.create(tmp_path / "w") as workspace:
        workspace.add_bytes(b"stored " * 500, "stored")
        workspace.note("A note.", "plain")
        notes = tmp_path / "w/notes"
        (notes / "link").symlink_to(tmp_path / "outside/f")
        (notes / "dir").symlink_to(tmp_path / "outside")
        (notes / "loop").symlink_to("loop")
        os.link(tmp_path / "outside/f", notes / "hard")
        os.mkfifo(notes / "fifo")
        with socket.socket(socket.AF_UNIX) as listener:
            here = Path.cwd()
            os.chdir(notes)  # a socket's path has at most 107 bytes
            listener.bind("socket")
            os.chdir(here)
        try:
            os.mknod(notes / "device", 0o600 | 0o020000, os.makedev(1, 5))
        except PermissionError:
            pass
        yield PathEnv(workspace)


def stored(root: Path) -> dict[str, str]:
    """Return the hash of every file that no tool may change."""
    kept = [path for place in ("observations", "sessions") for path in (root / "w" / place).rglob("*")]
    kept += [root / "w/manusfs.toml", root / "w/AGENTS.md", root / "outside/f", root / "w-evil/f"]
    return {str(path): sha256(path.read_bytes()).hexdigest() for path in kept if path.is_file()}


def use(env: PathEnv, name: str, arguments: dict[str, Any]) -> str:
    """Return what the tool shows, or how it refuses."""
    tool = TOOLS.load(name)
    try:
        shown = tool.run(env, **tool.arguments(arguments))
    except (ToolError, ManusfsError) as error:
        return f"refused: {error}"
    return "\n".join(getattr(part, "text", "") or env.workspace.renderer.text(part) for part in shown.parts)


@pytest.mark.parametrize("place", PLACES)
def test_no_path_leads_out_or_changes_what_is_stored(env: PathEnv, tmp_path: Path, place: str) -> None:
    """I7, promise 6: every tool that takes a path, every kind of path; a pipe blocks nobody."""
    root = env.workspace.folder.path.parent
    id = next(env.workspace.observations.ids())
    names = {
        "{outside}": str(root / "outside"),
        "{stored}": f"{env.workspace.observations.path(id)}/text.md",
        "{session}": next(path.name for path in (root / "w/sessions").iterdir()),
        "{id}": id,
    }
    for name, value in names.items():
        place = place.replace(name, value)
    before, began = stored(root), time.monotonic()
    for name, argument, more in CALLS:
        told = use(env, name, {argument: place, **more})
        asked = told.replace(SECRET, "", 1) if f'query="{SECRET}"' in told or f'pattern="{SECRET}"' in told else told
        assert SECRET not in asked and "root:" not in told, (name, told[:200])
    assert stored(root) == before
    assert time.monotonic() - began < 20


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.sampled_from(
            ["..", ".", "notes", "dir", "link", "outside", "f", "w", "~", "%2e%2e", "\uff0e\uff0e", "\\", ""]
        )
        | st.text(max_size=6),
        min_size=1,
        max_size=7,
    ).map("/".join)
)
def test_no_made_up_path_leads_out(env: PathEnv, place: str) -> None:
    """I7: any mixture of components."""
    root = env.workspace.folder.path.parent
    before = stored(root)
    for name, argument, more in CALLS:
        told = use(env, name, {argument: place, **more})
        assert told.count(SECRET) <= (name == "search"), (name, place)
    assert stored(root) == before


_SWAP = """
    import os, sys
    inside, real, outside = sys.argv[1:]
    print("ready", flush=True)
    while True:
        os.rename(inside, real)
        os.symlink(outside, inside)
        os.unlink(inside)
        os.rename(real, inside)
"""


@pytest.mark.slow
def test_five_seconds_of_a_folder_that_becomes_a_link_and_back(tmp_path: Path) -> None:
    """F8, promise 6: a process swaps the folder as fast as it can while every tool works in it; nothing gets out."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/f.md").write_text(SECRET)
    with Workspace.create(tmp_path / "w") as workspace:
        place = tmp_path / "w/notes/race"
        place.mkdir()
        (place / "f.md").write_text("inside")
        command = [sys.executable, "-c", textwrap.dedent(_SWAP), str(place), f"{place}.real", str(tmp_path / "outside")]
        swapper = subprocess.Popen(command, stdout=subprocess.PIPE)
        try:
            assert swapper.stdout is not None and swapper.stdout.readline() == b"ready\n"
            env, until, done = PathEnv(workspace), time.monotonic() + 5, dict.fromkeys(("worked", "refused"), 0)
            while time.monotonic() < until:
                for name, arguments in (
                    ("read", {"ref": "notes/race/f.md"}),
                    ("write", {"path": "notes/race/new.md", "content": "written inside"}),
                    ("write", {"path": "notes/race/f.md", "content": "inside", "append": True}),
                    ("edit", {"path": "notes/race/f.md", "old": "SECRET", "new": "x"}),
                    ("grep", {"pattern": "CRETSECRE", "within": "notes/race"}),
                ):
                    told = use(env, name, arguments)
                    assert SECRET not in told, (name, told)
                    done["refused" if told.startswith("refused") else "worked"] += 1
        finally:
            swapper.kill()
            swapper.communicate()
    assert (tmp_path / "outside/f.md").read_text() == SECRET and len(list((tmp_path / "outside").iterdir())) == 1
    assert done["worked"] > 20 and sum(done.values()) > 50, done


def test_a_workspace_that_is_a_link_itself_and_links_above_it_are_the_users_own_matter(tmp_path: Path) -> None:
    """Only what lies below the workspace is judged: a home behind a link must work."""
    Workspace.create(tmp_path / "real").close()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with Workspace.open(tmp_path / "link") as workspace:
        assert workspace.note("x", "y").startswith("notes/")
    shutil.rmtree(tmp_path / "real")
