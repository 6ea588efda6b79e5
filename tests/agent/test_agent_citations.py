"""Citations through a whole run: a model's own, links in the report, claims without any, refs that were never read."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from agent_stage import agent, make_workspace
from servers.messages_api import MessagesServer
from servers.messages_evidence import cite, results_of

from manusfs.agent import Agent
from manusfs.cli.main import _run
from manusfs.memory import Workspace
from manusfs.models import AnthropicModel, Connection
from manusfs.models.failures import Backoff
from manusfs.workspace.settings import Settings

Json = dict[str, Any]
QUICK = Connection(timeout_s=20, backoff=Backoff(first_s=0.01, most_s=0.02))
PAGE = "# The plant\n\n" + "".join(f"Field {n} lies by the river.\n\n" for n in range(300))
FACT = "The plant was opened in May 1987 by the mayor."


def citing_brain(body: Json) -> tuple[list[Json], str]:
    """Read the file in two pieces, then answer with citations of search results alone."""
    given = list(results_of(body["messages"]))
    asked = re.search(r"obs:[0-9a-f]{12,}", json.dumps(body["messages"][0]))
    assert asked is not None
    if len(given) < 2:
        call = {"ref": asked[0], "offset": 8_000 * len(given), "limit": 8_000}
        return [{"type": "tool_use", "id": f"call_{len(given)}", "name": "read", "input": call}], "tool_use"
    for number, (_, block) in enumerate(given):
        for at, piece in enumerate(block["content"]):
            if FACT in piece["text"]:
                found = cite(body["messages"], number, at, at + 1)
    return [
        {"type": "text", "text": "The plant "},
        {"type": "text", "text": "was opened in 1987", "citations": [found]},
        {"type": "text", "text": ", by the mayor himself."},
    ], "end_turn"


def test_a_models_own_citations_become_footnotes_that_are_checked_and_open_their_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """I2, I3, DESIGN 8: evidence is given as search results, through the real SDK and a strict server."""
    settings = Settings(search_results=True, max_turns=8)
    (tmp_path / "plant.md").write_text(f"{PAGE}{FACT}\n\nThe end.\n", "utf-8")
    with MessagesServer(citing_brain) as server, Workspace.create(tmp_path / "w", settings=settings) as workspace:
        model = AnthropicModel("claude-sonnet-5-5", key="k", base_url=server.url, connection=QUICK)
        result = Agent(workspace, model, settings).run("When was the plant opened?", [tmp_path / "plant.md"])
        model.close()
        assert server.refused == []
        assert (result.stop, result.citations.total, result.citations.verified) == ("end_turn", 1, 1), result
        assert re.search(r"The plant was opened in 1987\[\^\d+\.1\], by the mayor himself\.", result.answer)
        (span,) = re.findall(r"obs:[0-9a-f]+@(\d+)-(\d+)", result.answer)
        assert int(span[1]) - int(span[0]) < 400  # narrowed from the whole that was read
        report = workspace.folder.root.read(result.report).decode()
        assert re.search(r"\(\[text, line \d+\]\(\.\./observations/file/[^)]+/text\.md#L\d+\)\)", report)
        capsys.readouterr()
        assert _run(["-w", str(tmp_path / "w"), "cite", result.report, "--json"]) == 0
        first = json.loads(capsys.readouterr().out.splitlines()[0])
        assert first["read"] and first["path"].endswith("text.md") and first["path_line"] > 500


def test_a_report_lists_claims_without_a_citation_and_refs_that_were_never_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace = make_workspace(tmp_path / "w")
    (tmp_path / "plant.md").write_text(f"{PAGE}{FACT}\n", "utf-8")
    ref = workspace.add(str(tmp_path / "plant.md")).ref
    start = len(PAGE.encode())
    answer = (
        "The plant was opened in 1987.[^1] The mayor came by boat that day.\n\n"
        f'[^1]: "{FACT}" — The plant, {ref}@{start}-{start + len(FACT)}\n'
    )
    result = agent(workspace, [answer]).run("When was the plant opened?")
    report = workspace.folder.root.read(result.report).decode()
    assert "Claims without a citation: 1\n* “The mayor came by boat that day.”" in report
    assert "this part was never read" in report and "Citations: 1 of 1" in report
    capsys.readouterr()
    assert _run(["-w", str(tmp_path / "w"), "cite", result.report]) == 0
    shown = capsys.readouterr().out
    assert "never read" in shown and shown.count("no citation: The mayor came by boat that day.") == 1
