"""`add`: store pages and files without a run."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from manusfs.cli.app import App
from manusfs.cli.named import typed
from manusfs.cli.out import data, emit, human_bytes, line, on_terminal, say, talk
from manusfs.cli.piped import piped
from manusfs.cli.stopping import Pressed, stopped_by
from manusfs.cli.types import SourceText
from manusfs.errors import Interrupted
from manusfs.records import counted

if TYPE_CHECKING:
    from manusfs.memory import Workspace
    from manusfs.memory.adding import Added

__all__ = ["add"]


@click.command()
@click.argument("sources", nargs=-1, required=True, type=SourceText())
@click.option("--allow-host", "allow_hosts", multiple=True, metavar="HOST", help="Reach HOST although not public.")
@click.option("--json", "as_json", is_flag=True, help="One object a source: source, ref, status, error and more.")
@click.pass_context
def add(context: click.Context, sources: tuple[str, ...], allow_hosts: tuple[str, ...], as_json: bool) -> None:
    """Store pages and files without a run.

    SOURCES are URLs, files, or "-" for standard input. A source that fails is told and stops no other.

    \b
    Examples:
      manusfs add https://example.org/page paper.pdf notes.txt
      curl -s https://example.org/data | manusfs add -

    Exit codes: 0 all were stored, 1 some failed, 2 usage, 78 no workspace, 130 interrupted: what came is stored.
    """
    told, failed, stop = 0, 0, Pressed()
    with App(context).open({"allow_hosts": allow_hosts} if allow_hosts else None) as workspace:
        given = piped("… | manusfs add -") if "-" in sources else b""
        with stopped_by(context, stop.press), _progress(len(sources), shown=not as_json) as step:
            for added in _added(workspace, sources, given, stop):
                told, failed = told + 1, failed + _tell(context, added, as_json)
                step()
    if stop.is_set() and told < len(sources):
        fallen = f", {failed} failed" if failed else ""
        raise Interrupted(
            f"stopped on request: {told - failed} of {counted(len(sources), 'source')} stored{fallen}, "
            f"{len(sources) - told} left out",
            hint="the same command again brings the rest; what is stored is not stored twice",
        )
    if failed:
        talk(context, f"{failed} of {len(sources)} failed")
    context.exit(1 if failed else 0)


def _added(workspace: Workspace, sources: tuple[str, ...], given: bytes, stop: Pressed) -> Iterator[Added]:
    if given:
        yield workspace.add_bytes(given)
    yield from workspace.add_all([source for source in sources if source != "-"], stop.is_set)


def _tell(context: click.Context, added: Added, as_json: bool) -> int:
    if as_json:
        emit(added.to_json())
    elif added.error:
        named = line(added.source, 300) or repr("")
        say(typed(f"Error: {named}: {added.error}") + (f" (kept as {added.ref})" if added.ref else ""))
    else:
        title = line(added.title or added.source, 70)
        told = f"  [no text: {line(added.note, 120)}]" if added.note else ""
        data(f"{added.ref}  {added.status:<8} {human_bytes(added.bytes):>9}  {title}{told}")
    return 1 if added.error else 0


@contextmanager
def _progress(total: int, *, shown: bool) -> Iterator[Any]:
    """Yield what is called after each source: a bar on stderr where a person watches and does not see the lines."""
    if not shown or total < 2 or not on_terminal() or sys.stdout.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task("adding", total=total)
        yield lambda: bar.advance(task)
