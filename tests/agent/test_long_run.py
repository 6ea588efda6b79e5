"""A short form of benchmarks/long_run.py: many calls of 50 KB by a model that counts more tokens than we estimate."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from agent_stage import PAGES, agent, assert_sound, fetches, is_opening, make_workspace, page, refs

from manusfs.agent import compaction
from manusfs.messages import Delta, Profile, Reply, Request, Usage
from manusfs.models import ScriptedModel, call, estimated_usage

CALLS = 150
A_TURN = 5
WINDOW = 24_000
DEARER = 1.25


class Dear(ScriptedModel):
    """Counts a quarter more tokens than the estimate, as a real model may."""

    def reply(self, request: Request, on_delta: Callable[[Delta], None] | None = None) -> Reply:
        """Return the next step, billed."""
        reply = super().reply(request, on_delta)
        return replace(reply, usage=Usage(counted(request), round(DEARER * reply.usage.output_tokens)))


def counted(request: Request) -> int:
    """Return the tokens of `request` as that model counts them."""
    return round(DEARER * estimated_usage(request, []).window)


def body(number: int) -> str:
    """Return page `number`, 50 KB."""
    return page(f"bridge {number}", 620)


def source(url: str) -> str:
    """Return the page at `url`."""
    return body(int(url.rsplit("/")[-1]))


@pytest.fixture
def model() -> Dear:
    """Return a model that fetches the next pages, and reads on in one that just came, until all are there."""
    turns = count()

    def fetch_all(request: Request) -> Any:
        first = next(turns) * A_TURN
        if first >= CALLS:
            return "All pages are stored."
        more = [call("read", ref=ref, offset=9_000, limit=2_000) for ref in refs(request)[-1:]]
        return [*fetches(f"{PAGES}{number}" for number in range(first, first + A_TURN)), *more]

    return Dear(fetch_all, profile=Profile("scripted", window=WINDOW))


@pytest.mark.slow
def test_a_long_run_never_exceeds_its_window_and_loses_nothing(tmp_path: Path, model: Dear) -> None:
    """I1 to I4 through many epochs, and the copy of the folder goes on without its index."""
    assert len(body(7).encode()) > 50_000
    workspace = make_workspace(tmp_path / "w", source)
    result = agent(workspace, model, max_turns=0).run("Fetch all pages.")
    assert (result.answer, result.observations) == ("All pages are stored.", CALLS)
    assert all(counted(request) + request.max_tokens <= WINDOW for request in model.requests)
    assert_sound(model.requests)
    assert sum(map(is_opening, model.requests)) > 3
    assert workspace.verify().ok
    for number in range(0, CALLS, 10):
        assert workspace.read(f"{PAGES}{number}", raw=True).data == body(number).encode()
    shown = {ref for request in model.requests for ref in refs(request)}
    assert len(shown) == CALLS and all(workspace.read(ref, limit=80).data for ref in shown)
    workspace.close()

    shutil.copytree(tmp_path / "w", tmp_path / "copy", ignore=shutil.ignore_patterns(".manusfs"))
    again = Dear(["Yes."], profile=model.profile)
    assert agent(make_workspace(tmp_path / "copy"), again).resume(message="Is all there?").answer == "Yes."
    assert all(counted(request) + request.max_tokens <= WINDOW for request in again.requests)


def test_without_compaction_such_a_run_does_not_end_well(
    tmp_path: Path, model: Dear, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: what keeps the run within its window is the compaction."""
    monkeypatch.setattr(compaction, "due", lambda window, policy, budget: False)
    result = agent(make_workspace(tmp_path / "w", source), model, max_turns=0).run("Fetch all pages.")
    assert result.stop == "window" and result.observations < CALLS
