"""compact, undo, context --tokens: the window of a session by hand, through the command line, offline."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli.conftest import Call

from manusfs.agent import by_hand
from manusfs.compact.policy import Budget
from manusfs.session import Transcript
from manusfs.workspace.folder import Folder

QUESTION = "When did the Aldon Bridge open, and why was the toll removed?"
NUMBERS = {
    "session", "policy", "seq", "written", "limit_tokens", "summary", "cost_usd", "before_tokens", "after_tokens",
    "freed_tokens", "before", "after", "blocks", "refs", "write_tokens", "price", "saved_each", "pays_after",
}  # fmt: skip


@pytest.fixture
def asked(filled: Call, tmp_path: Path) -> Call:
    """`filled` with one finished run over four texts."""
    sources: list[str] = []
    for number in range(4):
        body = f"# Bridge {number}\n\n" + f"The toll of bridge {number} was 3 crowns in {1800 + number}. " * 120
        (tmp_path / f"b{number}.md").write_text(body, "utf-8")
        sources += ["--source", f"../b{number}.md"]
    assert filled("run", QUESTION, "--source", "../bridge.md", *sources, "--model", "offline").code in (0, 3)
    return filled


def lines(tmp_path: Path) -> int:
    files = (tmp_path / "ws/sessions").glob("*/transcript.jsonl")
    return sum(len(file.read_text("utf-8").splitlines()) for file in files)


def test_a_dry_run_shows_what_would_go_and_writes_nothing(asked: Call, tmp_path: Path) -> None:
    """CC-9: tokens by kind before and after, blocks, refs, what the epoch costs against what it saves."""
    before = lines(tmp_path)
    told = asked("compact", "--dry-run")
    assert told.code == 0 and "would free" in told.out and "blocks to stubs" in told.out
    assert "each request costs" in told.out and "nothing was written" in told.err
    (record,) = asked("compact", "--dry-run", "--json").records
    assert record.keys() == NUMBERS and not record["written"] and record["freed_tokens"] > 0
    assert record["before_tokens"] == sum(record["before"].values())
    assert record["after_tokens"] == sum(record["after"].values())
    assert lines(tmp_path) == before


def test_compact_undo_and_resume_from_end_to_end(asked: Call, tmp_path: Path) -> None:
    """CC-9, MECHANISMS 2.8: fold twice, take both back out of order, go on; every byte is still there."""
    (start,) = asked("context", "--tokens", "--json").records
    (first,) = asked("compact", "--json").records
    (second,) = asked("compact", "--policy", "manus", "--json").records
    assert first["policy"] == second["policy"] == "manus"
    (now,) = asked("context", "--tokens", "--json").records
    assert now["tokens"] == second["after_tokens"] < first["after_tokens"] < start["tokens"]
    listed = asked("undo", "--list", "--json").records
    assert [(one["seq"], one["n"], one["state"]) for one in listed] == [
        (first["seq"], 2, "standing"),
        (second["seq"], 1, "standing"),
    ]
    (undone,) = asked("undo", "2", "--json").records
    assert undone["seq"] == first["seq"] and undone["written"]
    assert [one["state"] for one in asked("undo", "--list", "--json").records] == ["undone", "standing"]
    assert asked("undo").code == 0
    (again,) = asked("context", "--tokens", "--json").records
    for kind in ("results", "stubs"):
        assert abs(again["by_kind"][kind] - start["by_kind"][kind]) < start["by_kind"][kind] / 20
    gone = asked("undo")
    assert gone.code == 1 and "no compaction stands" in gone.err and "undo --list" in gone.err
    assert asked("resume").code == 2
    assert asked("resume", now["session"], "And who designed it?").code in (0, 3)
    assert asked("verify").code == 0


def test_a_view_shows_the_window_and_writes_nothing(asked: Call, tmp_path: Path) -> None:
    """MECHANISMS 2.8."""
    (made,) = asked("compact", "--json").records
    before = lines(tmp_path)
    told = asked("undo", "--view")
    assert told.code == 0 and "would bring back" in told.out and "back in full" in told.out
    assert lines(tmp_path) == before
    (viewed,) = asked("undo", "--view", "--json").records
    assert viewed["seq"] == made["seq"] and viewed["blocks"] == {"full": made["blocks"]["stub"]}
    assert "does not fit" not in told.out


def test_a_view_says_that_the_window_does_not_fit(asked: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    (made,) = asked("compact", "--json").records
    monkeypatch.setattr(by_hand, "_budget", lambda *_: Budget(made["before_tokens"] - 1, 0))
    told = asked("undo", "--view")
    assert told.code == 0 and f"of {made['before_tokens'] - 1:,} that fit: it does not fit" in told.out
    assert asked("undo").code == 75


def test_where_nothing_can_be_freed_that_is_said(asked: Call, tmp_path: Path) -> None:
    """GC-6: exit 0 and no line more."""
    while asked("compact", "--json").records[0]["written"]:
        pass
    before = lines(tmp_path)
    told = asked("compact")
    assert told.code == 0 and "nothing to free" in told.out and lines(tmp_path) == before
    none = asked("compact", "--policy", "none")
    assert none.code == 0 and "--policy manus" in none.err


def test_a_session_that_runs_is_refused(asked: Call, tmp_path: Path) -> None:
    """CC-9: 75, for both; looking is allowed."""
    session = asked("context", "--tokens", "--json").records[0]["session"]
    asked("compact")
    with Folder.open(tmp_path / "ws") as folder, Transcript.open(folder, session, write=True):
        assert asked("compact").code == asked("undo").code == 75
        assert asked("compact", "--dry-run").code == 0 and asked("context", "--tokens").code == 0


def test_the_policy_of_the_session_is_the_default_and_a_wrong_one_is_told(filled: Call) -> None:
    """CC-9: what `run` was given holds for what is done by hand."""
    filled("run", QUESTION, "--source", "../bridge.md", "--model", "offline", "--policy", "auto")
    assert filled("compact", "--dry-run", "--json").records[0]["policy"] == "auto"
    wrong = filled("compact", "--policy", "manos")
    assert wrong.code == 2 and "manus" in wrong.err


def test_the_window_is_shown_by_kind_and_source(asked: Call) -> None:
    """Issue: what fills the window; the sums are the window's count, at any step."""
    told = asked("context", "--tokens")
    assert told.code == 0
    for word in ("system", "tools", "user", "assistant", "results", "stubs", "search", "file", "that fit"):
        assert word in told.out, word
    for step in ((), ("--at", "2")):
        (record,) = asked("context", "--tokens", "--json", *step).records
        assert record.keys() == {"session", "window", "limit", "tokens", "by_kind", "by_source", "largest"}
        assert record["tokens"] == sum(record["by_kind"].values())
        assert record["tokens"] == sum(share["tokens"] for share in record["by_source"])
    assert asked("context", "--tokens", "--at", "99").code == 1


def test_a_terminal_gets_bars(asked: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """For people: the same numbers, drawn."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    told = asked("context", "--tokens")
    assert told.code == 0 and "█" in told.out and "results" in told.out


def test_without_a_session_the_way_out_is_told(filled: Call) -> None:
    for command in (("compact",), ("undo",), ("context", "--tokens")):
        done = filled(*command)
        assert done.code == 1 and "manusfs run" in done.err and not done.out
