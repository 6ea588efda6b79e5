"""`ls`, `search` and `note`: what is there, where it is, and a note beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from manusfs.cli.app import App
from manusfs.cli.named import typed
from manusfs.cli.out import data, emit, human_bytes, line, talk
from manusfs.cli.piped import piped
from manusfs.cli.types import Count, RefText
from manusfs.errors import UsageError
from manusfs.records import counted

__all__ = ["ls", "note", "search"]


@click.command()
@click.argument("kind", default="observations", type=click.Choice(["observations", "notes", "sessions", "reports"]))
@click.option("--all", "everything", is_flag=True, help="Also the sessions of `add`, which hold no run.")
@click.option("--json", "as_json", is_flag=True, help="One object a line; observations as `add`, and created.")
@click.pass_context
def ls(context: click.Context, kind: str, everything: bool, as_json: bool) -> None:
    """List observations, notes, sessions or reports.

    Oldest first. Each `manusfs add` is a session too: those are counted, and listed with --all or --json.

    \b
    Examples:
      manusfs ls
      manusfs ls sessions --json

    Exit codes: 0 done, 78 no workspace.
    """
    with App(context).open() as workspace:
        records = [entry.to_json() for entry in workspace.ls(kind)]
    if as_json:
        for record in records:
            emit(record)
        return
    shown = records if everything else [record for record in records if record.get("purpose") != "intake"]
    for record in shown:
        data(_LINES[kind](record))
    hidden = len(records) - len(shown)
    if not shown:
        talk(context, f"no {'runs' if hidden else kind} yet")
    if hidden:
        talk(context, typed(f"and {counted(hidden, 'session')} of `add`: `manusfs ls sessions --all` lists them too"))


def _observation(record: dict[str, Any]) -> str:
    title = line(record["title"], 50)
    name = line(record["name"], 80)
    what = name if title in ("", name) else f"{title}  ({name})"
    fault = record["error"] or (f"no text: {line(record['note'], 120)}" if record["note"] else "")
    told = f"  [{fault}]" if fault else ""
    return f"{record['ref']}  {record['kind']:<4} {human_bytes(record['bytes']):>9}  {what}{told}"


def _file(record: dict[str, Any]) -> str:
    title = line(record["title"], 60)
    return f"{record['modified']}  {human_bytes(record['bytes']):>9}  {record['path']}  {title}"


def _session(record: dict[str, Any]) -> str:
    state = f"stopped ({record['stop']})" if record["state"] == "stopped" else record["state"]
    purpose, turns = record["purpose"], record["turns"]
    word = counted(turns, "turn").partition(" ")[2]
    return f"{record['session']}  {purpose:<6} {state:<10} {turns:>4} {word:<5}  {line(record['title'], 60)}"


_LINES: dict[str, Callable[[dict[str, Any]], str]] = {
    "observations": _observation,
    "notes": _file,
    "reports": _file,
    "sessions": _session,
}


@click.command()
@click.argument("query")
@click.option("--within", type=RefText(), metavar="REF", help="Only in this observation, path or folder.")
@click.option("--limit", type=Count(1, 100), default=10, show_default=True, help="Most hits.")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="One object a hit: ref, path, url, title, score, snippet, line_start, line_end.",
)
@click.pass_context
def search(context: click.Context, query: str, within: str | None, limit: int, as_json: bool) -> None:
    """Find passages in everything that was seen.

    Any text is a legal query. "quoted words" stand together; -word leaves out; kind:web|file|tool|user|note|report|
    message, host:example.org, session:ID, after:2026-01-31 and before: narrow. Sources come before what was written
    here: notes, reports and transcripts repeat the question; kind: asks for them. A query that begins with a dash
    stands behind --.

    \b
    Examples:
      manusfs search "prompt cache" --json
      manusfs search '"write once" host:example.org -draft'
      manusfs search "who is the head roaster kind:report"

    Exit codes: 0 done, also without hits; 2 usage, 78 no workspace.
    """
    with App(context).open() as workspace:
        hits = workspace.search(query, within, limit)
    for hit in hits:
        if as_json:
            emit(hit.to_json())
        else:
            data(f"{hit.ref}  {line(hit.title, 70)}  (lines {hit.line_start}-{hit.line_end})")
            data("    " + " ".join(hit.snippet.split()))
    if hits.note or not hits:
        talk(context, typed(hits.note) or "no hits")


@click.command()
@click.argument("text")
@click.option("--title", default="", help="Title of the note; default: its first words.")
@click.option("--in", "folder", default="findings", show_default=True, help="Folder under notes/.")
@click.option("--json", "as_json", is_flag=True, help="One object: path.")
@click.pass_context
def note(context: click.Context, text: str, title: str, folder: str, as_json: bool) -> None:
    """Write a note.

    TEXT of "-" is read from standard input. A note is never overwritten.

    \b
    Example:
      manusfs note "Prices rose in March, see obs:3f9c21ab77de@120-310" --title "Prices"

    Exit codes: 0 done, 1 can't be written, 2 usage, 78 no workspace.
    """
    if text == "-":
        text = piped("… | manusfs note -").decode("utf-8", "replace")
    if not text.strip():
        raise UsageError("the note is empty", hint='manusfs note "what I found"')
    with App(context).open() as workspace:
        path = workspace.note(text, title or " ".join(text.split()[:8]), folder)
    if as_json:
        emit({"path": path})
    else:
        data(path)
