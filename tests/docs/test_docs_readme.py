"""The README's blocks run as shown, its links lead somewhere, and its commands exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")


def _blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_first_screen_has_the_two_commands() -> None:
    head = "\n".join(README.splitlines()[:45])
    assert "manusfs demo" in head and "-m pytest" in head and "from manusfs import" in head


def test_the_library_example_runs_as_shown(tmp_path: Path) -> None:
    (code,) = _blocks("python")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Ilse Varga" in done.stdout and "reports/" in done.stdout


def test_every_command_that_is_named_exists() -> None:
    from manusfs.cli.main import COMMANDS

    named = set(re.findall(r"manusfs ([a-z]+)\b(?=[^\n]*`|\s)", "\n".join(_blocks("sh")) + README))
    assert named & set(COMMANDS)
    for block in _blocks("sh"):
        for word in re.findall(r"bin/manusfs ([a-z]+)", block):
            assert word in COMMANDS


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)#:]+)\)", README))
def test_every_link_leads_to_a_file(link: str) -> None:
    assert (ROOT / link).exists()
