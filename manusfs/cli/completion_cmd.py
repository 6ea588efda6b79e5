"""`completion`: the script that teaches a shell to complete manusfs."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from manusfs.cli.out import data

__all__ = ["completion"]


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish", "powershell"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a shell completion script.

    \b
    Example:
      manusfs completion bash >> ~/.bashrc

    Exit codes: 0 done, 2 unknown shell.
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"click knows no completion for {shell}")
    data(kind(context.find_root().command, {}, "manusfs", "_MANUSFS_COMPLETE").source())
