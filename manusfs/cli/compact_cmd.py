"""`compact` and `undo`: the window of a session made smaller, or brought back, by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from manusfs.cli.app import App, Keys
from manusfs.cli.named import typed
from manusfs.cli.out import data, emit, talk
from manusfs.cli.remember import recalled
from manusfs.cli.sessions import events_of
from manusfs.cli.types import Count, PolicyName, SessionName
from manusfs.compact.policy import policy_names
from manusfs.records import counted

if TYPE_CHECKING:
    from manusfs.agent import Changed, Compaction

__all__ = ["compact", "undo"]

_FORMS = {
    "stub": "to stubs",
    "ledger": "to a ledger",
    "collapsed": "to collapsed ledgers",
    "summary": "to a summary",
    "full": "back in full",
}


@click.command()
@click.argument("session", required=False, type=SessionName())
@click.option(
    "--policy",
    type=PolicyName(),
    metavar="NAME",
    help=f"{', '.join(policy_names())}; default: the session's, else the settings'.",
)
@click.option("--dry-run", is_flag=True, help="Show what would go and what it would save; write nothing, ask no model.")
@click.option(
    "--json", "as_json", is_flag=True, help="One object: tokens before and after by kind, blocks, refs, costs."
)
@click.pass_context
def compact(context: click.Context, session: str | None, policy: str | None, dry_run: bool, as_json: bool) -> None:
    """Fold the older part of a session now, however full its window is.

    The latest run, or SESSION. Nothing is lost: every ref still resolves, and `manusfs undo` brings the window
    back. The next `manusfs resume` goes on in the smaller window. The policy `none` has no plan of its own: here it
    folds nothing while a third of the room is free, else what frees that third. Prices are in units of one uncached
    input token.

    \b
    Examples:
      manusfs compact --dry-run
      manusfs compact 20261130-ab12 --policy manus

    Exit codes: 0 done, or there is nothing to free; 1 no such session, 2 no such policy, 75 the session is running, or
    not even its smallest form fits; 78 no workspace.
    """
    from manusfs.agent import compact_session
    from manusfs.agent.by_hand import summary_writer

    app = App(context)
    with app.open() as workspace:
        name, events = events_of(workspace, session)
    given = {"policy": policy} if policy else {}
    flags = {**recalled(events, name, app.secret).flags, **given}
    with app.open(flags) as workspace:
        settings = workspace.settings
        app.check(settings, given)
        key = Keys.from_environment().anthropic
        made = compact_session(
            workspace, name, settings, lambda model: summary_writer(settings, key, model), dry_run=dry_run
        )
    _tell(context, made, "would free" if dry_run else "freed", as_json=as_json)


@click.command()
@click.argument("number", metavar="[N]", required=False, type=Count(1), default=1)
@click.option("--session", type=SessionName(), metavar="SESSION", help="Default: the latest run.")
@click.option("--view", is_flag=True, help="Show what the window would be, whether it fits or not; write nothing.")
@click.option("--list", "listing", is_flag=True, help="List the session's compactions in place of undoing one.")
@click.option("--json", "as_json", is_flag=True, help="One object; with --list one a compaction.")
@click.pass_context
def undo(context: click.Context, number: int, session: str | None, view: bool, listing: bool, as_json: bool) -> None:
    """Take back a compaction: the N-th newest that stands, by default the newest.

    What it folded stands in full again, unless another compaction folds it too. Nothing that was sent is edited: a new
    epoch opens. Where the window would be too large it is refused, with the numbers.

    \b
    Examples:
      manusfs undo --list
      manusfs undo --view
      manusfs undo 2 --session 20261130-ab12

    Exit codes: 0 done, 1 no such session or compaction, 75 the session is running, or the window would be too large; 78
    no workspace.
    """
    from manusfs.agent import compactions, undo_compaction

    with App(context).open() as workspace:
        name, events = events_of(workspace, session)
        if not listing:
            made = undo_compaction(workspace, name, number, view=view)
    if listing:
        _list(context, name, compactions(events), as_json=as_json)
    else:
        _tell(context, made, "would bring back" if view else "brought back", as_json=as_json)


def _tell(context: click.Context, made: Changed, verb: str, *, as_json: bool) -> None:
    if as_json:
        emit(made.to_json())
        return
    found = made.outlook
    if found is None:
        _tell_nothing(context, made)
        return
    before, after = found.before.by_kind(), found.after.by_kind()
    data(f"{'tokens':<14}{'before':>10}{'after':>10}")
    for kind in {**before, **after}:
        data(f"{kind:<14}{before.get(kind, 0):>10,}{after.get(kind, 0):>10,}")
    misfit = ": it does not fit" if found.after.tokens > made.limit else ""
    data(f"{'window':<14}{found.before.tokens:>10,}{found.after.tokens:>10,}   of {made.limit:,} that fit{misfit}")
    refs = f"; {counted(found.refs, 'observation')}, each within reach of its ref" if found.refs else ""
    data(f"{verb} {abs(found.freed):,} tokens: {_blocks(found.blocks)}{refs}")
    data(_price(made))
    if made.summary:
        talk(context, f"note: {made.summary}")
    if made.cost_usd is not None:
        talk(context, f"summary: ${made.cost_usd:.4f}")
    if made.written:
        talk(context, f"session {made.session}: {made.policy}, line {made.seq}")
    else:
        talk(context, "nothing was written")


def _tell_nothing(context: click.Context, made: Changed) -> None:
    data(f"nothing to free: the policy {made.policy} folds nothing more of session {made.session}; nothing was written")
    if made.summary:
        talk(context, f"note: {made.summary}")
    if made.policy == "none":
        talk(context, typed("note: this policy never folds of its own accord; `manusfs compact --policy manus` does"))


def _blocks(blocks: Mapping[str, int]) -> str:
    found = [f"{counted(blocks[form], 'block')} {words}" for form, words in _FORMS.items() if blocks.get(form)]
    return ", ".join(found) or "no block changes its form"


def _price(made: Changed) -> str:
    found: Any = made.outlook
    if not found.caches:
        more = "less" if found.saved_each >= 0 else "more"
        return f"nothing is cached for this model: each request costs {abs(found.saved_each):,.0f} {more}"
    line = f"the new epoch writes {found.write_tokens:,} tokens to the cache"
    if found.saved_each <= 0:
        return f"{line}; each later request costs {-found.saved_each:,.0f} more"
    if found.price <= 0:
        return f"{line}; the next request costs {-found.price:,.0f} less, each later one {found.saved_each:,.0f} less"
    return (
        f"{line}: the next request costs {found.price:,.0f} more, each later one {found.saved_each:,.0f} less; "
        f"it has paid after {counted(found.pays_after, 'request')}"
    )


def _list(context: click.Context, session: str, made: list[Compaction], *, as_json: bool) -> None:
    if not made and not as_json:
        talk(context, f"session {session} has no compactions")
    for one in made:
        if as_json:
            emit(
                {
                    "session": session,
                    "n": one.number,
                    "seq": one.seq,
                    "time": one.time,
                    "policy": one.policy,
                    "before_tokens": one.before_tokens,
                    "after_tokens": one.after_tokens,
                    "state": "standing" if one.standing else "undone",
                }
            )
            continue
        state = f"stands; undo {one.number}" if one.standing else "undone"
        sizes = f"{one.before_tokens:>9,} to {one.after_tokens:>9,}"
        data(f"line {one.seq:>6}  {one.time[:19]}  {one.policy:<12} {sizes}  {state}")
