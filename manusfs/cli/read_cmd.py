"""`read`: the bytes behind a ref, a path or a URL."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Any

import click

from manusfs.cli.app import App
from manusfs.cli.named import typed
from manusfs.cli.out import data, emit, talk
from manusfs.cli.types import Count, RefText
from manusfs.errors import NotFound, PastEnd, UsageError
from manusfs.memory.reading import Reading
from manusfs.records import counted

if TYPE_CHECKING:
    from manusfs.memory import Workspace

__all__ = ["read"]

_EXACT = ("text", "sha256")
"""Stored bytes that were asked for are shown as they are, secrets or not."""


class _Lines(click.ParamType[tuple[int, ...]]):
    """`12`, `12-40`, or `12-` for the rest."""

    name = "FIRST[-LAST]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        first, dash, last = str(value).partition("-")
        if not first.isdecimal() or int(first) < 1 or (last and not last.isdecimal()):
            self.fail(f"{value!r} is no range of lines: write 12, 12-40, or 12- for the rest", param, ctx)
        if dash and not last:
            return (int(first),)
        return (int(first), int(last or first))


@click.command()
@click.argument("ref", type=RefText())
@click.option("--offset", type=Count(0), default=0, help="First byte, from 0.")
@click.option("--limit", type=Count(1), help="Most bytes to print; default: all that is left.")
@click.option("--lines", type=_Lines(), help="Lines in place of bytes, from 1: 12, 12-40, or 12- for the rest.")
@click.option("--page", type=Count(1), help="A page of a PDF, from 1.")
@click.option("--raw", is_flag=True, help="The original bytes, exactly.")
@click.option("--offline", is_flag=True, help="Do not fetch anew what is missing or damaged.")
@click.option(
    "--json", "as_json", is_flag=True, help="One object: ref, start, end, total, next_offset, text, sha256, state."
)
@click.pass_context
def read(
    context: click.Context,
    ref: str,
    offset: int,
    limit: int | None,
    lines: tuple[int, ...] | None,
    page: int | None,
    raw: bool,
    offline: bool,
    as_json: bool,
) -> None:
    """Print the bytes behind a ref, path or URL.

    What is printed was checked against its hash. What ends behind the end of the text is cut there; where nothing is
    left, as of an offset, a line or a page behind the last, nothing is printed and the exit code is 1. A missing or
    damaged body is fetched again where its source allows.

    \b
    Examples:
      manusfs read obs:3f9c21ab77de@8123-8700
      manusfs read obs:3f9c21ab77de --page 12
      manusfs read obs:3f9c21ab77de --raw > page.html
      manusfs read notes/findings/prices.md --lines 1-40

    Exit codes: 0 done, 1 not found, or nothing stands there; 2 not a ref, 12 damaged and can't be mended, 69 network
    unavailable, 78 no workspace.
    """
    if raw and (lines or page):
        raise UsageError(
            "--raw gives bytes: lines and pages are of texts", hint="leave --raw out, or use --offset and --limit"
        )
    if offset and (lines or page or "@" in ref):
        raise UsageError(
            "--offset counts in the whole: lines, a page or a span choose a part", hint="give one of them, not both"
        )
    from manusfs.memory.workspace import Doors

    with App(context).open(doors=Doors(network=not offline)) as workspace:
        if raw and not as_json:
            _copy(workspace, ref, offset, limit)
            return
        try:
            made = workspace.read(ref, offset, limit, lines=lines, page=page, raw=raw)
        except NotFound as error:
            raise _named(workspace, ref, error) from error
    _check_not_beyond(made, lines, page)
    if as_json:
        emit(made.to_json(), exact=_EXACT if made.ref.startswith("obs:") else ())
        return
    data(made.text, newline=not made.text.endswith("\n"), exact=made.ref.startswith("obs:"))
    if made.next_offset is not None:
        part = lines or page or "@" in ref  # `--offset` counts in the whole
        more = f"manusfs read {shlex.quote(made.ref)} " if part else ""
        told = f"bytes {made.start}-{made.end} of {made.total}; more: {more}--offset {made.next_offset}"
        talk(context, typed(told))
    if made.state != "stored":
        talk(context, f"state: {made.state}")


def _named(workspace: Workspace, given: str, error: NotFound) -> NotFound:
    """Return what to say where `given` leads nowhere: the observations of just that name, else how to look for it."""
    if error.hint or given.startswith(("obs:", "msg:")):
        return error
    known = [entry.to_json() for entry in workspace.ls("observations")]
    refs = [at["ref"] for at in known if given in (at["title"], at["name"], at["name"].rpartition("/")[2])]
    if not refs:
        words = shlex.quote(given.rpartition("/")[2] or given)
        return NotFound(str(error), hint=f"`manusfs ls` lists what is there; `manusfs search {words}` looks inside")
    some = " and ".join(refs[-3:])
    return NotFound(f"{given!r} is no path here; it is {some}", hint=f"manusfs read {refs[-1]}")


def _copy(workspace: Workspace, ref: str, start: int, limit: int | None) -> None:
    """Write the raw bytes out in pieces: a raw body may be larger than memory should be."""
    made = None
    while made is None or (made.next_offset is not None and limit is None):
        made = workspace.read(ref, start, limit or 4 << 20, raw=True)
        _check_not_beyond(made, None, None)
        if sys.stdout.isatty():
            # The exact bytes are for files and pipes: on a terminal a stranger's bytes must not act.
            data(made.text, newline=False, exact=True)
        else:
            sys.stdout.buffer.write(made.data)
        start = made.next_offset or 0
    sys.stdout.buffer.flush()


def _check_not_beyond(made: Reading, lines: tuple[int, ...] | None, page: int | None) -> None:
    """Return unless nothing stands where it was asked for; an empty page, or file, is read as it is.

    Raises:
        PastEnd: the text ends before it.
    """
    if made.data or not made.total or page:
        return
    size = counted(made.total, "byte")
    if lines:
        raise PastEnd(
            f"there is no line {lines[0]}: {made.ref} ends before it ({size})", hint="ask for an earlier line"
        )
    raise PastEnd(f"nothing stands there: {made.ref} has {size}", hint=f"ask for an offset below {made.total}")
