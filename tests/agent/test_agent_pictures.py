"""Pictures in a long run: they become refs before the API's limits are reached, and none is lost unseen (I3, 2.14)."""

from __future__ import annotations

import base64
import struct
import zlib
from pathlib import Path
from typing import Any

from agent_stage import PAGES, assert_sound, make_workspace

from manusfs.agent import Agent, AgentEvent
from manusfs.agent.budget import TURN_PICTURES
from manusfs.compact import MOST_PICTURES
from manusfs.messages import Profile, Request
from manusfs.models import ScriptedModel, call
from manusfs.records import Fetched, Source
from manusfs.workspace.settings import Settings


def png(number: int, side: int) -> bytes:
    """Return a picture that no other has the bytes of."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", side, 1, 8, 0, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"tEXt", b"Title\0%d" % number)
    return b"\x89PNG\r\n\x1a\n" + body + chunk(b"IDAT", zlib.compress(b"\0" * (side + 1))) + chunk(b"IEND", b"")


def pictures(request: Request) -> list[str]:
    """Return the data of the pictures that `request` shows."""
    found = []
    for message in request.messages:
        for block in message["content"]:
            inner = block.get("content", ()) if block["type"] == "tool_result" else (block,)
            found += [one["source"]["data"] for one in inner if one["type"] == "image"]
    return found


def run(path: Path, sizes: list[list[int]], policy: str) -> tuple[list[Request], list[AgentEvent], list[str]]:
    """Run with so many pictures a turn, of these sides; return the requests, what was told, the pictures as data."""
    workspace = make_workspace(path)
    flat = [side for turn in sizes for side in turn]
    raws = [png(number, side) for number, side in enumerate(flat)]
    bodies = [Fetched(Source.web(f"{PAGES}{n}.png"), raw, "image/png") for n, raw in enumerate(raws)]
    taken = workspace.intake.take(bodies, "20261130-aaaa", [""] * len(bodies))
    ids = iter([one.meta.id for one in taken])
    steps: list[Any] = [[call("read", ref=f"obs:{next(ids)}", raw=True) for _ in turn] for turn in sizes]
    asked: list[Request] = []
    told: list[AgentEvent] = []

    def brain(request: Request) -> Any:
        asked.append(request)
        return steps.pop(0) if steps else "Done."

    model = ScriptedModel(brain, profile=Profile("scripted", window=1_000_000))
    settings = Settings(summary_tokens=0, policy=policy, max_turns=0)
    result = Agent(workspace, model, settings, told.append).run("Look at the pictures.")
    assert result.stop == "end_turn", result
    return asked, told, [base64.b64encode(raw).decode() for raw in raws]


def test_pictures_become_refs_before_they_pile_up_and_each_is_seen_once(tmp_path: Path) -> None:
    """2.14, I3: of any size, under a policy that never folds by itself."""
    asked, told, shown = run(tmp_path / "w", [[3_000] * 4] * 16, "none")
    assert_sound(asked)
    assert all(len(pictures(request)) <= MOST_PICTURES for request in asked)
    assert {data for request in asked for data in pictures(request)} == set(shown)
    assert sum(event.kind == "compaction" for event in told) >= 3


def test_a_turn_brings_so_many_pictures_and_names_the_rest(tmp_path: Path) -> None:
    """I9: what is not sent is told with its ref."""
    asked, _, _ = run(tmp_path / "w", [[100] * 14], "manus")
    assert len(pictures(asked[-1])) == TURN_PICTURES
    assert str(asked[-1].messages).count("NOT SENT: one turn may bring 10 pictures") == 4
