"""The model folds and brings back parts of its context: through the tool, the transcript and the next compaction."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from agent_stage import PAGES, assert_sound, fetches, make_workspace, page, refs, results

from manusfs.agent import Agent, AgentEvent
from manusfs.messages import Profile, Request
from manusfs.models import ScriptedModel, call
from manusfs.workspace.settings import Settings

WINDOW = 40_000


def run(path: Path, brain: Any, **more: Any) -> tuple[list[AgentEvent], list[Request]]:
    """Return what was told and what was asked."""
    told: list[AgentEvent] = []
    asked: list[Request] = []

    def look(request: Request) -> Any:
        asked.append(request)
        return brain(request, len(asked))

    workspace = make_workspace(path, lambda url: page(url.rsplit("/")[-1], 600 if url.endswith("first") else 200))
    settings = Settings(summary_tokens=0, max_turns=0, **more)
    model = ScriptedModel(look, profile=Profile("scripted", window=WINDOW))
    Agent(workspace, model, settings, told.append).run("Read about bridges.")
    assert_sound(asked)
    return told, asked


def test_a_fold_is_told_recorded_and_done_at_the_next_compaction(tmp_path: Path) -> None:
    """MECHANISMS 2.18: nothing that was sent is edited; the answer says what it saves and when."""
    answers: list[str] = []

    def brain(request: Request, turn: int) -> Any:
        if turn == 1:
            return fetches([f"{PAGES}first"], limit=6_000)
        if turn == 2:
            return [call("context_status", fold=refs(request)[:1])]
        if turn == 3:
            answers.append(results(request)[-1])
        return fetches([f"{PAGES}{turn}"], limit=3_000) if turn < 30 else "Done."

    told, asked = run(tmp_path / "w", brain, policy="claude-code")
    assert re.search(r"fold obs:\w+: 1 block, saves about [\d,]+ tokens from the next compaction on", answers[0])
    assert "next compaction: at 27,000 tokens" in answers[0]
    assert any(event.kind == "compaction" for event in told)
    assert sum("first number 1 was opened" in str(request.messages) for request in asked) > 2
    assert "first number 1 was opened" not in str(asked[-1].messages)


def test_what_is_brought_back_is_shown_and_stands_in_full_over_the_next_compaction(tmp_path: Path) -> None:
    """MECHANISMS 2.18: within the read budgets, and as far as there is room."""
    epochs: list[int] = []

    def brain(request: Request, turn: int) -> Any:
        if len(request.messages) == 1 and turn > 1:
            epochs.append(turn)
        if turn == 1:
            return fetches([f"{PAGES}first"])
        if turn == 2:
            return [call("context_status", bring_back=[f"{refs(request)[0]}@600-3000"])]
        if turn == 3:
            assert "kept in full over the next compaction" in results(request)[-1]
        if len(epochs) == 1:
            kept.append("first number 20 was opened" in str(request.messages))
        return fetches([f"{PAGES}{turn}"], limit=3_000) if len(epochs) < 3 else "Done."

    kept: list[bool] = []
    run(tmp_path / "w", brain)
    assert kept and all(kept)


def test_what_did_not_fit_is_told_with_its_ref(tmp_path: Path) -> None:
    """MECHANISMS 2.18, I9: a wish that could not be met is no secret."""
    notices: list[str] = []

    def brain(request: Request, turn: int) -> Any:
        if turn == 1:
            return fetches([f"{PAGES}first"])
        if turn in (2, 3, 4):
            start = 3_000 * turn
            return [call("context_status", bring_back=[f"{refs(request)[0]}@{start}-{start + 9_000}"])]
        said = str(request.messages[0])
        if "asked to keep in full" in said:
            notices.append(said)
            return "Done."
        return fetches([f"{PAGES}{turn}"], limit=3_000) if turn < 40 else "Done."

    run(tmp_path / "w", brain)
    assert notices and re.search(r"1 block did not fit and is folded: msg:\S+", notices[0])
