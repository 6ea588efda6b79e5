"""How full a window is and of what: lines for people, bars on a terminal, one object for programs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from manusfs.cli.out import data, emit, line

if TYPE_CHECKING:
    from manusfs.context import Filling, Window

__all__ = ["show_filling"]

_BAR = 30
_SOURCES = 12
_NAME = 36


def show_filling(session: str, window: Window, *, as_json: bool) -> None:
    """Print what fills `window`, in tokens."""
    from manusfs.agent.by_hand import profile_of
    from manusfs.compact import Budget
    from manusfs.context import filling

    found = filling(window)
    budget = Budget.of(profile_of(window), window.setup.max_tokens)
    if as_json:
        emit({"session": session, "window": budget.window, "limit": budget.limit, **found.to_json()})
    elif sys.stdout.isatty():
        _draw(found, budget.limit)
    else:
        _print(found, budget.limit)


def _print(found: Filling, limit: int) -> None:
    for name, tokens, _ in _rows(found):
        data(f"{name:<{_NAME + 2}}{tokens:>10,}  {_share(tokens, found.tokens)}")
    data(f"{'window':<{_NAME + 2}}{found.tokens:>10,}  {_share(found.tokens, limit)} of {limit:,} that fit")


def _draw(found: Filling, limit: int) -> None:
    from rich.bar import Bar
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for title, justify in (("kind, source", "left"), ("tokens", "right"), ("share", "right"), ("", "left")):
        table.add_column(title, justify=justify)  # type: ignore[arg-type]
    for name, tokens, style in _rows(found):
        bar = Bar(found.tokens or 1, 0, tokens, width=_BAR, color="cyan" if style else "bright_black")
        table.add_row(Text(name, style="bold" if style else "dim"), f"{tokens:,}", _share(tokens, found.tokens), bar)
    full = Bar(limit or 1, 0, min(found.tokens, limit), width=_BAR, color="green" if found.tokens <= limit else "red")
    table.add_row(Text(f"window, {limit:,} fit", style="bold"), f"{found.tokens:,}", _share(found.tokens, limit), full)
    Console(highlight=False, markup=False).print(table)


def _rows(found: Filling) -> list[tuple[str, int, bool]]:
    """Return name and tokens of each kind and, below it, of its largest sources; True for a kind."""
    rows: list[tuple[str, int, bool]] = []
    for kind, tokens in found.by_kind().items():
        rows.append((kind, tokens, True))
        shares = [share for share in found.shares if share.kind == kind and share.source]
        rows += [(f"  {line(share.source, _NAME)}", share.tokens, False) for share in shares[:_SOURCES]]
        if rest := shares[_SOURCES:]:
            rows.append((f"  {len(rest)} more", sum(share.tokens for share in rest), False))
    return rows


def _share(tokens: int, whole: int) -> str:
    return f"{100 * tokens / whole:5.1f} %" if whole else ""
