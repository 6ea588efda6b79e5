"""What to do next when the command line could not be understood."""

from __future__ import annotations

import click

__all__ = ["usage_hint", "usage_message"]

_BEFORE = ("-w", "--workspace", "-q", "--quiet")


def usage_message(error: click.ClickException) -> str:
    """Return what is wrong, on one line; what may be meant stands in the hint."""
    text = error.message if isinstance(error, click.NoSuchOption) else error.format_message()
    return " ".join(text.split()).rstrip(".")


def usage_hint(error: click.ClickException) -> str:
    """Return the second line for an error of the command line: the way it is meant, else where help is."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "manusfs"
    if isinstance(error, click.NoSuchOption):
        command = path.partition(" ")[2]
        if command and error.option_name in _BEFORE:
            value = " DIR" if error.option_name in _BEFORE[:2] else ""
            return f"`{error.option_name}` stands before the command: manusfs {error.option_name}{value} {command}"
        if near := _nearest(error):
            return f"did you mean {near}?"
        if command == "search":
            return 'a query that begins with "-" stands behind "--": manusfs search -- "-word"'
    return f"{path} --help"


def _nearest(error: click.NoSuchOption) -> str:
    import difflib

    known = [option for option in error.possibilities or () if option.startswith("--")]
    near = difflib.get_close_matches(error.option_name, known, n=1, cutoff=0.5)
    return near[0] if near else ""
