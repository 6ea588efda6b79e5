"""What a person or a program meets first: light imports, exported names, commands that are documented."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module

import pytest

import manusfs

HEAVY = (
    "anthropic",
    "httpx",
    "httpx2",
    "trafilatura",
    "pypdf",
    "pypdfium2",
    "sqlite_utils",
    "diskcache",
    "rich",
    "lxml",
)


def _loaded(code: str) -> set[str]:
    script = f"import sys, json\n{code}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "code",
    [
        "import manusfs",
        "import manusfs.cli",
        "from manusfs.cli.main import _run\n_run(['--help'])",
        "from manusfs import Workspace, Agent",
    ],
)
def test_importing_and_helping_load_no_heavy_library(code: str) -> None:
    assert not _loaded(code) & set(HEAVY)


def test_what_the_package_exports_is_there_and_sorted() -> None:
    assert manusfs.__all__ == sorted(manusfs.__all__)
    for name in manusfs.__all__:
        assert getattr(manusfs, name) is not None
    with pytest.raises(AttributeError):
        _ = manusfs.nothing_of_that_name


@pytest.mark.parametrize(
    "room",
    [
        "errors",
        "records",
        "messages",
        "registry",
        "workspace",
        "fetch",
        "extract",
        "models",
        "store",
        "session",
        "memory",
        "context",
        "skills",
        "tools",
        "compact",
        "agent",
        "lab",
        "view",
        "cli",
    ],
)
def test_each_room_exports_what_it_says(room: str) -> None:
    module = import_module(f"manusfs.{room}")
    assert len(set(module.__all__)) == len(module.__all__)  # their order is ruff's business
    for name in module.__all__:
        assert hasattr(module, name), name


def test_every_command_has_a_help_line_an_example_and_exit_codes() -> None:
    import click

    from manusfs.cli.main import COMMANDS

    for name, (target, line) in COMMANDS.items():
        module, _, attribute = target.partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        text = command.help or ""
        assert text.splitlines()[0] == line, name
        assert f"manusfs {name}" in text or "manusfs -w" in text, name
        assert "Exit codes:" in text, name
        assert any("--json" in option.opts for option in command.params) or name in (
            "agents",
            "completion",
            "index",
            "skills",
        ), name
