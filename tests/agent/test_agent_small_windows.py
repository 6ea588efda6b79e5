"""Small windows: what a call brought is seen once before it is folded, so that every run comes to its end (I4)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from agent_stage import PAGES, assert_sound, make_workspace, page
from servers.messages_api import MessagesServer, research_brain

from manusfs.agent import Agent, AgentEvent
from manusfs.errors import ConfigError
from manusfs.messages import Delta, Profile, Reply, Request
from manusfs.models import MODELS, AnthropicModel, Connection, ScriptedModel, call, estimated_usage
from manusfs.models.failures import Backoff
from manusfs.workspace.settings import Settings

TASK = "When was the bridge number 87 opened? When was lighthouse number 12 opened? When was turbine number 3 opened?"
TOPICS = ("bridge", "turbine", "lighthouse", "harbour", "railway", "tunnel")
QUICK = Connection(backoff=Backoff(0.01, 0.02, 1.0))


class Watched:
    """The offline model, and what it was asked."""

    def __init__(self, window: int) -> None:
        self._model = MODELS.load("offline")(0, window)
        self.profile: Profile = self._model.profile
        self.requests: list[Request] = []

    def reply(self, request: Request, on_delta: Callable[[Delta], None] | None = None) -> Reply:
        """Answer and remember."""
        self.requests.append(request)
        answered: Reply = self._model.reply(request, on_delta)
        return answered


@pytest.mark.parametrize("window", [8_000, 11_000, 16_000, 30_000])
def test_offline_comes_to_a_cited_report_in_any_window(tmp_path: Path, window: int) -> None:
    """The results of a turn were folded before the model had seen them, and it asked for them until its last turn."""
    settings = Settings(window=window, max_tokens=2_000, max_turns=30)
    workspace = make_workspace(tmp_path / "w", settings=settings)
    for topic in TOPICS:
        (tmp_path / f"{topic}.html").write_text(page(topic))
    model, told = Watched(window), list[AgentEvent]()
    result = Agent(workspace, model, settings, told.append).run(TASK, [tmp_path / f"{t}.html" for t in TOPICS])
    assert (result.stop, result.citations.total, result.citations.verified) == ("end_turn", 3, 3), result
    assert all(f"opened in May {year}" in result.answer for year in (1987, 1912, 1903))
    assert_sound(model.requests)
    assert all(estimated_usage(request, []).window + request.max_tokens <= window for request in model.requests)
    assert any(event.kind == "compaction" for event in told)


@pytest.mark.parametrize("window", [12_000, 16_000, 30_000])
def test_a_model_behind_the_strict_server_comes_to_its_end_in_a_small_window(tmp_path: Path, window: int) -> None:
    """I2 to I4 through the SDK: signatures, pairing, size; nothing is refused."""
    settings = Settings(max_turns=30)
    workspace = make_workspace(tmp_path / "w", {f"{PAGES}{topic}": page(topic) for topic in TOPICS}, settings)
    with MessagesServer(research_brain, window=window) as server:
        model = AnthropicModel("claude-sonnet-5-5", key="k", base_url=server.url, connection=QUICK)
        model.profile = replace(model.profile, window=window, max_output=2_000)
        told: list[AgentEvent] = []
        result = Agent(workspace, model, settings, told.append).run(TASK, [f"{PAGES}{topic}" for topic in TOPICS])
        assert server.refused == []
    assert result.stop == "end_turn" and result.citations.verified == result.citations.total, result
    if window > 12_000:  # below, this researcher forgets what it does not read again
        assert result.citations.total >= 1


def test_results_that_do_not_fit_beside_the_rest_are_seen_once_all_the_same(tmp_path: Path) -> None:
    """A result larger than what is left, but not than a folded window, is not cut to a ref."""
    workspace = make_workspace(tmp_path / "w", lambda url: page(url.rsplit("/")[-1], 100))
    urls = [f"{PAGES}{topic}" for topic in TOPICS]
    reads: list[str] = []

    def look(request: Request) -> Any:
        said = json.dumps(request.messages)
        if reads:
            assert f"Paragraph {len(reads) * 10 - 9}:" in said, "what was asked for is there, in full"
        if len(reads) == 8:
            return "Done."
        reads.append("x")
        return [call("read", ref=urls[len(reads) % 6], offset=740 * (len(reads) - 1), limit=1_500)]

    def brain(request: Request) -> Any:
        if not reads and "<observation " not in json.dumps(request.messages):
            return [call("web_fetch", url=url) for url in urls]
        return look(request)

    model = ScriptedModel(brain, profile=Profile("scripted", window=11_000))
    assert Agent(workspace, model, Settings(max_tokens=2_000)).run("Read on.").answer == "Done."
    assert_sound(model.requests)


def test_a_window_in_which_nothing_can_be_done_is_told_at_the_start(tmp_path: Path) -> None:
    """I9: with the numbers, before a session is made."""
    workspace = make_workspace(tmp_path / "w")
    settings = Settings(window=6_000)
    with pytest.raises(ConfigError, match=r"6,000 tokens is too small.*reserve 1,800") as caught:
        Agent(workspace, "offline", settings).run("Anything?")
    assert "larger window" in caught.value.hint
    assert not list((tmp_path / "w/sessions").glob("2*"))
