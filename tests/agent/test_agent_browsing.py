"""The offline model follows links: the likely ones, only so many, and no further than pages help."""

from __future__ import annotations

from pathlib import Path

import pytest
from agent_stage import make_workspace

from manusfs.agent import Agent
from manusfs.memory import Workspace
from manusfs.models.offline import OfflineModel

BASE = "https://example.org/"
FILLER = "The river is wide and slow here, and the old ferry crossed it for years.\n\n" * 40
START = (
    f"# The Aldon bridge\n\n{FILLER}[Log in]({BASE}login) [Our goats]({BASE}goats) "
    f"[Traffic on the bridge]({BASE}traffic) [Opening of the bridge]({BASE}opening)\n"
)


def pages(url: str) -> str:
    """A site whose every page leads to ten more that hold nothing."""
    known = {
        BASE: START,
        f"{BASE}traffic": "# Traffic\n\nIn 2010 the Aldon bridge carried 11,200 cars a day.\n",
        f"{BASE}opening": "# Opening\n\nThe Aldon bridge opened on 4 May 1998.\n",
    }
    dull = "".join(f"[The bridge, part {n}]({url}{n}/) " for n in range(10))
    return known.get(url, f"# Dull\n\nNothing of note happens in this place.\n\n{dull}\n")


def fetched(workspace: Workspace) -> list[str]:
    return list(workspace.fetcher.asked)  # type: ignore[attr-defined]


def test_it_follows_the_links_that_share_words_with_the_question(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path / "w", pages)
    result = Agent(workspace, OfflineModel(max_pages=2)).run("How many cars cross the bridge a day in traffic?", [BASE])
    assert f"{BASE}traffic" in fetched(workspace) and f"{BASE}login" not in fetched(workspace)
    assert "11,200 cars a day" in result.answer and result.citations.verified == result.citations.total > 0


@pytest.mark.parametrize("most", [0, 1, 3])
def test_it_follows_no_more_pages_than_it_may(tmp_path: Path, most: int) -> None:
    workspace = make_workspace(tmp_path / "w", pages)
    Agent(workspace, OfflineModel(max_pages=most)).run("Who painted the bridge, part of it?", [BASE])
    assert len(set(fetched(workspace)) - {BASE}) <= most


def test_it_stops_when_more_pages_stop_adding_support(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path / "w", pages)
    Agent(workspace, OfflineModel(max_pages=50)).run("Which painter gilded the bridge, part by part?", [BASE])
    assert 1 < len(set(fetched(workspace))) < 20
