"""How far away a need is: what a request no longer names is two reads away, and is charged for both."""

from __future__ import annotations

from lab_runs import FACT, page, recording

from manusfs.compact.auto import Auto
from manusfs.lab import Contestant, Measures, Terms, blocks_of, replay, staged
from manusfs.lab.cost import Cache, Prices
from manusfs.lab.view import Blocks, View
from manusfs.messages import Request
from manusfs.workspace.settings import Settings

LATE = recording([page(0, 4_000, FACT), *(page(n, 4_000) for n in range(1, 40))], {40: f"As seen: {FACT}."})


def late(policy: Auto) -> Measures:
    """A fact of the first of forty pages is quoted at the end."""
    with staged(LATE, Settings(), searches=False) as stage:
        return replay(stage, Contestant("auto", policy), Terms(window=24_000, max_tokens=1_000), blocks_of(stage))


def saying(*texts: str) -> Request:
    content = [{"type": "text", "text": text} for text in texts]
    return Request(model="m", max_tokens=9, system=(), tools=(), messages=({"role": "user", "content": content},))


def test_a_line_in_a_ledger_is_one_read_away_and_a_collapsed_one_two() -> None:
    """MECHANISMS 2.1: a ref that stood in the window once, and does no longer, brings nothing back."""
    near, far = late(Auto(ledgers=0.9)), late(Auto(ledgers=0.0))
    assert (near.old.read, near.old.reads) == (1, 0) and near.extra_reads == 1
    assert (far.old.read, far.old.reads) == (0, 1) and far.extra_reads == 2
    assert near.old.lost == far.old.lost == 0


def test_what_left_the_request_is_no_longer_named_by_it() -> None:
    view = View(Blocks(frozenset()), Cache(Prices()), 10)
    view.take(saying('see obs:3f9c21ab77de, <ledger from="msg:20260101-lab0:12-97"/>'), edits=False)
    assert view.names("3f9c21ab77de") and view.covers(12) and view.covers(97) and not view.covers(98)
    view.take(saying("another opening"), edits=False)
    assert not view.names("3f9c21ab77de") and not view.covers(12)
