"""gc asks before it deletes, and says what it freed."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import pytest
from cli.conftest import Call


@pytest.fixture
def orphaned(filled: Call, tmp_path: Path) -> Call:
    """`filled` with an observation whose session its user has deleted."""
    (tmp_path / "other.md").write_text("Nobody refers to this. " * 50)
    before = {path.name for path in (tmp_path / "ws/sessions").iterdir()}
    assert filled("add", "../other.md").code == 0
    for path in (tmp_path / "ws/sessions").iterdir():
        if path.name not in before:
            (path / "transcript.jsonl").unlink()
            path.rmdir()
    return filled


def folders(tmp_path: Path) -> list[str]:
    return sorted(path.name.rpartition("-")[0] for path in (tmp_path / "ws/observations/file").iterdir())


def test_it_lists_first_and_without_a_terminal_it_deletes_nothing(orphaned: Call, tmp_path: Path) -> None:
    """Promise 14: exit 2 says that nobody could be asked."""
    listed = orphaned("gc", "--dry-run")
    assert listed.code == 0 and "other-md" in listed.out and "bridge-md" not in listed.out
    assert "1 observation" in listed.out
    (record,) = orphaned("gc", "--dry-run", "--json").records
    assert record["freed"] is False and len(record["observations"]) == 1 and record["kept"] == 1
    refused = orphaned("gc")
    assert refused.code == 2 and "nobody to ask" in refused.err and "gc --yes" in refused.err
    assert folders(tmp_path) == ["bridge-md", "other-md"]


@pytest.mark.parametrize("answer", [True, False, None])
def test_at_a_terminal_it_asks(
    orphaned: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: bool | None
) -> None:
    class Terminal:
        def isatty(self) -> bool:
            return True

    def confirm(question: str, err: bool) -> bool:
        assert "for good" in question and err
        if answer is None:
            raise click.Abort
        return answer

    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr(click, "confirm", confirm)
    done = orphaned("gc")
    assert done.code == (0 if answer else 1)
    assert folders(tmp_path) == (["bridge-md"] if answer else ["bridge-md", "other-md"])
    assert ("freed " in done.out) is bool(answer)


def test_with_yes_it_frees_and_says_what(orphaned: Call, tmp_path: Path) -> None:
    (record,) = orphaned("gc", "--yes", "--json").records
    assert record["freed"] is True and record["bytes"] > 1_000 and len(record["observations"]) == 1
    assert folders(tmp_path) == ["bridge-md"]
    assert orphaned("verify").code == 0 and "nothing to free" in orphaned("gc").out
    assert len(orphaned("ls", "--json").records) == 1
