"""`init`, `trust` and `config`: a workspace, what of it is approved, and the settings in force."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from manusfs.cli import named
from manusfs.cli.app import App
from manusfs.cli.out import data, emit, line, talk
from manusfs.errors import NoWorkspace
from manusfs.records import counted
from manusfs.workspace.settings import OWNER_ONLY, PINNED

__all__ = ["config", "init", "trust"]


@click.command()
@click.argument("directory", default=".", type=click.Path(path_type=Path, file_okay=False))
@click.option("--json", "as_json", is_flag=True, help="One JSON object: path.")
@click.pass_context
def init(context: click.Context, directory: Path, as_json: bool) -> None:
    """Make a workspace in a folder.

    DIRECTORY (default: here) is recorded as yours: its AGENTS.md and settings count.

    \b
    Example:
      manusfs init my-research

    Exit codes: 0 done, 78 there is one already, or it lies in notes/, sessions/ or another folder that a workspace
    fills; 1 the folder can't be written.
    """
    from manusfs.workspace.folder import Folder, above

    app = App(context)
    folder = Folder.create(directory)
    if outer := above(folder.path):
        talk(context, f"note: it lies inside the workspace {outer}; commands in here work in the new one")
    app.trust.pin(folder.path, app.table(folder.path), own=True)
    if as_json:
        emit({"path": str(folder.path)})
        return
    data(str(folder.path))
    there = f"cd {shlex.quote(str(directory))} && " if directory.resolve() != Path.cwd() else ""
    program = named.program()
    if there and os.sep in program and not program.startswith(os.sep):
        program = shlex.quote(str(Path(sys.argv[0]).absolute()))  # a relative path would not lead there any more
    talk(context, f'Next: {there}{program} run "your question" --source URL|FILE')


@click.command()
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object: path, settings, skills, agents, state.")
@click.pass_context
def trust(context: click.Context, yes: bool, as_json: bool) -> None:
    """Approve the skills and agents of a folder, and the settings of one that is not yours.

    Its AGENTS.md then counts as instructions, and its settings that widen access count. What is approved is pinned by
    hash in your own configuration; a change there asks again. In a folder of your own, this approves what you changed
    of those settings; `manusfs config` says which wait. Skills under skills/ and .agents/skills/, and the files in
    agents/, wait in every folder, as a page or a program may have written them: read them first (`manusfs skills show
    NAME`).

    \b
    Example:
      manusfs -w downloaded-research trust

    Exit codes: 0 approved, or nothing is new; 1 declined, 78 no workspace.
    """
    app = App(context)
    folder = app.find()
    table = app.table(folder)
    own = app.trust.is_own(folder)
    guarded = {name: value for name, value in table.items() if name in (PINNED if own else OWNER_ONLY)}
    talk(context, f"Folder: {folder}{' (your own)' if own else ''}")
    if not own:
        talk(context, "Its AGENTS.md and notes will count as instructions.")
    for name, value in sorted(guarded.items()):
        talk(context, f"Setting that widens access: {name} = {value!r}")
    pins, files = _skills(app, folder, table), _agents(app, folder)
    new = not _nothing_new(app, folder, table, pins, files)
    if new and not yes and not _confirmed():
        talk(context, "not trusted: nothing was changed")
        context.exit(1)
    if new:
        app.trust.pin(folder, table, skills=pins, agents=files)
    if as_json:
        approved = {"settings": guarded, "skills": sorted(pins), "agents": sorted(files)}
        emit({"path": str(folder), **approved, "state": app.state(folder, table)})
    else:
        data(f"trusted {folder}" if new else f"nothing is new: {folder} is trusted as it is")


def _nothing_new(
    app: App, folder: Path, table: Mapping[str, Any], skills: Mapping[str, str], agents: Mapping[str, str]
) -> bool:
    """Return True if everything that there is to approve in `folder` is approved already, as it stands."""
    known, named = app.trust.skills(folder), app.trust.agents(folder)
    return (
        app.state(folder, table) in ("own", "trusted")
        and all(known.get(home) == pin for home, pin in skills.items())
        and all(named.get(path) == sha for path, sha in agents.items())
    )


def _skills(app: App, folder: Path, table: Mapping[str, Any]) -> dict[str, str]:
    """Tell the skills that lie in `folder`, and return the hash of each as it was told.

    `table` are its settings, which are approved together with them: a folder of skills that they name is looked at too.
    """
    from manusfs.cli.skill_roots import skills_of

    settings, theirs = app.settings(None).settings, table.get("skills_extra_roots")
    roots = [str(root) for root in theirs if root] if isinstance(theirs, list) else []
    roots += settings.skills_extra_roots
    found = skills_of(app, folder, replace(settings, skills_extra_roots=tuple(roots)))
    approved, pins = app.trust.skills(folder), {}
    for entry in found.entries:
        skill = entry.skill
        if not skill.place.guarded:
            continue
        pins[skill.home] = skill.pin
        known = "approved" if approved.get(skill.home) == skill.pin else "changed" if skill.home in approved else "new"
        files = f"{counted(len(skill.hashes), 'file')}, sha256 {skill.pin[:12]}"
        talk(context=app.context, text=f"Skill ({known}): {skill.home} ({files}): {line(skill.description, 100)}")
    return pins


def _agents(app: App, folder: Path) -> dict[str, str]:
    """Tell the files in agents/ of `folder`, and return the hash of each as it was told."""
    from manusfs.agent.roles import roles
    from manusfs.workspace.paths import Root

    root = Root(folder)
    try:
        found = roles(root, dict, trusted=False)
    finally:
        root.close()
    approved, pins = app.trust.agents(folder), {}
    for role in found:
        if role.state == "broken":
            continue
        pins[role.path] = role.sha256
        known = "approved" if approved.get(role.path) == role.sha256 else "changed" if role.path in approved else "new"
        talk(app.context, f"Agent ({known}): {role.path} (sha256 {role.sha256[:12]}): {line(role.description, 100)}")
    return pins


def _confirmed() -> bool:
    if sys.stdin is None or sys.stdin.closed:
        return False
    try:
        return click.confirm("Trust this folder?", err=True)
    except click.Abort:  # the end of input, or Ctrl-C: no yes
        return False


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object a setting: name, value, origin.")
@click.pass_context
def config(context: click.Context, as_json: bool) -> None:
    """Print each setting and where it came from.

    \b
    Example:
      manusfs config --json

    Exit codes: 0 done, 78 a setting is unknown or wrong.
    """
    app = App(context)
    try:
        folder = app.find()
    except NoWorkspace:
        if app.explicit:
            raise
        folder = None
    effective = app.settings(folder)
    app.check(effective.settings)
    for name, value in asdict(effective.settings).items():
        if as_json:
            emit({"name": name, "value": value, "origin": effective.origins[name]})
        else:
            data(f"{name:<20} {_shown(value):<28} {effective.origins[name]}")


def _shown(value: object) -> str:
    if isinstance(value, list | tuple):
        return "[" + ", ".join(repr(item) for item in value) + "]"
    return (
        {True: "true", False: "false"}[value] if isinstance(value, bool) else repr(value) if value == "" else str(value)
    )
