"""Compacting and undoing between the runs of a session: what is written, what a resume makes of it, who is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from agent_stage import PAGES, agent, assert_sound, events_of, fetches, make_workspace, page
from compact.summarisers import good

from manusfs.agent import AgentEvent, compact_session, compactions, undo_compaction
from manusfs.context import fold
from manusfs.errors import ConfigError, LimitReached, Locked, ModelError, NotFound, UsageError
from manusfs.memory import Workspace
from manusfs.messages import Model, Profile, Request
from manusfs.models import ScriptedModel, call
from manusfs.session import Transcript
from manusfs.workspace.settings import Settings


def ran(path: Path, turns: int = 6, **more: Any) -> tuple[Workspace, str]:
    """Return a workspace and its session of so many fetched pages and an answer."""
    workspace = make_workspace(path, lambda url: page(url.rsplit("/")[-1]))
    steps: list[Any] = [fetches([f"{PAGES}{n}"], limit=6_000) for n in range(turns)]
    return workspace, agent(workspace, [*steps, "Done."], **more).run("Read about bridges.").session


def settings(policy: str, **more: Any) -> Settings:
    return Settings(policy=policy, **{"summary_tokens": 1_500, **more})


def fails(request: Request) -> str:
    raise ModelError("down")


def writer(brain: Any) -> Model:
    return ScriptedModel(brain, profile=Profile("cheap", window=60_000, price_input=1.0, price_output=5.0))


def test_compacting_by_hand_needs_no_threshold(tmp_path: Path) -> None:
    """GC-6, CC-9: far below the mark all the same; the next request is the smaller one, and sound."""
    workspace, session = ran(tmp_path / "w")
    before = fold(events_of(workspace, session))
    made = compact_session(workspace, session, settings("manus"))
    after = fold(events_of(workspace, session))
    assert made.written and made.outlook is not None and made.outlook.freed > 0
    assert made.outlook.before.tokens == before.tokens and made.outlook.after.tokens == after.tokens < before.tokens
    assert after.epoch == before.epoch + 1 and after.because == "compaction"
    assert made.outlook.blocks["stub"] > 0 and made.outlook.refs > 0


def test_a_dry_run_tells_the_same_numbers_and_writes_nothing(tmp_path: Path) -> None:
    """CC-9."""
    workspace, session = ran(tmp_path / "w")
    events = events_of(workspace, session)
    told = compact_session(workspace, session, settings("manus"), dry_run=True)
    assert events_of(workspace, session) == events and not told.written and told.outlook is not None
    done = compact_session(workspace, session, settings("manus"))
    assert done.outlook is not None and done.outlook.to_json() == told.outlook.to_json()


@pytest.mark.parametrize("policy", ["manus", "auto", "claude-code", "gemini-cli", "openclaw", "none"])
def test_nothing_to_free_writes_nothing(tmp_path: Path, policy: str) -> None:
    """GC-6: an empty history is no reason to write."""
    workspace, session = ran(tmp_path / "w", turns=0)
    events = events_of(workspace, session)
    made = compact_session(workspace, session, settings(policy))
    assert not made.written and made.outlook is None and made.seq == 0
    assert events_of(workspace, session) == events


def test_a_finished_session_stays_finished_and_a_message_goes_on_in_the_new_window(tmp_path: Path) -> None:
    """CC-9: the resume goes on in the epoch that was made by hand; nothing is asked of a session that is done."""
    workspace, session = ran(tmp_path / "w")
    compact_session(workspace, session, settings("manus"))
    undo_compaction(workspace, session)
    compact_session(workspace, session, settings("manus"))
    with pytest.raises(UsageError, match="finished"):
        agent(workspace, ["never asked"]).resume(session)
    requests: list[Request] = []

    def brain(request: Request) -> str:
        requests.append(request)
        return "And that is all."

    epoch = fold(events_of(workspace, session)).epoch
    result = agent(workspace, ScriptedModel(brain)).resume(session, "Anything else?")
    window = fold(events_of(workspace, session))
    assert result.answer == "And that is all." and window.epoch == epoch
    assert "Anything else?" in str(requests[0].messages) and "folded ref=" in str(requests[0].messages)
    assert_sound(requests)


def test_calls_that_were_open_get_an_honest_result_first(tmp_path: Path) -> None:
    """I3: compaction happens only when no call is open."""
    workspace, session = ran(tmp_path / "w")
    with Transcript.open(workspace.folder, session, write=True) as transcript:
        content = [call("read", ref="obs:0")]
        content[0]["id"] = "left-open"
        transcript.append([_reply(content)])
    compact_session(workspace, session, settings("manus"))
    events = events_of(workspace, session)
    (shown,) = [event for event in events if event.data.get("call") == "left-open"]
    assert shown.data["is_error"] and "not known whether it ran" in str(shown.data["parts"])
    assert not fold(events).open_calls


def _reply(content: list[dict[str, Any]]) -> Any:
    from manusfs.records import Event

    data = {"role": "assistant", "content": content, "stop_reason": "tool_use", "id": "m", "model": "scripted"}
    return Event("message", data)


def test_a_summary_is_written_by_the_configured_model_and_billed(tmp_path: Path) -> None:
    """CC-3, CC-9: by hand as in a run."""
    workspace, session = ran(tmp_path / "w", 14)
    made = compact_session(workspace, session, settings("claude-code"), lambda name: writer(good))
    assert made.written and made.summary == "written by cheap" and made.outlook is not None
    assert made.outlook.blocks["summary"] > 0 and made.outlook.after.by_kind()["summaries"] > 0
    bills = [event for event in events_of(workspace, session) if event.data.get("purpose") == "summary"]
    assert bills and made.cost_usd == sum(bill.data["cost_usd"] for bill in bills)


@pytest.mark.parametrize("why", ["no key", "offline", "fails", "dry run"])
def test_without_a_model_the_old_part_is_folded_and_that_is_said(tmp_path: Path, why: str) -> None:
    """CC-7, CC-9: the deterministic tiers need no model; a dry run asks none."""
    workspace, session = ran(tmp_path / "w", 14)

    def make(name: str) -> Model | None:
        assert name == "scripted" and why != "dry run"
        if why == "no key":
            raise ConfigError("no key is set")
        return None if why == "offline" else writer(fails)

    made = compact_session(workspace, session, settings("claude-code"), make, dry_run=why == "dry run")
    assert made.outlook is not None and made.outlook.blocks["ledger"] > 0 and "summary" not in made.outlook.blocks
    words = {"no key": "no key is set", "offline": "no model writes summaries", "fails": "down", "dry run": "asks none"}
    assert words[why] in made.summary


def test_a_person_may_ask_again_after_a_summary_failed(tmp_path: Path) -> None:
    """A failure is not tried again every turn, but when someone says so."""
    workspace, session = ran(tmp_path / "w", 14)
    compact_session(workspace, session, settings("claude-code"), lambda name: writer(fails))
    undo_compaction(workspace, session)
    made = compact_session(workspace, session, settings("claude-code"), lambda name: writer(good))
    assert made.summary == "written by cheap"


def test_a_session_that_runs_is_left_alone(tmp_path: Path) -> None:
    """CC-9: exit 75; looking needs no lock."""
    workspace, session = ran(tmp_path / "w")
    with Transcript.open(workspace.folder, session, write=True):
        with pytest.raises(Locked):
            compact_session(workspace, session, settings("manus"))
        with pytest.raises(Locked):
            undo_compaction(workspace, session)
        assert compact_session(workspace, session, settings("manus"), dry_run=True).outlook is not None


def test_undo_in_any_order_brings_every_block_back(tmp_path: Path) -> None:
    """MECHANISMS 2.8, I5: the older one first, then the newer; what another compaction still folds stays folded."""
    workspace, session = ran(tmp_path / "w", 8)
    whole = fold(events_of(workspace, session))
    for policy in ("manus", "manus", "manus"):
        assert compact_session(workspace, session, settings(policy)).written
    events = events_of(workspace, session)
    assert [(one.number, one.standing) for one in compactions(events)] == [(3, True), (2, True), (1, True)]
    oldest = compactions(events)[0]
    assert undo_compaction(workspace, session, 3).seq == oldest.seq
    assert [one.standing for one in compactions(events_of(workspace, session))] == [False, True, True]
    viewed = undo_compaction(workspace, session, 2, view=True)
    undone = undo_compaction(workspace, session, 2)
    assert undone.outlook is not None and viewed.outlook is not None and not viewed.written
    assert undone.outlook.to_json() == viewed.outlook.to_json()
    undo_compaction(workspace, session)
    window = fold(events_of(workspace, session))
    assert window.items == whole.items and not window.ledgers
    with pytest.raises(NotFound, match="no compaction stands"):
        undo_compaction(workspace, session)


def test_an_undo_that_would_not_fit_is_refused_with_the_numbers_and_can_be_viewed(tmp_path: Path) -> None:
    """MECHANISMS 2.8, I4."""
    told: list[AgentEvent] = []
    workspace = make_workspace(tmp_path / "w", lambda url: page(url.rsplit("/")[-1]))
    steps: list[Any] = [fetches([f"{PAGES}{n}-{m}" for m in range(2)], limit=6_000) for n in range(14)]
    run = agent(workspace, [*steps, "Done."], told, window=40_000)
    session = run.run("Read about bridges.").session
    assert sum(event.kind == "compaction" for event in told) >= 2
    with pytest.raises(LimitReached, match=r"would hold \d+,\d+ tokens; \d+,\d+ fit"):
        while True:
            undo_compaction(workspace, session)
    before = events_of(workspace, session)
    viewed = undo_compaction(workspace, session, view=True)
    assert viewed.outlook is not None and viewed.outlook.after.tokens > viewed.limit
    assert events_of(workspace, session) == before
