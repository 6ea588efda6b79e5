"""`demo`: the main job on files that ship with manusfs, and what its context would have cost without stubs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from manusfs.cli.app import App
from manusfs.cli.named import typed
from manusfs.cli.out import data, talk
from manusfs.errors import ConfigError

if TYPE_CHECKING:
    from manusfs.memory import Workspace

__all__ = ["TASK", "demo", "demo_files"]

TASK = (
    "When did the Marrow Strait tidal station open, who designed the turbines, and how many homes does it supply? "
    "Why was the second turbine replaced, and what did the replacement cost? "
    "电站的总装机容量是多少？ "
    "What did the station's crew say about passports?"
)
"""Answers stand in an article, a PDF and a Chinese text; the last question has none."""


def demo_files() -> list[Path]:
    """Return the demo's files: beside the package in a checkout, inside it in a wheel.

    Raises:
        ConfigError: the installation is not whole.
    """
    package = Path(__file__).parents[1]
    for folder in (package / "_demo", package.parent / "examples" / "demo"):
        if folder.is_dir():
            return sorted(file for file in folder.iterdir() if file.suffix in (".html", ".pdf", ".txt", ".csv"))
    raise ConfigError("the demo's files are missing from this installation", hint="install manusfs again")


@click.command()
@click.argument("directory", default="manusfs-demo", type=click.Path(path_type=Path, file_okay=False))
@click.option("--json", "as_json", is_flag=True, help="One JSON object an event; the last line is the result.")
@click.pass_context
def demo(context: click.Context, directory: Path, as_json: bool) -> None:
    """Run the main job on files that ship with manusfs: no key, no network.

    It makes a workspace in DIRECTORY (default: manusfs-demo), which stays for you to look at.

    \b
    Example:
      manusfs demo

    Exit codes: as for `run`; 78 the folder is a workspace already.
    """
    from manusfs.cli.run_cmd import Given, perform
    from manusfs.workspace.folder import Folder

    app = App(context)
    files = demo_files()
    folder = Folder.create(directory)
    app.trust.pin(folder.path, app.table(folder.path), own=True)
    flags = {"model": "offline"}
    if not as_json:
        talk(context, typed(f'demo: manusfs run "{TASK}"\n      ') + " ".join(f"--source {f.name}" for f in files))
    app.work_in(folder.path)
    with app.open(flags, folder.path) as workspace:
        sources = [str(file) for file in files]
        code = perform(
            context,
            workspace,
            lambda agent: agent.run(TASK, sources),
            Given(flags, as_json=as_json),
            lambda: {"event": "cost", **_cost(workspace)},
        )
        cost = _cost(workspace)
    if not as_json and code in (0, 3):  # one that stopped has said how it goes on
        _print(directory, cost)
    context.exit(code)


def _cost(workspace: Workspace) -> dict[str, Any]:
    """Return the tokens of the last request, and what it would have held with every source inline."""
    from manusfs.context import fold
    from manusfs.session import Transcript, sessions

    session = sessions(workspace.folder)[-1].session
    with Transcript.open(workspace.folder, session) as transcript:
        window = fold(transcript.events)
        stubs = sum(event.data["part"].get("tokens", 0) for event in transcript.events if event.kind == "observation")
    whole = sum(line.to_json()["tokens"] for line in workspace.ls("observations"))
    return {"window_tokens": window.tokens, "inline_tokens": window.tokens - stubs + whole, "source_tokens": whole}


def _print(directory: Path, cost: dict[str, Any]) -> None:
    window, inline = cost["window_tokens"], cost["inline_tokens"]
    data("")
    data(f"The context ended at {window:,} tokens; with every source inline it would have been {inline:,}.")
    data(f"Look at the folder: {directory}/README.md says what is what. Then try:")
    for command in ("ls", 'search "bearing temperature"', "show", "verify"):
        data(typed(f"\nmanusfs {command}").replace("\n", "  "))
