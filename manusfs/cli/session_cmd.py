"""`show`, `context` and `stats`: what happened, what the model saw, and what it came to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from manusfs.cli.app import App
from manusfs.cli.fill import show_filling
from manusfs.cli.out import data, emit, human_bytes, line, talk
from manusfs.cli.sessions import events_of, has_gaps
from manusfs.cli.types import Count, SessionName
from manusfs.errors import Damaged, InvalidRequest
from manusfs.records import counted

if TYPE_CHECKING:
    from manusfs.memory import Workspace
    from manusfs.view import Branch

__all__ = ["context", "show", "stats"]


@click.command()
@click.argument("session", required=False, type=SessionName())
@click.option("--whole", is_flag=True, help="Do not cut texts.")
@click.option("--tree", "as_tree", is_flag=True, help="The session with its sub-agents, and what all came to.")
@click.option("--json", "as_json", is_flag=True, help="One object an entry: seq, time, kind, text, ref.")
@click.pass_context
def show(context: click.Context, session: str | None, whole: bool, as_tree: bool, as_json: bool) -> None:
    """Show what happened in a session.

    With --tree --json one object a session: session, depth, state, stop, title, agent, mode, ref, replies, tokens and
    cost_usd of its own; the last object has the sums.

    \b
    Examples:
      manusfs show
      manusfs show 20261130-ab12 --json
      manusfs show 20261130-ab12 --tree

    Exit codes: 0 done, 1 no such session, 78 no workspace.
    """
    from manusfs.view import timeline, tree

    with App(context).open() as workspace:
        name, events = events_of(workspace, session)
        if as_tree:
            _print_tree(tree(workspace.folder, name, events), as_json)
            return
        for entry in timeline(name, events, whole=whole):
            if as_json:
                emit(entry.to_json())
            else:
                data(f"{entry.seq:>5}  {entry.kind:<11} {' '.join(entry.text.split()) if not whole else entry.text}")


@click.command()
@click.argument("session", required=False, type=SessionName())
@click.option("--at", "number", type=Count(1), metavar="N", help="The request of the N-th reply; default: the next.")
@click.option("--tokens", is_flag=True, help="Show what fills the window in place of the request: by kind, by source.")
@click.option("--json", "as_json", is_flag=True, help="On one line; without it the same JSON, indented.")
@click.pass_context
def context(context: click.Context, session: str | None, number: int | None, tokens: bool, as_json: bool) -> None:
    """Print the exact request at a step of a session, or what fills its window.

    The request is rendered again from the transcript and the stored bytes. With --tokens its size is shown by kind
    (system, tools, user, results, stubs, ledgers, …) and by host or tool; the sums come to the window's own count. With
    --tokens --json: tokens, window, limit, by_kind, by_source, largest.

    \b
    Examples:
      manusfs context 20261130-ab12 --at 3 --json
      manusfs context --tokens

    Exit codes: 0 done, 1 no such session or step, 12 stored bytes are damaged, 78 no workspace.
    """
    from manusfs.view import open_calls, request_at, window_at

    with App(context).open() as workspace:
        name, events = events_of(workspace, session)
        if number is None and (count := open_calls(events)):
            have = f"{counted(count, 'call')} {'has' if count == 1 else 'have'}"
            talk(context, f"{have} no result yet: shown as a resume would send it")
        if gaps := has_gaps(events):
            talk(context, "the transcript has a damaged line: a reply that is lost is not counted as a step")
        try:
            if tokens:
                show_filling(name, window_at(events, number), as_json=as_json)
                return
            body = request_at(events, number, workspace.renderer).to_json()
        except InvalidRequest as error:
            if not gaps:
                raise
            raise Damaged(
                f"the transcript of session {name} has a damaged line, and this request needs it",
                hint="`manusfs verify` tells which line; other steps can still be printed",
            ) from error
    emit(body, indent=None if as_json else 2)


@click.command()
@click.argument("session", required=False, type=SessionName())
@click.option("--json", "as_json", is_flag=True, help="One object a session, and one for the workspace.")
@click.pass_context
def stats(context: click.Context, session: str | None, as_json: bool) -> None:
    """Sum up sizes, tokens and cost.

    Each session counts by itself; one that had sub-agents is followed by the sums of all of them together with it.

    \b
    Example:
      manusfs stats --json

    Exit codes: 0 done, 1 no such session, 78 no workspace.
    """
    from manusfs.session import sessions
    from manusfs.view import totals, tree

    with App(context).open() as workspace:
        known = [info.session for info in sessions(workspace.folder) if info.purpose != "intake"]
        for name in [session] if session else known:
            name, events = events_of(workspace, name)
            _print_session(name, totals(events), as_json)
            if any(event.kind == "child" and "copied" not in event.data for event in events):
                _print_sums(tree(workspace.folder, name, events), as_json)
        if not session:
            _print_workspace(workspace, as_json)


def _print_session(name: str, total: dict[str, Any], as_json: bool) -> None:
    if as_json:
        emit({"session": name, **total})
        return
    read, wrote = total["cache_read_input_tokens"], total["cache_creation_input_tokens"]
    tokens = total["input_tokens"] + read + wrote
    cost = f", ${total['cost_usd']:.4f}" if total["cost_usd"] else ""
    data(
        f"{name}  {counted(total['replies'], 'reply', 'replies')}, {counted(total['calls'], 'call')}, "
        f"{counted(total['observations'], 'observation')}, {counted(total['epochs'], 'epoch')}; "
        f"{tokens:,} tokens in ({read:,} from the cache), {total['output_tokens']:,} out, "
        f"{total['saved_tokens']:,} kept out by stubs{cost}"
    )


def _print_tree(root: Branch, as_json: bool) -> None:
    if as_json:
        for branch in root.walk():
            emit(branch.to_json())
    else:
        _print_branch(root, "", "")
    _print_sums(root, as_json)


def _print_branch(branch: Branch, lead: str, below: str) -> None:
    total = branch.totals
    cost = f", ${total['cost_usd']:.4f}" if total["cost_usd"] else ""
    state = f"{branch.state} ({branch.stop})" if branch.state in ("failed", "stopped") and branch.stop else branch.state
    who = "".join(f", {word}" for word in (f"agent {branch.agent}" if branch.agent else "", branch.mode) if word)
    ref = f"  {branch.ref}" if branch.ref else ""
    replies = counted(total["replies"], "turn")
    data(
        f"{lead}{branch.session}  {state}{who}  {replies}, {_tokens_in(total):,} tokens in, "
        f"{total['output_tokens']:,} out{cost}{ref}  {line(branch.title, 60)}"
    )
    for at, child in enumerate(branch.children, 1):
        last = at == len(branch.children)
        _print_branch(child, f"{below}{'└─' if last else '├─'} ", f"{below}{'   ' if last else '│  '}")


def _print_sums(root: Branch, as_json: bool) -> None:
    sums = root.sums()
    if as_json:
        emit({"tree": root.session, **sums})
        return
    cost = f", ${sums['cost_usd']:.4f}" if sums["cost_usd"] else ""
    data(
        f"{root.session} with all below it: {counted(sums['sessions'], 'session')}, "
        f"{counted(sums['replies'], 'turn')}, {counted(sums['calls'], 'call')}, "
        f"{counted(sums['observations'], 'observation')}, {_tokens_in(sums):,} tokens in, "
        f"{sums['output_tokens']:,} out{cost}"
    )


def _tokens_in(total: dict[str, Any]) -> int:
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return sum(int(total[name]) for name in names)


def _print_workspace(workspace: Workspace, as_json: bool) -> None:
    rows = [line.to_json() for line in workspace.ls("observations")]
    size, tokens = sum(row["bytes"] for row in rows), sum(row["tokens"] for row in rows)
    if as_json:
        emit({"observations": len(rows), "bytes": size, "tokens": tokens})
    else:
        data(f"workspace: {counted(len(rows), 'observation')}, {human_bytes(size)}, {tokens:,} tokens of text")
