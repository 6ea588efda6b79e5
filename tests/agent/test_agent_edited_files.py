"""Files that people edit may hold anything, be of any size: a run neither hangs nor takes their bytes into memory."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from agent_stage import agent, make_workspace, page, results

from manusfs.agent.manifest import manifest
from manusfs.errors import ConfigError, Refused
from manusfs.memory import Workspace
from manusfs.models import call

URL = "https://example.org/tower"
SPARSE = 40 << 30
FILES = ("AGENTS.md", "todo.md", "notes/findings/log.md", "reports/old.md")


def _sparse(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.truncate(SPARSE)


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_any_size_ends_no_run_and_is_told(tmp_path: Path, name: str) -> None:
    workspace = make_workspace(tmp_path / "w", {URL: page("tower")})
    _sparse(workspace.folder.path / name)
    steps = [
        [call("web_fetch", url=URL)],
        [call("read", ref=name), call("search", query="tower"), call("todo", items=["a"])],
        [
            call("write", path="notes/findings/log.md", content="x", append=True),
            call("write", path="reports/old.md", content="x"),
        ],
        "Done.",
    ]
    agent(workspace, steps[:2]).run("What is known of the tower?")
    runner = agent(workspace, steps[2:])
    assert runner.resume().stop == "end_turn"
    sent = json.dumps(runner.model.requests[-1].to_json())  # type: ignore[attr-defined]
    assert f"has {SPARSE} bytes; the most is" in sent
    assert any("tower" in text for text in results(runner.model.requests[-1]))  # type: ignore[attr-defined]


def test_a_change_in_a_large_file_is_seen_by_its_size_and_its_ends(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path / "w")
    path, root = workspace.folder.path / "notes/log.md", workspace.folder.root
    path.write_bytes(b"x" * (9 << 20))
    seen = [manifest(root)["notes/log.md"]]
    for change in (b"y", b"z"):
        with path.open("ab") as file:
            file.write(change)
        seen.append(manifest(root)["notes/log.md"])
    os.truncate(path, 9 << 20)
    assert len(set(seen)) == 3 and manifest(root)["notes/log.md"] == seen[0]


def test_settings_of_any_size_are_refused(tmp_path: Path) -> None:
    make_workspace(tmp_path / "w").close()
    _sparse(tmp_path / "w" / "manusfs.toml")
    with pytest.raises((Refused, ConfigError), match="bytes"):
        Workspace.open(tmp_path / "w")
