"""How the command line speaks: data to stdout, talk to stderr, nothing that could drive a terminal, no secrets."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

import click

from manusfs.cli.named import typed
from manusfs.records import escape

__all__ = [
    "complain",
    "data",
    "emit",
    "human_bytes",
    "line",
    "masked",
    "on_terminal",
    "say",
    "talk",
    "unwatched",
]


_SECRET = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?)\Z", re.IGNORECASE)
_LEAST = 8
"""Characters of a variable's value that can be a secret: shorter ones are words that stand everywhere."""


@cache
def _known() -> tuple[str, ...]:
    """Return the values of the environment's variables that are secrets by their name, longest first."""
    found = {value for name, value in os.environ.items() if _SECRET.search(name) and len(value) >= _LEAST}
    return tuple(sorted(found, key=len, reverse=True))


def masked(value: Any) -> Any:
    """Return a text, or JSON, with the secrets in its texts masked."""
    from manusfs.records import secrets

    if isinstance(value, str):
        return secrets.text(value, _known())
    if isinstance(value, Mapping):
        return {name: masked(inner) for name, inner in value.items()}
    return [masked(inner) for inner in value] if isinstance(value, list | tuple) else value


def data(text: str, *, newline: bool = True, exact: bool = False) -> None:
    """Print data for people to stdout, without controls; `exact` is for stored bytes that were asked for."""
    click.echo(escape.terminal(text if exact else masked(text)), nl=newline)


def emit(record: Mapping[str, Any], *, indent: int | None = None, exact: Collection[str] = ()) -> None:
    """Print one record as JSON to stdout, on one line unless indented; members in `exact` are not masked."""
    record = {name: value if name in exact else masked(value) for name, value in record.items()}
    # What another encoding has no sign for must be escaped as JSON does, or the line would be none.
    other = sys.stdout is not None and "utf" not in (sys.stdout.encoding or "").lower()
    separators = (",", ":") if indent is None else None
    click.echo(escape.in_json(json.dumps(record, ensure_ascii=other, separators=separators, indent=indent)))


def say(text: str) -> None:
    """Print talk to stderr, whatever the command's context."""
    with unwatched():
        click.echo(escape.terminal(masked(text)), err=True)


def talk(context: click.Context, text: str) -> None:
    """Print talk to stderr unless the user asked for quiet."""
    if not (context.find_root().obj or {}).get("quiet"):
        say(text)


def complain(message: str, hint: str = "") -> None:
    """Print an error, and what to do next, to stderr."""
    label = click.style("Error: ", fg="red", bold=True)
    with unwatched():
        click.echo(
            label + escape.terminal(masked(message)),
            err=True,
            color=None if on_terminal() and not os.environ.get("NO_COLOR") else False,
        )
        if hint:
            click.echo(f"Try:   {escape.terminal(masked(typed(hint)))}", err=True)


def on_terminal() -> bool:
    """Return True if a person may be watching stderr."""
    return sys.stderr is not None and not sys.stderr.closed and sys.stderr.isatty()


@contextmanager
def unwatched() -> Iterator[None]:
    """Go on when stderr is gone: a run of hours does not end in the middle of a step because nobody watches it."""
    try:
        yield
    except OSError:
        pass


def line(text: str, limit: int = 70) -> str:
    """Return `text` as one line of at most `limit` characters, without controls."""
    text = " ".join(escape.terminal(masked(text)).split())
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def human_bytes(size: int) -> str:
    """Return `size` bytes as a short text: 950 B, 48.2 kB, 1.9 MB."""
    if size < 1_000:
        return f"{size} B"
    for unit, scale in (("kB", 1e3), ("MB", 1e6), ("GB", 1e9)):
        if size < scale * 1_000 or unit == "GB":
            return f"{size / scale:.1f} {unit}"
    raise AssertionError("unreachable")
