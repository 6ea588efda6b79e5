"""`gc`: what nothing refers to, listed first and freed when the user says so."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from manusfs.cli.app import App
from manusfs.cli.out import data, emit, human_bytes, talk
from manusfs.errors import UsageError
from manusfs.records import counted

if TYPE_CHECKING:
    from manusfs.memory.garbage import Garbage

__all__ = ["gc"]


@click.command()
@click.option("--dry-run", is_flag=True, help="Only list what would be freed.")
@click.option("--yes", is_flag=True, help="Free it without asking.")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="One object: observations, staging_files, staging_bytes, cache_bytes, kept, uncertain, bytes, freed.",
)
@click.pass_context
def gc(context: click.Context, dry_run: bool, yes: bool, as_json: bool) -> None:
    """List what nothing refers to, ask, and free it.

    Nothing in a workspace is ever deleted by itself. This finds observations that no transcript, note, report or other
    file names (a crash between storing and writing down leaves such ones, and so does a session that you deleted),
    unfinished files of processes that are gone, and the cache of pages. It lists them, asks, and says what it freed.
    Without a terminal it frees nothing unless --yes is given. While a transcript can't be read whole, no observation is
    freed: it may be named there. `verify --repair` writes down which these are, and then the rest may be.

    \b
    Examples:
      manusfs gc --dry-run
      manusfs gc --yes --json

    Exit codes: 0 done, or nothing to do, 1 declined, 2 no answer could be asked for, 75 someone works in it, 78 no
    workspace.
    """
    from manusfs.memory import garbage

    with App(context).open() as workspace:
        found = garbage.find(workspace.folder, workspace.observations)
        if not as_json:
            _list(found)
        for why in found.uncertain:
            talk(context, f"no observation is freed: {why}")
        if dry_run or not (found.observations or found.staging_files or found.cache_bytes):
            if as_json:
                emit({**found.to_json(), "freed": False})
            return
        if not yes and not _agreed(found):
            talk(context, "nothing was freed")
            context.exit(1)
        freed = garbage.free(workspace.folder, workspace.observations, found)
    if as_json:
        emit({**freed.to_json(), "freed": True})
    else:
        data(f"freed {human_bytes(freed.bytes)}: {_summed(freed)}")


def _list(found: Garbage) -> None:
    for waste in found.observations:
        data(f"{waste.ref}  {human_bytes(waste.bytes):>9}  {waste.path}  {waste.source}")
    if found.observations or found.staging_files or found.cache_bytes:
        data(f"nothing refers to {_summed(found)}: {human_bytes(found.bytes)} in all; {_kept(found.kept)}")
    else:
        data(f"nothing to free: all of {counted(found.kept, 'observation')} is referred to")


def _summed(found: Garbage) -> str:
    parts = {
        counted(len(found.observations), "observation"): len(found.observations),
        counted(found.staging_files, "unfinished file"): found.staging_files,
        f"{human_bytes(found.cache_bytes)} of cached pages": found.cache_bytes,
    }
    return ", ".join(part for part, number in parts.items() if number) or "nothing"


def _kept(number: int) -> str:
    return f"{counted(number, 'observation')} {'is' if number == 1 else 'are'} kept"


def _agreed(found: Garbage) -> bool:
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError(
            f"there is nobody to ask whether {human_bytes(found.bytes)} may be deleted: nothing was freed",
            hint="manusfs gc --yes",
        )
    try:
        return click.confirm(f"Delete this for good ({human_bytes(found.bytes)})?", err=True)
    except click.Abort:  # the end of input, or Ctrl-C: no yes
        return False
