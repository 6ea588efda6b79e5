"""The command line, called as a program is: arguments in; exit code, stdout and stderr out."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from manusfs.cli.main import _run

PAGE = (
    "# Aldon Bridge\n\nThe Aldon Bridge was designed by Ilse Varga. It opened on 4 May 1998 and cost 12.4 million.\n\n"
    + "The river is wide and slow here, and the old ferry crossed it for two hundred years. " * 60
    + "\n\nThe toll was removed in 2011 because the loan had been paid.\n"
)


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def records(self) -> list[dict[str, Any]]:
        """The lines of stdout as JSON."""
        return [json.loads(line) for line in self.out.splitlines()]


Call = Callable[..., Done]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Run `manusfs` with the given arguments in an empty folder, with a user configuration of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MANUSFS_CONFIG_DIR", str(tmp_path / "config"))

    def run(*arguments: str) -> Done:
        capsys.readouterr()
        code = _run(list(arguments))
        captured = capsys.readouterr()
        return Done(code, captured.out, captured.err)

    return run


@pytest.fixture
def filled(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """`call` inside a workspace that holds one text."""
    (tmp_path / "bridge.md").write_text(PAGE, "utf-8")
    assert call("init", "ws").code == 0
    monkeypatch.chdir(tmp_path / "ws")
    assert call("add", "../bridge.md").code == 0
    return call
