"""Whole runs with the models that ship: offline, and the SDK against a server as strict as the API."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from agent_stage import OPEN, PAGES, make_workspace, page
from servers.messages_api import MessagesServer, research_brain
from servers.messages_http import Fault
from servers.web import WebServer

from manusfs.agent import Access, Agent, AgentEvent
from manusfs.memory import Workspace
from manusfs.models import AnthropicModel, Connection
from manusfs.models.failures import Backoff
from manusfs.workspace.settings import Settings

QUICK = Connection(backoff=Backoff(0.01, 0.02, 1.0))
STORY = (
    "<html><head><title>The North Plant</title></head><body><article><h1>The North Plant</h1>"
    "<p>The north plant was opened in May 1987 by the mayor of the town.</p>"
    "<p>It has four turbines, each of 25 megawatts, and feeds the old grid.</p>"
    + "".join(
        f"<p>In {year} nothing of note happened at the plant, as the yearly report says.</p>"
        for year in range(1990, 2020)
    )
    + "</article></body></html>"
)


@pytest.fixture
def api() -> Iterator[MessagesServer]:
    """The strict server with a brain that researches; at the end nothing that was sent may have been refused."""
    with MessagesServer(research_brain) as server:
        yield server


def ask(server: MessagesServer, key: str = "k", window: int = 0) -> AnthropicModel:
    model = AnthropicModel("claude-sonnet-5-5", key=key, base_url=server.url, connection=QUICK)
    if window:
        model.profile = replace(model.profile, window=window, max_output=window // 8)
    return model


def test_offline_from_a_question_to_a_checked_report(tmp_path: Path) -> None:
    """The whole chain over HTTP: fetch, extract, store, search, read, note, answer; every quote stands in its bytes."""
    settings = Settings(allow_hosts=("127.0.0.1",), host_delay_s=0, robots=False)
    with WebServer({"/plant": STORY}) as web:
        workspace = Workspace.create(tmp_path / "w", settings)
        OPEN.append(workspace)
        result = Agent(workspace, "offline").run("When was the north plant opened?", [web.url("/plant")])
    assert result.stop == "end_turn" and result.exit_code == 0, result
    assert result.citations.total >= 1 and result.citations.verified == result.citations.total
    assert "opened in May 1987" in result.answer and result.observations == 1
    assert list((tmp_path / "w/notes/findings").glob("*.md")) and "[x]" in (tmp_path / "w/todo.md").read_text()


def test_the_strict_server_takes_every_request_of_a_run(tmp_path: Path, api: MessagesServer) -> None:
    """I2, I3: signatures over the prefix, pairing, marks; most of the input is read from the cache."""
    workspace = make_workspace(tmp_path / "w", {f"{PAGES}plant": STORY})
    result = Agent(workspace, ask(api)).run("When was the north plant opened?", [f"{PAGES}plant"])
    assert api.refused == [] and result.exit_code == 0 and "1987" in result.answer
    assert len(api.accepted) == result.turns >= 4
    assert result.usage.cache_read_input_tokens > result.usage.cache_creation_input_tokens
    assert result.cost_usd is not None and result.cost_usd > 0


@pytest.mark.parametrize(
    "fault",
    [
        Fault("429", times=2), Fault("529"), Fault("midstream"), Fault("drop", after=3), Fault("end"), Fault("garbage"),
        Fault("max_tokens"), Fault("pause_turn"),
    ],
    ids=lambda fault: fault.kind,
)  # fmt: skip
def test_a_run_gets_over_what_can_pass(tmp_path: Path, api: MessagesServer, fault: Fault) -> None:
    """Mid-stream errors are asked again and the half answer dropped; all stop reasons go on."""
    workspace = make_workspace(tmp_path / "w", {f"{PAGES}plant": STORY})
    told: list[AgentEvent] = []
    model = ask(api)

    def plan(event: AgentEvent) -> None:
        told.append(event)
        if event.kind == "usage" and event.data["turn"] == 2:
            api.plan(fault)

    result = Agent(workspace, model, on_event=plan).run("When was the north plant opened?", [f"{PAGES}plant"])
    assert result.stop == "end_turn" and "1987" in result.answer, result
    assert all(word.startswith(("messages", "tools", "system", "thinking")) is False for word in api.refused), (
        api.refused
    )


def test_a_prompt_that_is_too_long_is_compacted_and_sent_again(tmp_path: Path, api: MessagesServer) -> None:
    """The server's window is smaller than was thought: one refusal, then a new epoch that fits."""
    workspace = make_workspace(tmp_path / "w", {f"{PAGES}{n}": page(f"plant{n}") for n in range(12)})
    told: list[AgentEvent] = []

    def brain(body: dict[str, Any]) -> tuple[list[dict[str, Any]], str]:
        shown = json.dumps(body["messages"]).count("All about plant")
        if shown >= 12:
            return [{"type": "text", "text": "Enough."}], "end_turn"
        use = {"type": "tool_use", "id": f"toolu_{shown}", "name": "web_fetch"}
        arguments = {"url": f"{PAGES}{shown}", "limit": 9_000}
        return [{"type": "thinking", "thinking": "More."}, {**use, "input": arguments}], "tool_use"

    with MessagesServer(brain, window=45_000) as server:
        model = ask(server)
        model.profile = replace(model.profile, max_output=2_000)
        Agent(workspace, model, Settings(max_turns=15), on_event=told.append).run("Fetch.")
        assert [kind for kind in (e.kind for e in told) if kind == "compaction"], server.refused
        assert all("too long" in why or "exceed" in why for why in server.refused), server.refused


def test_many_epochs_against_the_strict_server(tmp_path: Path) -> None:
    """s17: thinking stays within its epoch; a small window is never exceeded; the cache is used within each epoch."""
    workspace = make_workspace(tmp_path / "w", lambda url: page(url.rsplit("/")[-1]))
    count = 0

    def brain(body: dict[str, Any]) -> tuple[list[dict[str, Any]], str]:
        nonlocal count
        count += 1
        if count > 30:
            return [{"type": "text", "text": "Enough."}], "end_turn"
        use = {"type": "tool_use", "id": f"toolu_{count}", "name": "web_fetch"}
        arguments = {"url": f"{PAGES}{count}", "limit": 6_000}
        return [{"type": "thinking", "thinking": f"Page {count}."}, {**use, "input": arguments}], "tool_use"

    with MessagesServer(brain, window=30_000) as server:
        told: list[AgentEvent] = []
        result = Agent(workspace, ask(server, window=30_000), on_event=told.append).run("Fetch thirty pages.")
        assert server.refused == [] and result.answer == "Enough."
    assert sum(event.kind == "compaction" for event in told) >= 3


def test_a_colleague_goes_on_with_another_key(tmp_path: Path, api: MessagesServer) -> None:
    """Thinking is bound to the account: with another credential the next epoch leaves it out."""
    workspace = make_workspace(tmp_path / "w", {f"{PAGES}plant": STORY})
    Agent(workspace, ask(api), access=Access(credential="aa")).run("When was it opened?", [f"{PAGES}plant"])
    task = "How many turbines has the north plant?"
    result = Agent(workspace, ask(api, "other"), access=Access(credential="bb")).resume(message=task)
    assert api.refused == [] and result.stop == "end_turn"
    assert '"thinking"' not in json.dumps(api.accepted[-1]["messages"][0])
