"""`skills`: which skills there are, and for each why it may be used or why not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from manusfs.cli.app import App
from manusfs.cli.named import typed
from manusfs.cli.out import data, emit, human_bytes, line, talk
from manusfs.cli.skill_roots import folder_of, skills_of
from manusfs.cli.types import SkillName
from manusfs.records import counted

if TYPE_CHECKING:
    from manusfs.skills import Broken, Entry, Skills

__all__ = ["skills"]

_QUIET = ("disabled", "not allowed", "shadowed")
"""What people switched off or put another in place of: told with --all."""


@click.group()
def skills() -> None:
    """Say which skills there are and why each may be used or not.

    \b
    Example:
      manusfs skills list

    Exit codes: as the subcommand says.
    """


@skills.command("list")
@click.option("--all", "everything", is_flag=True, help="Also those that are switched off or replaced by another.")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="One object a skill: name, state, why, description, location, root, problems.",
)
@click.pass_context
def list_(context: click.Context, everything: bool, as_json: bool) -> None:
    """List skills with what came of the gates.

    Works without a workspace, too. `manusfs trust` approves those that wait.

    \b
    Examples:
      manusfs skills list
      manusfs skills list --all --json

    Exit codes: 0 done, 78 a setting is wrong.
    """
    found = _found(App(context))
    shown = [entry for entry in found.entries if everything or entry.state not in _QUIET]
    _print(shown, as_json)
    for broken in found.broken:
        if as_json:
            emit(_broken(broken))
        else:
            data(f"{'(none)':<28} {'broken':<13} {line(broken.location, 100)}\n    {line(broken.why, 200)}")
    if left := len(found.entries) - len(shown):
        talk(context, f"{left} more are off or replaced: --all shows them")
    if found.waiting:
        many = counted(len(found.waiting), "skill")
        them = "it" if len(found.waiting) == 1 else "them"
        talk(context, typed(f"{many} of this folder not approved: read {them}, then say `manusfs trust`"))


@skills.command()
@click.argument("name", type=SkillName())
@click.option("--json", "as_json", is_flag=True, help="One object: as `list`, and files, needs, text.")
@click.pass_context
def show(context: click.Context, name: str, as_json: bool) -> None:
    """Print one skill: what it says, what it needs, and whether it may be used.

    \b
    Example:
      manusfs skills show fact-check

    Exit codes: 0 done, 1 no such skill, 78 a setting is wrong.
    """
    found = _found(App(context))
    entry = found.find(name)
    skill, text = entry.skill, found.text(entry.skill)
    needs = {key: value for key, value in _needs(entry).items() if value}
    if as_json:
        emit({**_record(entry), "files": found.files(skill), "needs": needs, "text": text})
        return
    data(f"{skill.name}: {entry.state}" + (f" ({typed(entry.why)})" if entry.why else ""))
    data(f"  {line(skill.description, 1_024)}")
    data(f"  {skill.location}, {human_bytes(skill.size)}" + (", runs apart (context: fork)" if skill.forks else ""))
    for key, value in {**skill.about, **needs}.items():
        data(f"  {key}: {line(value if isinstance(value, str) else ', '.join(value), 200)}")
    for path in found.files(skill):
        data(f"  beside it: {line(path, 200)}")
    for problem in skill.problems:
        data(f"  note: {problem}")
    data(f"\n{text}")


@skills.command()
@click.argument("query")
@click.option("--json", "as_json", is_flag=True, help="One object a skill, as `list`.")
@click.pass_context
def search(context: click.Context, query: str, as_json: bool) -> None:
    """Find skills by words of their names and descriptions.

    \b
    Example:
      manusfs skills search "table pdf"

    Exit codes: 0 done, also without hits; 78 a setting is wrong.
    """
    hits = _found(App(context)).search(query)
    _print(hits, as_json)
    if not hits:
        talk(context, "no hits")


def _found(app: App) -> Skills:
    folder = folder_of(app)
    return skills_of(app, folder, app.settings(folder).settings)


def _print(entries: Iterable[Entry], as_json: bool) -> None:
    for entry in entries:
        if as_json:
            emit(_record(entry))
            continue
        data(f"{line(entry.skill.name, 28):<28} {entry.state:<13} {line(entry.skill.description, 72)}")
        if entry.why:
            data(f"    {line(typed(entry.why), 200)}")


def _record(entry: Entry) -> dict[str, Any]:
    skill = entry.skill
    return {
        "name": skill.name,
        "state": entry.state,
        "why": entry.why,
        "description": skill.description,
        "location": skill.location,
        "root": skill.place.kind,
        "problems": list(skill.problems),
    }


def _broken(broken: Broken) -> dict[str, Any]:
    empty = {"description": "", "root": "", "problems": []}
    return {"name": "", "state": "broken", "why": broken.why, "location": broken.location, **empty}


def _needs(entry: Entry) -> dict[str, tuple[str, ...]]:
    needs = entry.skill.needs
    return {
        "needs the programs": needs.programs,
        "needs one of the programs": needs.any_programs,
        "needs the variables": needs.variables,
        "needs the settings": needs.settings,
        "systems": needs.systems,
        "tools": entry.skill.allowed or (),
    }
