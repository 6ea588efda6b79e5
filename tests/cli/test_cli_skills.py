"""skills list, show, search and trust: which skills there are, why each may be used, and a run that uses one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import Call
from servers.messages_api import MessagesServer


def put(root: Path, name: str, text: str = "Do it.", front: str = "") -> Path:
    """Write a skill."""
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: Is {name}.\n{front}---\n{text}\n", "utf-8")
    return folder


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of the test's own."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_the_list_says_of_each_why_or_why_not(filled: Call, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """OC-16, OC-20 to OC-23: the user's, the shared, the workspace's and the bundled ones, from where they lie."""
    put(home.parent / "config" / "skills", "managed-one")
    put(home / ".agents" / "skills", "needs-key", front='metadata: {"openclaw": {"requires": {"env": ["A_KEY"]}}}\n')
    put(home / ".agents" / "skills", "needs-sh", front='metadata: {"openclaw": {"requires": {"bins": ["sh"]}}}\n')
    put(home / "more", "extra-one")
    put(Path("skills"), "own-one")
    put(Path("skills"), "quiet", front="disable-model-invocation: true\n")
    Path("skills/no-text").mkdir()
    Path("skills/no-text/SKILL.md").write_text("", "utf-8")
    monkeypatch.setenv("MANUSFS_SKILLS_EXTRA_ROOTS", "~/more")
    monkeypatch.setenv("MANUSFS_SKILLS_DISABLED", "cited-report")
    done = filled("skills", "list", "--all", "--json")
    assert done.code == 0
    found = {record["name"]: record for record in done.records}
    states = {name: record["state"] for name, record in found.items()}
    assert states == {
        "managed-one": "ready",
        "needs-key": "missing",
        "needs-sh": "ready",
        "extra-one": "ready",
        "own-one": "not approved",
        "quiet": "not approved",
        "cited-report": "disabled",
        **dict.fromkeys(["compare-sources", "extract-table", "fact-check", "literature-review"], "ready"),
        "": "broken",
    }
    assert found["needs-key"]["why"] == "the environment variable A_KEY is not set"
    assert found["extra-one"]["location"] == "extra:extra-one/SKILL.md"
    monkeypatch.setenv("A_KEY", "x")
    plain = filled("skills", "list")
    assert "needs-key                    ready" in plain.out and "cited-report" not in plain.out
    assert "1 more are off" in plain.err and "2 skills of this folder" in plain.err


def test_trust_shows_and_pins_skills_and_a_change_asks_again(filled: Call, home: Path) -> None:
    """OC-28: also in a folder of one's own, and for files beside SKILL.md."""
    folder = put(Path("skills"), "own-one")
    (folder / "table.csv").write_text("a")
    asked = filled("trust")  # no yes: standard input has ended
    assert asked.code == 1 and "Skill (new): skills/own-one (2 files" in asked.err
    assert filled("skills", "list", "--json").records[0]["state"] == "not approved"
    assert filled("trust", "--yes", "--json").records[0]["skills"] == ["skills/own-one"]
    assert filled("skills", "list", "--json").records[0]["state"] == "ready"
    (folder / "table.csv").write_text("b")
    waits = filled("skills", "show", "own-one")
    assert waits.out.startswith("own-one: not approved (it changed since you approved it")
    assert "Do it." in waits.out, "one must be able to read what one is asked to approve"
    assert "Skill (changed): skills/own-one" in filled("trust", "--yes").err
    assert filled("skills", "list", "--json").records[0]["state"] == "ready"
    assert "Skill (approved)" in filled("trust", "--yes").err


def test_a_folder_of_skills_that_the_settings_name_is_approved_with_them(filled: Call, home: Path) -> None:
    """OC-28: one answer approves the setting and what lies there, inside the workspace as anywhere in it."""
    put(Path("library"), "own-one")
    file = Path("manusfs.toml")
    file.write_text(file.read_text("utf-8") + 'skills_extra_roots = ["library"]\n', "utf-8")
    assert "own-one" not in filled("skills", "list").out
    assert "Skill (new): library/own-one" in filled("trust", "--yes").err
    found = filled("skills", "list", "--json").records
    assert [(one["location"], one["state"]) for one in found if one["name"] == "own-one"] == [
        ("library/own-one/SKILL.md", "ready")
    ]


def test_settings_are_trusted_as_before_beside_skills(filled: Call, home: Path) -> None:
    """I7: a skill's approval says nothing of settings, nor the other way round: both stand in one answer."""
    put(Path("skills"), "own-one")
    filled("trust", "--yes")
    file = Path("manusfs.toml")
    file.write_text(file.read_text("utf-8") + 'skills_extra_roots = ["/somewhere"]\n', "utf-8")
    assert "`skills_extra_roots` waits" in filled("config").err
    assert filled("skills", "list", "--json").records[0]["state"] == "ready"
    file.write_text(file.read_text("utf-8").replace("extra_roots", "bundled"), "utf-8")
    assert "waits" not in filled("config").err, "which of the skills at hand are on is one's own to say"


def test_a_stranger_s_folder_switches_no_skill_on_or_off(filled: Call, home: Path) -> None:
    """I7: neither undoes the user's switch nor brings its own."""
    (home.parent / "config" / "trust.json").unlink()
    put(Path("skills"), "own-one")
    file = Path("manusfs.toml")
    file.write_text(file.read_text("utf-8") + "skills_disabled = []\nskills_bundled = []\n", "utf-8")
    (home.parent / "config" / "manusfs.toml").write_text('skills_disabled = ["fact-check"]\n', "utf-8")
    states = {one["name"]: one["state"] for one in filled("skills", "list", "--all", "--json").records}
    assert states["fact-check"] == "disabled" and states["cited-report"] == "ready"
    assert states["own-one"] == "not approved"


def test_one_skill_is_shown_and_found_without_a_workspace(call: Call, home: Path) -> None:
    shown = call("skills", "show", "fact-check", "--json").records[0]
    assert shown["state"] == "ready" and shown["text"].startswith("---\nname: fact-check") and shown["files"] == []
    assert "# Fact-check a claim" in call("skills", "show", "fact-check").out
    found = call("skills", "search", "table csv", "--json").records
    assert found[0]["name"] == "extract-table"
    assert call("skills", "search", "zebra").err.strip() == "no hits"
    missing = call("skills", "show", "fact-chek")
    assert missing.code == 1 and "fact-check" in missing.err


def test_hostile_skills_drive_no_terminal(filled: Call, home: Path) -> None:
    """I6: names, descriptions, file names and reasons are printed without controls."""
    folder = put(Path("skills"), "evil", "\x1b[31mred", 'license: "\\x1b]0;x\\x07"\n')
    (folder / "a\x1b[31m\nb").write_text("")
    (folder / "SKILL.md").write_text(
        (folder / "SKILL.md").read_text("utf-8").replace("Is evil.", '"\\e[2J\\u202e evil"'), "utf-8"
    )
    (Path("skills") / "x\x1b[31m").symlink_to("/etc")
    for words in (["list", "--all"], ["list", "--json"], ["show", "evil"], ["search", "evil"]):
        done = filled("skills", *words)
        assert done.code == 0 and done.out
        assert not set(done.out + done.err) & {"\x1b", "\x07", "\u202e"}
    assert "\x1b" not in filled("trust", "--yes").err


def brain(body: dict[str, Any]) -> tuple[list[dict[str, Any]], str]:
    """Load the approved skill, then answer with what it said."""
    done = [block for message in body["messages"] for block in message["content"] if block["type"] == "tool_result"]
    if done:
        return [{"type": "text", "text": f"It says: {'use short words' in json.dumps(done)}"}], "end_turn"
    arguments = {"name": "own-one", "arguments": "the bridge"}
    return [{"type": "tool_use", "id": "toolu_1", "name": "skill", "input": arguments}], "tool_use"


def test_a_run_offers_approved_skills_and_tells_those_that_wait(
    filled: Call, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OC-24, CC-29: through the command line and a server that checks every request."""
    put(Path("skills"), "own-one", "On $ARGUMENTS: use short words.")
    put(Path("skills"), "second")
    with MessagesServer(brain) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "fake")
        waits = filled("run", "Write it.", "--model", "claude-haiku-4-5")
        assert "skills of this folder wait for your word: own-one, second" in waits.err
        assert "It says: False" in waits.out
        filled("trust", "--yes")
        done = filled("run", "Write it.", "--model", "claude-haiku-4-5")
        assert "wait for your word" not in done.err and "It says: True" in done.out
        first = server.accepted[-2]
        assert "own-one [skills/own-one/SKILL.md]: Is own-one." in json.dumps(first["system"])
        filled("run", "Write it.", "--model", "offline")
        assert not server.refused
    assert filled("verify").code == 0
    shown = filled("show")
    assert shown.code == 0
