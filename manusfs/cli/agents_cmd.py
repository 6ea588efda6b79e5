"""`agents`: which agents the files of a workspace define, and for each whether it counts."""

from __future__ import annotations

import click

from manusfs.cli.app import App
from manusfs.cli.named import typed
from manusfs.cli.out import data, emit, line, talk

__all__ = ["agents"]


@click.group()
def agents() -> None:
    """Say which agents there are, and whether each may be used.

    \b
    Example:
      manusfs agents list

    Exit codes: as the subcommand says.
    """


@agents.command("list")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="One object an agent: name, path, state, description, tools, model, policy, skills, problem, sha256.",
)
@click.pass_context
def list_(context: click.Context, as_json: bool) -> None:
    """List the agents that agents/*.md define.

    They wait in every folder until `manusfs trust` has approved them as they are, as a page or a program may have
    written them.

    \b
    Examples:
      manusfs agents list
      manusfs agents list --json

    Exit codes: 0 done, 78 no workspace.
    """
    from manusfs.agent.roles import roles, with_doubts
    from manusfs.cli.skill_roots import skills_of

    app = App(context)
    with app.open() as workspace:
        path, trust = workspace.folder.path, app.trust
        found = roles(workspace.folder.root, lambda: trust.agents(path), trusted=trust.is_known(path))
        skills = skills_of(app, path, workspace.settings).names if any(role.skills for role in found) else ()
        found = tuple(with_doubts(role, workspace.settings, skills) for role in found)
    for role in found:
        if as_json:
            emit(role.to_json())
        else:
            why = f"  [{line(role.problem, 300)}]" if role.problem else ""
            data(f"{role.name:<20} {role.state:<13} {line(role.description, 80)}{why}")
    if not found:
        talk(context, "no agents: a file agents/NAME.md defines one")
    if any(role.state == "not approved" for role in found):
        talk(context, typed("read those that are not approved, then say `manusfs trust`"))
