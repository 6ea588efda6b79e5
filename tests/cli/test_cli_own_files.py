"""The user's own configuration, whatever stands in the place of its files: told with what to do, never a hang."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from cli.conftest import Call

ODD: dict[str, Callable[[Path], object]] = {
    "a pipe": os.mkfifo,
    "a folder": Path.mkdir,
    "a link to itself": lambda path: path.symlink_to(path.name),
    "rubbish": lambda path: path.write_bytes(b"\xff\x00{["),
    "brackets without end": lambda path: path.write_bytes(b"a = " + b"[" * 200_000),
}


@pytest.mark.parametrize("name", ["trust.json", "manusfs.toml"])
@pytest.mark.parametrize("odd", sorted(ODD))
def test_an_odd_file_of_the_configuration_is_told_and_hangs_nothing(
    filled: Call, tmp_path: Path, name: str, odd: str
) -> None:
    """Promises 3 and 4: exit 78, the file and what to do."""
    file = tmp_path / "config" / name
    file.unlink(missing_ok=True)
    file.parent.mkdir(exist_ok=True)
    ODD[odd](file)
    for command in (("ls",), ("config",), ("trust", "--yes"), ("verify",)):
        done = filled(*command)
        assert done.code == 78 and str(file) in done.err and "Try:" in done.err
        assert "internal error" not in done.err


def test_an_odd_key_file_keeps_nobody_from_reading(filled: Call, tmp_path: Path) -> None:
    file = tmp_path / "config" / "credential.key"
    file.unlink(missing_ok=True)
    os.mkfifo(file)
    assert filled("ls").code == 0 and filled("verify").code == 0
    done = filled("run", "Who designed it?", "--model", "offline")
    assert done.code in (0, 3, 78) and "internal error" not in done.err
