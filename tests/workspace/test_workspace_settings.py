"""Settings of a file that somebody else wrote: which count, and that none of them ends a command with a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from manusfs.errors import ConfigError, Refused
from manusfs.workspace import Folder
from manusfs.workspace.settings import OWNER_ONLY, PINNED, Settings, load, parse_toml


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("extract_seconds", 86_400),
        ("extract_memory_mb", 1 << 30),
        ("fetch_timeout_s", 86_400.0),
        ("fetch_retries", 1_000_000),
        ("max_body_bytes", 1 << 50),
        ("max_wire_bytes", 1 << 50),
        ("cache_bytes", 1 << 50),
        ("host_delay_s", 0.0),
        ("max_turns", 0),
        ("task_depth", 99),
    ],
)
def test_a_strangers_folder_does_not_say_what_a_run_may_take(name: str, value: float) -> None:
    """Promises 8, 12: the caps on time, memory and money are the user's; in the user's own folder they need no seal."""
    found = load(workspace={"format": 1, name: value}, trusted=False)
    assert found.settings == Settings() and f"`{name}`" in found.warnings[0]
    assert name in OWNER_ONLY - PINNED
    assert getattr(load(workspace={name: value}, trusted=False, own=True).settings, name) == value


@pytest.mark.parametrize(
    "text",
    [
        b"format = 1\nx = " + b"[" * 60_000,
        b"format = 1\nx = " + b"{a=" * 20_000,
        b'format = 1\nx = "\xff"\n',
        b"format = 1\nx = 1979-13-40\n",
        b"format = 1\n" + b"[a" + b".a" * 10_000 + b"]\n",
        b"format = 1\n" + b"# more\n" * 10_000,
    ],
)
def test_what_is_no_toml_is_told_by_file(text: bytes, tmp_path: Path) -> None:
    """STYLE 38: a traceback is a bug, also for brackets without end."""
    try:
        parse_toml(text, "manusfs.toml")
    except ConfigError as error:
        assert "manusfs.toml" in str(error)
    Folder.create(tmp_path / "w").close()
    (tmp_path / "w/manusfs.toml").write_bytes(text)
    try:
        Folder.open(tmp_path / "w").close()
    except (ConfigError, Refused) as error:
        assert "manusfs.toml" in str(error)


@pytest.mark.parametrize("value", [float("inf"), float("nan"), float("-inf"), 10**30, -1, "1e400"])
@pytest.mark.parametrize("name", ["inline_chars", "read_share", "max_seconds"])
def test_a_number_that_is_none_is_told(name: str, value: object) -> None:
    with pytest.raises(ConfigError, match=name):
        load(workspace={name: value})
