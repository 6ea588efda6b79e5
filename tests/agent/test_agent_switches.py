"""One session through other policies and models, by hand and resumed, undone and edited in between."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agent_stage import PAGES, agent, assert_sound, events_of, fetches, make_workspace, page, refs
from compact.runs import check_undone
from compact.summarisers import good

from manusfs.agent import compact_session, compactions, undo_compaction
from manusfs.compact import policy_names
from manusfs.errors import LimitReached, NotFound, UsageError
from manusfs.memory import Workspace
from manusfs.messages import Profile, Request
from manusfs.models import ScriptedModel, call, estimated_usage
from manusfs.workspace.settings import Settings

WINDOWS = (30_000, 60_000, 200_000)


def researcher(rng: random.Random, turns: int) -> Callable[[Request], Any]:
    """Return a brain that fetches, reads, writes and plans at random, side by side, with and without thinking."""
    turn = 0

    def act(request: Request) -> list[dict[str, Any]]:
        have, kind = refs(request) or ["obs:000000000000"], rng.random()
        if kind < 0.5:
            return fetches([f"{PAGES}{rng.randrange(60)}"], limit=rng.choice((500, 4_000, 16_000)))
        if kind < 0.75:
            return [call("read", ref=rng.choice(have), offset=rng.choice((0, 3_000)), limit=rng.choice((500, 60_000)))]
        if kind < 0.85:
            return [call("write", path=f"notes/findings/{turn}.md", content="Found. " * rng.choice((3, 6_000)))]
        return [call("todo", items=["[x] one", f"step {turn}"])]

    def next_turn(request: Request) -> Any:
        nonlocal turn
        if not request.tools:
            return good(request)
        turn += 1
        if turn > turns:
            return "Done."
        thought = {"type": "thinking", "thinking": f"thought {turn}", "signature": "c2ln"}
        said = [thought] if rng.random() < 0.5 else [{"type": "text", "text": f"I look at page {turn}."}]
        return [*said, *(one for _ in range(rng.choice((1, 1, 2, 6))) for one in act(request))]

    return next_turn


def meddle(rng: random.Random, workspace: Workspace, session: str) -> None:
    """Undo, compact by hand or edit what people edit; what can't be done is refused."""
    try:
        kind = rng.random()
        if kind < 0.5:
            made = compactions(events_of(workspace, session))
            undo_compaction(workspace, session, rng.randint(1, max(1, len(made))))
        elif kind < 0.8:
            compact_session(workspace, session, Settings(policy=rng.choice(policy_names()), summary_tokens=0))
        else:
            (workspace.folder.path / "AGENTS.md").write_text("Be short. " * rng.choice((1, 3_000)))
            (workspace.folder.path / "todo.md").write_text("- [ ] step\n" * rng.choice((1, 400)))
    except (LimitReached, NotFound, UsageError):
        pass


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 3])
def test_a_session_goes_on_whatever_policy_and_model_take_it_over(tmp_path: Path, seed: int) -> None:
    """I1 to I5, MECHANISMS 2.16: resumed by a smaller window and another policy, undone in between, nothing is lost."""
    rng, session = random.Random(seed), ""
    workspace = make_workspace(tmp_path / "w", lambda url: page(url.rsplit("/")[-1], 9_000 if url[-1] in "37" else 100))
    for stage in range(4):
        window = rng.choice(WINDOWS)
        model = ScriptedModel(researcher(rng, rng.randint(3, 20)), profile=Profile(f"model-{window}", window=window))
        policy, tokens = rng.choice(policy_names()), rng.choice((0, 1_500))
        going = agent(workspace, model, policy=policy, summary_tokens=tokens, max_turns=0)
        result = going.resume(session, f"Go on, part {stage}.") if session else going.run("Read very much.")
        session = result.session
        assert result.answer == "Done."
        assert_sound([request for request in model.requests if request.tools])
        for request in model.requests:
            assert estimated_usage(request, []).window + request.max_tokens <= window
        for _ in range(2):
            meddle(rng, workspace, session)
    events = events_of(workspace, session)
    check_undone(events)
    assert workspace.verify().ok
    for event in events:
        if event.kind in ("observation", "shown"):
            assert workspace.read(f"msg:{session}:{event.seq}", chars=100).total > 0
