"""What left the window is one `read` away: through the real store, transcript and resolver, under every policy."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field

import pytest
from lab_runs import page

from manusfs.compact import policy_names
from manusfs.context import Item, Window, assemble, fold
from manusfs.lab import Call, Recording, Result, Stage, Step, Terms, blocks_of, contestants, replay, staged
from manusfs.memory import Workspace
from manusfs.messages import Profile
from manusfs.records import canonical, parse_ref
from manusfs.session import Transcript, sessions
from manusfs.workspace.settings import Settings

TERMS = Terms(window=16_000, max_tokens=1_000)
_OBS = re.compile(r"obs:([0-9a-f]{12,64})|^([0-9a-f]{12,64}) ", re.MULTILINE)
_MSG = re.compile(r'(?:from|ref|whole)="(msg:[^"]+)"|read\(ref="(msg:[^"]+)"')


def made(seed: int) -> Recording:
    """A run with small and large results, failures, thinking, files written, words of the user, calls side by side."""
    rng, steps, number = random.Random(seed), [], 0
    for at in range(40):
        calls, results = [], []
        for _ in range(rng.choice((0, 1, 1, 2, 3))):
            number += 1
            size = rng.choice((0, 60, 900, 3_000, 9_000, 30_000))
            body = page(900 + number, 12_000) if rng.random() < 0.1 else f"b{number}"
            calls.append(Call("fetch", {"page": number, "body": body}))
            results.append(Result(page(number, size) if size else "", is_error=rng.random() < 0.1))
        thinking = ({"type": "thinking", "thinking": f"thought {at}", "signature": "c2ln"},) if at % 3 else ()
        user = f"And question {at}, " + "in full, " * rng.choice((1, 20, 300)) if rng.random() < 0.2 else ""
        steps.append(Step(f"Turn {at}: {page(500 + at, 300)}", thinking, tuple(calls), tuple(results), user))
    return Recording("made", str(seed), "You fetch pages.", "Fetch all the pages and report.", tuple(steps))


@dataclass
class Reads:
    """All that one `read` of a ref in the window brings, through the resolver of the workspace."""

    workspace: Workspace
    window: Window
    text: str
    known: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.ids = {one or other for one, other in _OBS.findall(self.text)}
        self.refs = [parse_ref(one or other) for one, other in _MSG.findall(self.text)]

    def read(self, ref: str) -> str:
        """Return the whole of `ref`, joined from its pieces."""
        if ref not in self.known:
            pieces, at = [], 0
            while True:
                reading = self.workspace.resolver.read(ref, at, chars=16_000, network=False)
                pieces.append(reading.data)
                if reading.next_offset is None:
                    break
                at = reading.next_offset
            self.known[ref] = b"".join(pieces).decode("utf-8")
        return self.known[ref]

    def through_messages(self, seq: int) -> str:
        """Return what the ranges of the window that cover transcript line `seq` bring."""
        covering = [ref for ref in self.refs if ref.seq <= seq <= (ref.last_seq or ref.seq)]
        assert covering, f"no ref in the window leads to line {seq}"
        return "\n".join(self.read(str(ref)) for ref in covering)


def last_window(stage: Stage) -> Reads:
    """Return what the model sees at the end of the session that was replayed last."""
    folder = stage.workspace.folder
    with Transcript.open(folder, sessions(folder)[-1].session) as transcript:
        window = fold(transcript.events)
    request = assemble(window, stage.workspace.renderer, Profile("recorded", TERMS.window))
    said = "\n".join(
        inner["text"]
        for message in request.messages
        for block in message["content"]
        for inner in (block["content"] if block["type"] == "tool_result" else [block])
        if inner["type"] == "text"
    )
    return Reads(stage.workspace, window, said)


def check(item: Item, reads: Reads, stage: Stage) -> None:
    """The block comes back exactly: an observation whole by its ref, the rest as it was shown by a range of lines."""
    event = reads.window.events[item.seq]
    if event.kind == "observation":
        call = event.data["call"].split("_")
        arrived = next(one for one in stage.arrived if (one.step, one.place) == (int(call[1]), int(call[2])))
        if not arrived.text:
            return  # the tool gave nothing, and the record says so
        if arrived.id in reads.ids:
            assert reads.read(f"obs:{arrived.id}") == arrived.text
            return
        shown = reads.read(f"msg:{reads.window.session}:{item.seq}")
    else:
        block = event.data["content"][item.block] if event.kind == "message" else None
        shown = reads.read(f"msg:{reads.window.session}:{item.seq}.{item.block}")
        if block is not None:
            assert shown == (block["text"] if block["type"] == "text" else canonical(block))
    assert shown in reads.through_messages(item.seq)


@pytest.mark.slow
@pytest.mark.parametrize("name", policy_names())
@pytest.mark.parametrize("seed", [1, 2])
def test_all_that_left_the_window_is_one_read_of_a_ref_in_it_away(name: str, seed: int) -> None:
    """I1, MA-1, MECHANISMS 2.1: equal byte for byte, whatever was folded, summarised or collapsed."""
    settings = Settings()
    (_, contestant) = contestants([name], settings, TERMS)
    with staged(made(seed), settings, searches=False) as stage:
        measures = replay(stage, contestant, TERMS, blocks_of(stage))
        reads = last_window(stage)
        gone = [item for item in reads.window.items if item.form != "full"]
        assert measures.epochs and len(gone) > 40, "the window was far too small"
        for item in gone:
            check(item, reads, stage)


def test_every_observation_that_auto_folded_is_named_by_its_own_ref() -> None:
    """A ledger line is enough for one `read`; only where ledgers collapse it takes two."""
    settings = Settings()
    (_, contestant) = contestants(["auto"], settings, TERMS)
    with staged(made(3), settings, searches=False) as stage:
        replay(stage, contestant, TERMS, blocks_of(stage))
        reads = last_window(stage)
    standing = [ledger for _, ledger in reads.window.ledgers]
    assert standing
    for item in reads.window.items:
        event = reads.window.events[item.seq]
        if item.form == "ledger" and event.kind == "observation":
            assert event.data["id"] in reads.ids
