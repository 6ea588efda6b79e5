"""The sections of docs/cli.md, made from the commands themselves; as a program it writes them into that file."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import click

from manusfs.cli.main import COMMANDS, _cli

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
BEGIN, END = "<!-- commands: begin -->", "<!-- commands: end -->"


def commands() -> Iterator[tuple[str, click.Command]]:
    """Yield every command with its whole name, those of groups behind their group."""
    with click.Context(_cli, info_name="manusfs") as context:
        for name in COMMANDS:
            command = _cli.get_command(context, name)
            assert command is not None
            if isinstance(command, click.Group):
                for inner, sub in command.commands.items():
                    yield f"{name} {inner}", sub
            else:
                yield name, command


def section(name: str, command: click.Command) -> str:
    """Return the section of one command: its line, usage, words, examples, options, exit codes."""
    text = inspect.cleandoc(command.help or "").replace("\b\n", "")
    line, _, rest = text.partition("\n\n")
    words, _, codes = rest.partition("Exit codes:")
    parts = re.split(r"^Examples?:\n", words, flags=re.MULTILINE)
    prose = " ".join(parts[0].split())
    lines = [f"### {name}", "", line]
    lines += ["", *textwrap.wrap(prose, 120)] if prose else []
    lines += ["", "```sh", _usage(name, command)]
    lines += [inspect.cleandoc(parts[1]).rstrip()] if len(parts) > 1 else []
    lines += ["```", "", *_options(command), *textwrap.wrap(f"Exit codes: {' '.join(codes.split())}", 120), ""]
    return "\n".join(lines)


def _usage(name: str, command: click.Command) -> str:
    with click.Context(command, info_name=f"manusfs {name}") as context:
        return "# " + " ".join(["manusfs", name, *command.collect_usage_pieces(context)])


def _options(command: click.Command) -> list[str]:
    rows = []
    for parameter in command.params:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            metavar = "" if parameter.is_flag else f" {_metavar(parameter)}"
            default = f" Default: `{parameter.default}`." if parameter.show_default else ""
            rows.append(f"| `{', '.join(parameter.opts)}{metavar}` | {_cell(parameter.help or '')}{default} |")
    return ["| option | meaning |", "|---|---|", *rows, ""] if rows else []


def _metavar(option: click.Option) -> str:
    if option.metavar:
        return option.metavar.replace("|", "\\|")
    if isinstance(option.type, click.IntRange):
        return "N"
    return "TEXT" if option.type is click.STRING else option.type.name.upper()


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def made() -> str:
    """Return all sections, in the order of `manusfs --help`."""
    return "\n".join(section(name, command) for name, command in commands())


def filled(page: str) -> str:
    """Return the page with its sections as they are now."""
    head, _, rest = page.partition(BEGIN)
    return f"{head}{BEGIN}\n\n{made()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text("utf-8")), "utf-8")
