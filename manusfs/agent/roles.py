"""Agents that files define: `agents/<name>.md`, a description, what it may use, and its instructions."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from manusfs.errors import ManusfsError
from manusfs.records import escape, sha256_hex
from manusfs.workspace.paths import Root
from manusfs.workspace.settings import Settings

__all__ = ["PLACE", "Approved", "Role", "offered", "roles", "with_doubts"]

PLACE = "agents"
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}\Z")
_MOST_BYTES = 64 * 1024
_MOST = 50
_DESCRIPTION_CHARS = 300

Approved = Callable[[], Mapping[str, str]]
"""Gives the sha256 of each file that the user approved, by its workspace path."""


@dataclass(frozen=True, slots=True)
class Role:
    """One agent file. `state` says whether it counts: what lies in a workspace, a page may have written."""

    name: str
    path: str
    sha256: str = ""
    description: str = ""
    tools: tuple[str, ...] | None = None
    """Names of the only tools that it may have; None: the usual ones."""
    model: str = ""
    policy: str = ""
    skills: tuple[str, ...] = ()
    """Skills whose text stands at its beginning (CC-28)."""
    body: str = ""
    """Its instructions."""
    state: str = "ready"
    """ "ready", "not approved" or "broken"."""
    problem: str = ""
    """What is wrong with the file, or how far it can be believed.

    Tools, skills or a policy that there are not are told here, and it works without them.
    """

    def to_json(self) -> dict[str, Any]:
        """Return the object that `agents list --json` prints."""
        return {
            "name": self.name,
            "path": self.path,
            "state": self.state,
            "description": self.description,
            "tools": None if self.tools is None else list(self.tools),
            "model": self.model,
            "policy": self.policy,
            "skills": list(self.skills),
            "problem": self.problem,
            "sha256": self.sha256,
        }


def roles(root: Root, approved: Approved | None, *, trusted: bool) -> tuple[Role, ...]:
    """Return the agents in `agents/` by name, whether they count or not.

    Without `approved`, all count where the folder is `trusted`: a program that opens its own folder says so.
    """
    if not root.is_dir(PLACE):
        return ()
    pins = approved() if approved is not None else None
    found = []
    try:
        names = sorted(entry.name for entry in root.listdir(PLACE) if not entry.is_dir and entry.name.endswith(".md"))
    except ManusfsError:
        return ()
    for name in names:
        if name.lower() == "readme.md":
            continue
        role = _role(root, name)
        counts = trusted if pins is None else pins.get(role.path) == role.sha256
        found.append(replace(role, state="not approved") if role.state == "ready" and not counts else role)
    return tuple(found)


def offered(found: Sequence[Role]) -> str:
    """Return how the agents that count stand in a tool's description: one escaped line each, by name; "" for none."""
    ready = [role for role in found if role.state == "ready"]
    lines = [f"* {role.name}: {escape.field(role.description or '(no description)', 200)}" for role in ready[:_MOST]]
    if len(ready) > _MOST:
        lines.append(f"… and {len(ready) - _MOST} more in {PLACE}/")
    return "\n".join(lines)


def with_doubts(role: Role, settings: Settings, skills: Collection[str]) -> Role:
    """Return `role` with what `settings` and the `skills` that there are say against it among its problems."""
    doubts = [role.problem] if role.problem else []
    if role.model not in ("", "offline", settings.model, *settings.task_models):
        doubts.append(f"model {role.model!r} is not allowed (setting task_models)")
    doubts += [f"unknown skill {name!r}" for name in role.skills if name not in skills]
    return replace(role, problem="; ".join(doubts))


def _role(root: Root, name: str) -> Role:
    stem, path = name.removesuffix(".md"), f"{PLACE}/{name}"
    if not _NAME.match(stem):
        return Role(stem, path, state="broken", problem="its name takes a to z, 0 to 9, - and _ only")
    try:
        raw = root.read_edited(path, _MOST_BYTES)
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return Role(stem, path, state="broken", problem="it is not UTF-8")
    except ManusfsError as error:
        return Role(stem, path, state="broken", problem=str(error))
    from manusfs.skills.front_matter import split

    front = split(text)
    data, body = front.data, front.body.strip()
    first = next((line.lstrip("# ").strip() for line in body.splitlines() if line.strip()), "")
    tools = _names(data["tools"]) if data.get("tools") is not None else None
    policy = _line(data.get("policy"))
    problems = [front.problem] if front.problem else []
    problems += _unknown_tools(tools or ())
    if policy and (problem := _policy_problem(policy)):
        problems.append(problem)
        policy = ""
    return Role(
        name=stem,
        path=path,
        sha256=sha256_hex(raw),
        description=_line(data.get("description")) or first[:_DESCRIPTION_CHARS],
        tools=tools,
        model=_line(data.get("model")),
        policy=policy,
        skills=_names(data.get("skills")),
        body=body,
        problem="; ".join(problems),
    )


def _unknown_tools(names: Sequence[str]) -> Iterator[str]:
    from manusfs.tools import TOOLS

    return (f"unknown tool {name!r}" for name in names if not TOOLS.knows(name))


def _policy_problem(name: str) -> str:
    """Return why there is no policy `name`; "" if there is one."""
    from manusfs.compact import load_policy

    try:
        load_policy(name)
    except ManusfsError:
        return f"unknown policy {name!r}: it has the one of the session that begins it"
    return ""


def _line(value: object) -> str:
    return " ".join(value.split())[:_DESCRIPTION_CHARS] if isinstance(value, str) else ""


def _names(value: object) -> tuple[str, ...]:
    """Return a list of names as it is, one that is written in one line split at commas and blanks."""
    items = re.split(r"[,\s]+", value) if isinstance(value, str) else value if isinstance(value, list) else ()
    return tuple(dict.fromkeys(str(item).strip() for item in items if str(item).strip()))
