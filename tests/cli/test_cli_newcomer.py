"""What somebody who has never used manusfs types: each answer says what is so, and a command that works."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cli.conftest import Call


@pytest.mark.parametrize("group", [(), ("skills",), ("agents",), ("index",)])
def test_a_group_without_a_command_prints_its_help_as_it_is(call: Call, group: tuple[str, ...]) -> None:
    bare = call(*group)
    assert bare.code == 2 and "Error" not in bare.err and bare.out == ""
    assert bare.err == call(*group, "--help").out


def test_two_runs_that_begin_in_one_second_make_two_folders(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from datetime import UTC, datetime

    from manusfs.cli import run_cmd

    class Still(datetime):
        @classmethod
        def now(cls, tz: object = None) -> Still:
            return cls(2026, 11, 30, 22, 0, 14, tzinfo=UTC)

    monkeypatch.setattr(run_cmd, "datetime", Still)
    (tmp_path / "page.txt").write_text("The tower was built in 1920 by Holm.\n", "utf-8")
    for name in ("manusfs-20261130-220014", "manusfs-20261130-220014-2", "manusfs-20261130-220014-3"):
        done = call("run", "Who built the tower?", "--source", "page.txt")
        assert done.code == 0 and f"made {tmp_path / name}\n" in done.err


def test_doctor_tells_a_format_that_is_too_new(call: Call, tmp_path: Path) -> None:
    assert call("init", "ws").code == 0
    marker = tmp_path / "ws" / "manusfs.toml"
    marker.write_text(re.sub(r"(?m)^format = \d+", "format = 99", marker.read_text("utf-8")), "utf-8")
    assert call("-w", "ws", "ls").code == 78
    done = call("-w", "ws", "doctor", "--offline")
    assert done.code == 1 and re.search("FAIL workspace .*99", done.out)
