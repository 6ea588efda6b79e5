"""The offline model after a crash: a call that was broken off is made again, so that no answer is lost with it."""

from __future__ import annotations

import json
from pathlib import Path

from agent_stage import agent, make_workspace

from manusfs.models.offline import OfflineModel

TEXT = b"The Aldon Bridge was designed by Ilse Varga. It opened on 4 May 1998 and cost 12.4 million crowns.\n" + (
    b"The river is wide and slow here, and the old ferry crossed it for two hundred years.\n" * 60
)


def test_a_search_that_a_crash_broke_off_is_made_again(tmp_path: Path) -> None:
    """s01: the call has an honest error, the model asks once more, and the answer has its quotes all the same."""
    workspace = make_workspace(tmp_path / "w")
    whole = agent(workspace, OfflineModel()).run("Who designed the Aldon Bridge?", [TEXT])
    workspace.close()
    assert whole.citations.verified > 0
    file = tmp_path / "w" / "sessions" / whole.session / "transcript.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    messages = [i for i, line in enumerate(lines, 1) if json.loads(line)["kind"] == "message"]
    searched = next(i for i in messages if b'"name":"search"' in lines[i - 1])
    file.write_bytes(b"".join(lines[:searched]))
    again = agent(make_workspace(tmp_path / "w"), OfflineModel()).resume()
    assert (again.stop, again.citations) == ("end_turn", whole.citations)
