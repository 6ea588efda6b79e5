"""Requests for summaries fit the window of the model that they go to, whatever it said before (I4)."""

from __future__ import annotations

import random

import pytest
from compact.runs import Run
from compact.summarisers import good, perform
from context.conversations import text

from manusfs.compact import Summariser, load_policy
from manusfs.context import estimate
from manusfs.messages import Reply, Request

LONG = "a word that no record has " * 400


def size(request: Request) -> int:
    texts = [block["text"] for message in request.messages for block in message["content"]]
    return sum(estimate(one) for one in (*texts, *(block["text"] for block in request.system)))


@pytest.mark.parametrize("name", ["manus", "claude-code", "gemini-cli", "openclaw"])
@pytest.mark.parametrize("window", [2_500, 6_000])
@pytest.mark.parametrize("fault", ["none", "long", "long piece"])
def test_no_request_for_a_summary_exceeds_its_model(name: str, window: int, fault: str) -> None:
    """I4: also the second one, with the first reply in it, and the one that puts pieces together."""
    by = Summariser("small", window=window, max_output=8_000, tokens=1_500)

    def brain(request: Request) -> Reply | str:
        said = good(request) if fault == "none" or (fault == "long") == ("<piece>" in str(request.messages)) else ""
        return said or f"<draft>x</draft>{LONG[: by.reply * 4]}"

    run, rng = Run(load_policy(name), 40_000), random.Random(4)
    for number in range(0, 100, 2):
        run.turn(number, 2, rng)
        run.add(run.log.says(text(f"Noted {number}. " + "The tides follow the moon. " * 30)))
    _, requests = perform(run, brain, by)
    assert all(size(request) + request.max_tokens <= window for request in requests), [size(r) for r in requests]
    assert run.window.tokens <= run.budget.limit
