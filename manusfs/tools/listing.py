"""The tool that lists what there is."""

from __future__ import annotations

from typing import Literal

from manusfs.errors import ToolError
from manusfs.memory import NoteLine, ObservationLine, SessionLine
from manusfs.records import Shown, TextPart, escape
from manusfs.tools.env import ToolEnv
from manusfs.tools.schema import tool

__all__ = ["list_"]

_MOST = 200
_FILTERS = ("kind", "host", "session", "after")


@tool
def list_(
    env: ToolEnv,
    what: Literal["observations", "notes", "reports", "sessions"],
    within: str | None = None,
    offset: int = 0,
    limit: int = 50,
) -> Shown:
    """List what the workspace holds, one line each: ref or path, title, size. Newest observations and sessions first.

    Use it to see what there is before you fetch or search. It shows no content.

    Args:
        what: What to list.
        within: Only lines that contain this, for example a folder such as notes/errors/, or a word of the title. Of
            observations also kind:web (file, tool, user), host:example.org, session:ID; of
            all also after:2026-01-31.
        offset: How many lines to pass over.
        limit: How many lines to show, 1 to 200.
    """
    if offset < 0 or not 1 <= limit <= _MOST:
        raise ToolError(f"`offset` counts from 0 and `limit` is 1 to {_MOST}")
    entries = env.workspace.ls(what)
    if what in ("observations", "sessions"):
        entries = entries[::-1]
    filters, wanted = _filters(within or "")
    if filters:
        entries = _fitting(env, entries, filters)
    lines = [line for entry in entries if wanted in (line := _line(entry)).casefold()]
    shown = lines[offset : offset + limit]
    count = f"{offset + 1}-{offset + len(shown)}" if shown else ""
    head = f'<listing of="{what}" total="{len(lines)}" shown="{count}">'
    body = shown or [f"Nothing{' contains that' if within else ' yet'}."]
    if offset + len(shown) < len(lines):
        body.append(f"… {len(lines) - offset - len(shown)} more: list(what={what!r}, offset={offset + len(shown)})")
    return Shown((TextPart("\n".join([head, *body, "</listing>"])),))


def _filters(within: str) -> tuple[dict[str, str], str]:
    """Return what `within` asks of kind, host, session and time, and the text that a line must contain, case folded."""
    filters, words = {}, []
    for word in within.split():
        name, mark, value = word.partition(":")
        if mark and value and name.lower() in _FILTERS:
            filters[name.lower()] = value
        else:
            words.append(word)
    return filters, escape.field(" ".join(words), 400).casefold()


def _fitting(
    env: ToolEnv, entries: list[ObservationLine | NoteLine | SessionLine], filters: dict[str, str]
) -> list[ObservationLine | NoteLine | SessionLine]:
    fitting = env.workspace.finder.fitting(**filters)
    after = filters.get("after", "")
    return [
        entry
        for entry in entries
        if (entry.ref in fitting if isinstance(entry, ObservationLine) else _when(entry) >= after)
    ]


def _when(entry: NoteLine | SessionLine) -> str:
    return entry.modified if isinstance(entry, NoteLine) else entry.created


def _line(entry: ObservationLine | NoteLine | SessionLine) -> str:
    if isinstance(entry, ObservationLine):
        fault = entry.error or (f"no text: {entry.note}" if entry.note else "")
        error = f" ({escape.field(fault)})" if fault else ""
        where = entry.url or entry.path
        return (
            f'{entry.ref} {entry.kind} "{escape.field(entry.title, 80)}" {entry.text_bytes} bytes, '
            f"{entry.tokens} tokens {escape.field(where, 200)}{error}"
        )
    if isinstance(entry, NoteLine):
        title = escape.field(entry.title, 100)
        return f'{escape.field(entry.path, 300)} "{title}" {entry.bytes} bytes, {entry.modified}'
    state = f"{entry.state} ({entry.stop})" if entry.state == "stopped" else entry.state
    state += f" {entry.ended}" if entry.ended else ""
    title = escape.field(entry.title, 100)
    return f'{entry.session} {entry.purpose} "{title}" {entry.turns} turns, began {entry.created}, {state}'
