"""The researching brain end to end: the real agent, the real SDK, the strict server, and a web server of our own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from servers.messages_api import Fault, MessagesServer, research_brain
from servers.web import WebServer

from manusfs.agent import Agent
from manusfs.agent.result import Result
from manusfs.memory import Workspace
from manusfs.models import AnthropicModel, Connection
from manusfs.models.failures import Backoff
from manusfs.workspace.settings import Settings

QUICK = Connection(timeout_s=20, backoff=Backoff(first_s=0.01, most_s=0.02))
FILLER = "".join(
    f"<p>Paragraph {n}: the river runs past field {n} and nothing else of note happens.</p>" for n in range(200)
)
PAGE = (
    f"<html><head><title>Mill Valley</title></head><body><article><h1>Plant</h1>{FILLER}"
    f"<p>The plant was opened in May 1987 by the mayor of the town.</p>"
    f"<p>東京タワーの高さは333メートルです。</p>{FILLER}"
    "</article></body></html>"
)
TASK = "When was the plant opened? Who painted the harbour bridge? 東京タワーの高さは？"


@pytest.fixture(scope="module")
def page() -> Iterator[str]:
    with WebServer({"/plant": PAGE, "/robots.txt": "User-agent: *\nAllow: /"}) as web:
        yield web.url("/plant")


def run(server: MessagesServer, folder: Path, page: str) -> Result:
    settings = Settings(allow_hosts=("127.0.0.1",), host_delay_s=0.0, max_turns=20)
    workspace = Workspace.create(folder, settings=settings)
    model = AnthropicModel("claude-sonnet-5-5", key="k", base_url=server.url, connection=QUICK)
    try:
        return Agent(workspace, model, settings).run(TASK, [page])
    finally:
        model.close()
        workspace.close()


def test_a_run_through_the_sdk_answers_with_quotes_that_stand_in_their_spans(tmp_path: Path, page: str) -> None:
    """I3: every request of a whole run is one that the strict server takes, thinking, marks and all."""
    with MessagesServer(research_brain) as server:
        result = run(server, tmp_path / "w", page)
        assert server.refused == []
    assert result.stop == "end_turn"
    assert (result.citations.total, result.citations.verified) == (2, 2)
    assert "May 1987" in result.answer
    assert "333" in result.answer
    assert "no support for an answer to: Who painted" in result.answer
    assert result.usage.cache_read_input_tokens > 0
    assert server.accepted[-1]["thinking"] == {"type": "adaptive", "display": "summarized"}


def test_a_run_passes_over_what_goes_wrong_on_the_way(tmp_path: Path, page: str) -> None:
    faults = ("429", "midstream", "pause_turn", "drop", "529", "end")
    with MessagesServer(research_brain) as server:
        server.plan(*(Fault(kind) for kind in faults))
        result = run(server, tmp_path / "w", page)
        assert [line[:3] for line in server.refused] == ["429", "529"]
    assert (result.stop, result.citations.verified) == ("end_turn", 2)


def test_the_server_runs_as_a_program() -> None:
    program = Path(__file__).with_name("messages_api.py")
    with subprocess.Popen(
        [sys.executable, str(program), "--port", "0"], stdout=subprocess.PIPE, text=True, env={**os.environ}
    ) as process:
        assert process.stdout is not None
        url = process.stdout.readline().split()[0].partition("=")[2]
        asked = urllib.request.Request(f"{url}/v1/models", headers={"x-api-key": "fake"})
        with urllib.request.urlopen(asked, timeout=10) as answer:
            assert b"claude-sonnet-5-5" in answer.read()
        process.send_signal(signal.SIGINT)
        assert "stopped" in process.stdout.read()
    assert process.returncode == 0
