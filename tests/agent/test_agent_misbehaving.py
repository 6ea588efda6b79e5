"""Models that misbehave: nothing they say ends a run, leaves the workspace or makes a request invalid."""

from __future__ import annotations

from pathlib import Path

from agent_stage import agent, assert_sound, make_workspace, results

from manusfs.messages import Reply
from manusfs.models import ScriptedModel, call

HOSTILE = "\x1b[31mred\x1b]0;owned\x07\x9b31m\u202e\u200b\U000e0041\ud800"


def test_a_report_acts_on_no_terminal(tmp_path: Path) -> None:
    """I6: what a model wrote, or copied out of its calls."""
    workspace = make_workspace(tmp_path / "w")
    result = agent(workspace, [f"# {HOSTILE}\n\nAnswer {HOSTILE} ok"]).run("What?" + HOSTILE)
    text = (workspace.folder.path / result.report).read_text("utf-8")
    assert "ok" in text and not set(text) & set(HOSTILE.replace("red", "").replace("owned", "")) & set(
        "\x1b\x07\x9b\u202e\u200b"
    )


def test_a_reply_that_fills_an_empty_window_ends_the_run_resumable(tmp_path: Path) -> None:
    """There is nothing to compact: the run says so, and the next request is still one that the API takes."""
    filled = Reply(({"type": "text", "text": "half"},), "model_context_window_exceeded")
    workspace = make_workspace(tmp_path / "w")
    result = agent(workspace, [filled, "Done."]).run("Go.")
    assert result.stop == "window" and "manusfs resume" in result.message
    model = ScriptedModel(["Done."])
    assert agent(workspace, model).resume().stop == "end_turn"
    assert_sound(model.requests)


def test_no_path_leaves_the_workspace(tmp_path: Path) -> None:
    """I7: whatever a tool is given, also through links that lie in the workspace already."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("the secret is 1234", "utf-8")
    workspace = make_workspace(tmp_path / "w")
    notes = workspace.folder.path / "notes"
    (notes / "folder").symlink_to(outside)
    (notes / "file.md").symlink_to(outside / "secret.md")
    (notes / "up").symlink_to("..")
    (notes / "hard.md").hardlink_to(outside / "secret.md")
    paths = [
        *("../outside/secret.md", str(outside / "secret.md"), "~/x", "notes/../../outside/secret.md", "notes/a\0b"),
        *(
            "notes/folder/secret.md",
            "notes/file.md",
            "notes/hard.md",
            "notes/up/AGENTS.md",
            "notes\\..\\x",
            "/etc/hostname",
        ),
        *("observations/web/x", "sessions/x/transcript.jsonl", "manusfs.toml", ".manusfs/index.db", "notes/\ud800.md"),
    ]
    before = {path: path.read_bytes() for path in workspace.folder.path.glob("*.*") if path.is_file()}
    steps = [
        [call("read", ref=path) for path in paths],
        [call("edit", path=path, old="secret", new="owned") for path in paths],
        [call("write", path=path, content="owned", append=True) for path in paths],
        [call("search", query="secret", within=path) for path in paths],
        [call("grep", pattern="1234", within=path) for path in paths],
    ]
    model = ScriptedModel([*steps, "Done."])
    agent(workspace, model).run("Go.")
    assert [path.read_text("utf-8") for path in outside.iterdir()] == ["the secret is 1234"]
    assert before == {path: path.read_bytes() for path in workspace.folder.path.glob("*.*") if path.is_file()}
    shown = [text for text in results(model.requests[-1]) if "1234" in text.replace('pattern="1234"', "")]
    assert shown == [] and not (workspace.folder.path / "observations" / "web").exists()
    assert_sound(model.requests)
