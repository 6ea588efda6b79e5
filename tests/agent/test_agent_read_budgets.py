"""Budgets that only a session knows: what stands in the window already, and what start-up files take together."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from agent_stage import PAGES, agent, fetches, make_workspace, page, refs, results

from manusfs.messages import Profile, Request
from manusfs.models import ScriptedModel, call


def test_a_span_that_a_new_epoch_carries_in_full_is_answered_with_a_pointer(tmp_path: Path) -> None:
    """CC-15, section 2.13: after a compaction, too, as long as the text stands in the window."""
    workspace = make_workspace(tmp_path / "w", lambda url: page(url.rsplit("/")[-1], 100))
    first: list[str] = []
    turn = iter(range(100))

    def brain(request: Request) -> Any:
        carried = re.findall(r'<read ref="(obs:[0-9a-f]+)" view="text" start="0"', str(request.messages))
        if first:
            return "Done."
        if len(request.messages) == 1 and carried:
            first[:] = carried[-1:]
            return [call("read", ref=first[0], offset=0, limit=500)]
        newest = [call("read", ref=ref, offset=0, limit=500) for ref in refs(request)[-1:]]
        return [*fetches([f"{PAGES}{next(turn)}"], limit=4_000), *newest]

    model = ScriptedModel(brain, profile=Profile("scripted", window=30_000))
    result = agent(workspace, model).run("Go.")
    assert first, "compacted, with a read carried over"
    answer = results(model.requests[-1])[-1]
    assert answer.startswith("Unchanged: ") and result.answer == "Done."
    (where,) = [word for word in answer.replace("(", " ").replace(")", " ").split() if word.startswith("msg:")]
    assert "Paragraph 0" in workspace.read(where.rstrip(";,")).text


def test_start_up_files_have_a_cap_each_and_together(tmp_path: Path) -> None:
    """OC-2, OC-4: head 75 %, tail 25 %, with the ref of the middle; in the first epoch and in later ones."""
    workspace = make_workspace(tmp_path / "w", lambda url: page(url.rsplit("/")[-1], 100))
    (tmp_path / "w/AGENTS.md").write_text("Head. " + "rule " * 4_000 + "Tail.")
    (tmp_path / "w/todo.md").write_text("- [ ] " + "step " * 300)
    steps: list[Any] = [fetches([f"{PAGES}{n}" for n in range(i, i + 3)], limit=5_000) for i in range(0, 12, 3)]
    model = ScriptedModel([*steps, "Done."], profile=Profile("scripted", window=30_000))
    told = agent(workspace, model, startup_file_chars=4_000, startup_total_chars=4_500)
    told.run("Go.")
    openings = [request for request in model.requests if len(request.messages) == 1]
    assert len(openings) > 1
    for request in (openings[0], openings[-1]):
        (shown,) = [b["text"] for b in request.messages[0]["content"] if b["text"].startswith("<instructions")]
        assert 2_500 < len(shown) < 3_300
        assert "Head. " in shown and "Tail." in shown and "…[OMITTED " in shown
