"""Compaction by summaries through the agent: who is asked, what it costs, what happens when it goes wrong."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from agent_stage import PAGES, assert_sound, events_of, fetches, is_opening, make_workspace, page, refs
from compact.summarisers import good

from manusfs.agent import Access, Agent, AgentEvent, Result
from manusfs.errors import ModelError
from manusfs.memory import Workspace
from manusfs.messages import Profile, Request
from manusfs.models import ScriptedModel, call
from manusfs.workspace.settings import Settings

WINDOW = 40_000
NAMES = ("claude-code", "gemini-cli", "openclaw", "manus")
SUMMARY = "You keep the record"


def is_summary(request: Request) -> bool:
    """Return True for a request of a compaction."""
    return bool(request.system) and request.system[0]["text"].startswith(SUMMARY)


def researcher(turns: int = 24, note: bool = True) -> Callable[[Request], Any]:
    """Return a brain that fetches two pages a turn and reads in one of them; asked for notes it writes one."""
    turn = 0

    def next_turn(request: Request) -> Any:
        nonlocal turn
        if is_summary(request):
            return good(request)
        last = request.messages[-1]["content"][-1].get("text", "")
        if "write it to notes/ now" in last:
            return [call("write", path="notes/so-far.md", content="Bridges so far.")] if note else "none"
        turn += 1
        if turn > turns:
            return "Done."
        newest = refs(request)[-1:]
        return [
            *fetches([f"{PAGES}{turn}-{n}" for n in range(2)], limit=3_000),
            *(call("read", ref=ref, offset=3_000, limit=3_000) for ref in newest),
        ]

    return next_turn


def ran(
    path: Path, model: ScriptedModel, told: list[AgentEvent] | None = None, by: ScriptedModel | None = None, **more: Any
) -> tuple[Workspace, Result]:
    """Run a task with summaries on."""
    workspace = make_workspace(path, lambda url: page(url.rsplit("/")[-1], 150))
    settings = Settings(**{"max_turns": 0, "summary_tokens": 1_500, **more})
    agent = Agent(
        workspace, model, settings, told.append if told is not None else None, access=Access(summary_model=by)
    )
    return workspace, agent.run("Read about bridges.")


def scripted(brain: Any, window: int = WINDOW, name: str = "scripted") -> ScriptedModel:
    """Return a model of a small window."""
    return ScriptedModel(brain, profile=Profile(name, window=window, price_input=1.0, price_output=5.0))


@pytest.mark.parametrize("name", NAMES)
def test_a_run_goes_through_several_summaries(tmp_path: Path, name: str) -> None:
    """CC-6, I1 to I4: summarised as it goes, each request sound, each bill written down, all of it undoable."""
    told: list[AgentEvent] = []
    model = scripted(researcher(60))
    workspace, result = ran(tmp_path / "w", model, told, policy=name)
    assert result.answer == "Done."
    work = [request for request in model.requests if not is_summary(request)]
    summaries = [request for request in model.requests if is_summary(request)]
    assert_sound(work)
    events = events_of(workspace, result.session)
    compactions = [event for event in events if event.kind == "compaction"]
    made = [event for event in compactions if any(move["move"] == "summarise" for move in event.data["moves"])]
    assert made and all("failed" not in event.data["summary"] for event in made)
    bills = [event for event in events if event.kind == "usage" and event.data.get("purpose") == "summary"]
    assert len(bills) == len(summaries)
    assert sum(map(is_opening, work)) == len(compactions) + 1
    for event in made:
        assert workspace.read(f"msg:{result.session}:{event.seq}.0").text.startswith("<summary ")
    assert workspace.verify().ok


def test_the_summaries_model_is_of_its_own(tmp_path: Path) -> None:
    """CC-3: the cheaper one is asked, with its own window and price, and the session's is not."""
    cheap = scripted(good, window=20_000, name="cheap")
    model = scripted(researcher(60))
    workspace, result = ran(tmp_path / "w", model, by=cheap, policy="claude-code")
    assert cheap.requests and all(request.model == "cheap" for request in cheap.requests)
    assert not any(map(is_summary, model.requests))
    bills = [e.data for e in events_of(workspace, result.session) if e.data.get("purpose") == "summary"]
    assert {bill["model"] for bill in bills} == {"cheap"} and all(bill["cost_usd"] > 0 for bill in bills)
    assert result.cost_usd is not None and result.cost_usd > sum(bill["cost_usd"] for bill in bills)


@pytest.mark.parametrize("note", [True, False])
def test_notes_are_written_in_a_turn_before_the_summary(tmp_path: Path, note: bool) -> None:
    """OC-10: the turn for notes is no answer, and the run goes on after it."""
    model = scripted(researcher(60, note))
    workspace, result = ran(tmp_path / "w", model, policy="openclaw")
    assert result.answer == "Done."
    assert workspace.folder.root.exists("notes/so-far.md") is note
    events = events_of(workspace, result.session)
    asks = [event.seq for event in events if event.data.get("ask_first")]
    epochs = [event.seq for event in events if event.kind == "epoch"]
    assert asks and all(any(ask < epoch for epoch in epochs) for ask in asks[:-1])
    for first, second in itertools.pairwise(asks):
        assert any(first < epoch < second for epoch in epochs), "asked once an epoch"
    assert_sound([request for request in model.requests if not is_summary(request)])


def raising(kind: str) -> Callable[[Request], Any]:
    def brain(request: Request) -> Any:
        raise ModelError("not today", kind=kind)

    return brain


BAD: dict[str, Callable[[Request], Any]] = {
    "misses parts": lambda request: "<record>1. Goal: tides</record>",
    "misses refs": lambda request: re.sub("obs:[0-9a-f]+", "a page", good(request)),
    "grows": lambda request: good(request, "and on " * 3_000),
    "raises": raising("authentication"),
    "overflows": raising("context_overflow"),
    "is silent": lambda request: "",
    "calls tools": lambda request: [call("read", ref="obs:000000000000")],
}


@pytest.mark.parametrize("fault", BAD)
def test_a_bad_summariser_never_ends_a_run(tmp_path: Path, fault: str) -> None:
    """CC-7: told, remembered, folded without a model; the run ends as if there were none."""
    told: list[AgentEvent] = []
    bad = scripted(BAD[fault], name="bad")
    model = scripted(researcher(60))
    workspace, result = ran(tmp_path / "w", model, told, by=bad, policy="gemini-cli")
    assert result.answer == "Done."
    assert_sound(model.requests)
    assert any("no summary was made" in event.text for event in told if event.kind == "warning")
    compactions = [event for event in events_of(workspace, result.session) if event.kind == "compaction"]
    assert sum("summary" in event.data for event in compactions) <= (len(compactions) + 1) // 2 + 1
    assert workspace.verify().ok


def test_an_overflow_in_mid_run_leads_to_a_compaction_and_one_retry(tmp_path: Path) -> None:
    """CC-7: the provider's own error, at a window that nobody told."""
    brain = researcher(20)

    class Small(ScriptedModel):
        def reply(self, request: Request, on_delta: Any = None) -> Any:
            if len(json.dumps(request.to_json())) > 60_000 and not is_summary(request):
                raise ModelError("prompt is too long", kind="context_overflow")
            return super().reply(request, on_delta)

    model = Small(brain, profile=Profile("small", window=200_000))
    told: list[AgentEvent] = []
    _, result = ran(tmp_path / "w", model, told, policy="claude-code")
    assert result.answer == "Done."
    assert any("compacting and trying once more" in event.text for event in told)


def test_the_offline_model_is_never_asked_for_a_summary(tmp_path: Path) -> None:
    """MECHANISMS 2.15: it can only quote; the tiers need no model."""
    workspace = make_workspace(tmp_path / "w", lambda url: page(url.rsplit("/")[-1], 100))
    agent = Agent(workspace, "offline", Settings(policy="claude-code", window=40_000))
    assert agent._summary_model() is None
    assert Agent(workspace, scripted("x"), Settings(summary_model="offline"))._summary_model() is None
    assert Agent(workspace, scripted("x"), Settings(summary_tokens=0))._summary_model() is None


def test_a_result_is_as_large_at_birth_as_the_policy_has_it(tmp_path: Path) -> None:
    """CC-17, CC-18, OC-3: whole up to 50,000 characters; head and an important tail of 16,000."""
    text = "word " * 4_000
    pages = {f"{PAGES}a": text, f"{PAGES}b": text * 4 + "\nTotal: 17 bridges"}
    seen: dict[str, Request] = {}
    for name in ("manus", "claude-code", "openclaw"):
        workspace = make_workspace(tmp_path / name, pages)
        model = ScriptedModel([fetches(pages), "Done."], profile=Profile("scripted"))
        Agent(workspace, model, Settings(policy=name)).run("Go.")
        seen[name] = model.requests[-1]
    sizes = {name: [len(block) for block in _results(request)] for name, request in seen.items()}
    assert all(size < 2_000 for size in sizes["manus"])
    assert sizes["claude-code"][0] > 20_000 and sizes["claude-code"][1] < 4_000
    assert 15_000 < sizes["openclaw"][1] < 18_000
    tail = _results(seen["openclaw"])[1]
    assert "Total: 17 bridges" in tail and "NOT READ: " in tail


def test_the_results_of_a_turn_have_a_cap_in_characters(tmp_path: Path) -> None:
    """CC-18: 200,000 a message; what is beyond is a stub, with its true size."""
    pages = {f"{PAGES}{n}": f"page {n} " * 5_000 for n in range(6)}
    workspace = make_workspace(tmp_path / "w", pages)
    model = ScriptedModel([fetches(pages), "Done."], profile=Profile("scripted", window=1_000_000))
    Agent(workspace, model, Settings(policy="claude-code")).run("Go.")
    results = _results(model.requests[-1])
    assert 150_000 < sum(map(len, results)) <= 200_500
    assert sum(text.startswith("<folded ") for text in results) == 1


def _results(request: Request) -> list[str]:
    return [
        "".join(part["text"] for part in block["content"])
        for message in request.messages
        for block in message["content"]
        if block["type"] == "tool_result"
    ]


def test_settings_are_read_anew_at_each_compaction(tmp_path: Path) -> None:
    """CC-12: a policy is made with the figures that hold now."""
    model = scripted(researcher(12))
    agent = Agent(
        make_workspace(tmp_path / "w", lambda url: page("bridges", 200)),
        model,
        Settings(policy="gemini-cli", max_turns=0),
    )
    agent.settings = replace(agent.settings, gemini_cli_share=0.3, summary_tokens=0)
    told: list[AgentEvent] = []
    agent._on_event = told.append
    agent.run("Read.")
    assert any(event.kind == "compaction" and event.data["before_tokens"] < 0.5 * WINDOW for event in told)
