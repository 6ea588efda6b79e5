"""Moves made exact: each names only what it really changes, and each ledger gets its lines."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Literal

from manusfs.compact.moves import Fold, Move, Summarise, ToFull, span
from manusfs.context import Exchange, Form, Item, Key, Ledger, Window, ledger_lines
from manusfs.records import MsgRef

__all__ = ["settle"]

_RANK: dict[Form, float] = {"full": 0, "trim": 0.5, "stub": 1, "ledger": 2, "summary": 2, "collapsed": 3}


def settle(window: Window, moves: Iterable[Move], keep: Collection[Key] = ()) -> tuple[list[Move], list[Ledger]]:
    """Return `moves` without what they would not change, and the ledgers of those that need one, in their order.

    A fold never brings a block back to a larger form, nor touches those of `keep`; a collapse takes in the ledgers
    that it finds.
    """
    settled: list[Move] = []
    ledgers: list[Ledger] = []
    for move in moves:
        if isinstance(move, Fold):
            items = [item for item in _items(window, move.blocks) if _goes_down(item, move) and item.key not in keep]
        elif isinstance(move, ToFull):
            items = [item for item in _items(window, move.blocks) if item.form != "full"]
        elif isinstance(move, Summarise) and move.said is not None:
            items = [item for item in _items(window, move.blocks) if item.key not in keep]
        else:
            continue
        if not items:
            continue
        settled.append(replace(move, blocks=tuple(_names(window, items))))
        if isinstance(move, Fold) and move.form not in ("stub", "trim"):
            ledgers.append(_ledger(window, items, move.form))
        elif isinstance(move, Summarise) and move.said is not None:
            made = _ledger(window, items, "summary")
            ledgers.append(replace(made, said=move.said.lines, by=move.said.by, after=move.said.after))
    return settled, ledgers


def _items(window: Window, blocks: Sequence[str]) -> list[Item]:
    return [item for text in blocks for item in window.between(text) if not item.fixed]


def _goes_down(item: Item, move: Fold) -> bool:
    return move.form == "collapsed" or _RANK[item.form] < _RANK[move.form]


def _names(window: Window, items: Sequence[Item]) -> Iterator[str]:
    """Return the fewest ranges of lines that hold `items` and nothing else that can move."""
    run: tuple[int, int] | None = None
    for seq, group in groupby(items, key=lambda item: item.seq):
        blocks = [item.block for item in group]
        whole = len(blocks) == sum(not item.fixed for item in window.between(str(seq)))
        if run is not None and whole and not _strangers(window, run[1] + 1, seq - 1):
            run = run[0], seq
            continue
        if run is not None:
            yield span(*run)
        run = (seq, seq) if whole else None
        if not whole:
            yield from (f"{seq}.{block}" for block in blocks)
    if run is not None:
        yield span(*run)


def _strangers(window: Window, first: int, last: int) -> bool:
    return first <= last and any(not item.fixed for item in window.between(span(first, last)))


def _ledger(window: Window, items: Sequence[Item], form: Form) -> Ledger:
    """Return the ledger of `items`; lines of ledgers that stand for some of them are taken over as they are."""
    lines: list[str] = []
    taken: set[Key] = set()
    first, last = items[0].seq, items[-1].seq
    for turn, group in groupby(items, key=lambda item: item.turn):
        loose: list[Item] = []
        for item in group:
            if item.group is None:
                loose.append(item)
            elif item.group not in taken:
                taken.add(item.group)
                old = window.ledger(item.group)
                lines += old.lines
                if old.form == "summary":
                    lines.append(f"{MsgRef(window.session, *item.group)} a summary of what came before it")
                first, last = min(first, old.first), max(last, old.last)
        if loose:
            lines += ledger_lines(window, [Exchange(turn, tuple(loose))])
    made: Literal["ledger", "collapsed", "summary"] = form if form in ("ledger", "summary") else "collapsed"
    return Ledger.make(made, lines, first, last, window.seen)
