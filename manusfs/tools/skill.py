"""The tool that loads a skill: its manual into this conversation, or run apart by a sub-agent."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from manusfs.errors import ManusfsError, NotFound, Refused, ToolError
from manusfs.records import Fetched, Shown, Source, TextPart, escape, sha256_hex, valid_text
from manusfs.tools.delegation import Delegation
from manusfs.tools.env import ToolEnv
from manusfs.tools.schema import tool
from manusfs.workspace.settings import Settings

if TYPE_CHECKING:
    from manusfs.skills import Skill, Skills

__all__ = ["ADDRESS", "allowed_tools", "beside", "loaded", "skill"]

ADDRESS = re.compile(r"(?:skill|extra|bundled|managed|personal):(?!//)")
"""How an address of a file of a skill begins: by its name, or as the catalogue says where it lies."""

_MOST_HITS = 20
_ARGUMENTS_MAX = 400
_OURS = {
    "read": "read",
    "notebookread": "read",
    "grep": "grep",
    "glob": "list",
    "ls": "list",
    "list": "list",
    "search": "search",
    "webfetch": "web_fetch",
    "web_fetch": "web_fetch",
    "websearch": "web_search",
    "web_search": "web_search",
    "write": "write",
    "edit": "edit",
    "multiedit": "edit",
    "todo": "todo",
    "todowrite": "todo",
    "task": "task",
    "skill": "skill",
    "context_status": "context_status",
}
"""Names of tools in people's skills, and what does the same here. Others (shells, browsers) there are none."""


@tool(again=True)
def skill(
    env: ToolEnv, name: str = "", arguments: str = "", fork: bool | None = None, find: str | None = None
) -> Fetched | Shown:
    """Load a skill, a tested manual for one kind of task, by its name in <available_skills>.

    The manual comes back as the result; follow it with your other tools. Files that lie beside it are read with
    read(ref="skill:NAME/PATH"). Some skills run apart: then a sub-agent follows the manual with a fresh context, and
    you get what it came to. Load a skill when its description clearly fits, one at a time.

    Args:
        name: The skill's name.
        arguments: What the skill is to work on, in words: the question, the claim, the refs.
        fork: true runs it apart, false here; leave it out to let the skill decide.
        find: In place of `name`: words of the task; lists the skills that fit.
    """
    skills = _skills(env)
    if find and not name:
        return _found(skills, find)
    if not name.strip():
        raise ToolError("`name` says which skill", hint=f"one of: {', '.join(_names(skills))}")
    chosen, arguments = _chosen(skills, name.strip()), valid_text(arguments)
    if chosen.forks if fork is None else fork:
        return _apart(env, chosen, arguments)
    return loaded(skills, env.settings, env.session, chosen.name, arguments)


def loaded(
    skills: Skills, settings: Settings, session: str, name: str, arguments: str, *, hidden: bool = False
) -> Fetched:
    """Return the manual of the skill `name`, on its way to become an observation; also a `hidden` one for people.

    Raises:
        NotFound, Refused, StorageError: there is none that may be used, or it can't be read any more.
    """
    arguments = valid_text(arguments)
    made = skills.manual(name, arguments, session=session, hidden=hidden)
    told = {"name": name, **({"arguments": _short(arguments)} if arguments.strip() else {})}
    text = f"Manual of the skill {name}, from {skills.find(name).skill.location}:\n\n{made.text}"
    return replace(_as_fetched(settings, told, text.encode("utf-8"), "SKILL.md"), notes=made.notes)


def _short(arguments: str) -> str:
    """Return arguments as they name a source: whole texts are too long for that, and stand in the body."""
    if len(arguments) <= _ARGUMENTS_MAX:
        return arguments
    return f"{arguments[:_ARGUMENTS_MAX]}… sha256 {sha256_hex(arguments.encode('utf-8'))[:12]}"


def beside(env: ToolEnv, address: str) -> Fetched:
    """Return the file that `skill:NAME/PATH` addresses, on its way to become an observation (OC-28).

    Raises:
        ToolError: no such skill or file, or it leads out of the skill's folder.
    """
    skills = _skills(env)
    name, path = skills.addressed(address)
    # Whoever was given the manual of a hidden one by a person needs its files.
    chosen = _chosen(skills, name, hidden=True)
    path = path or chosen.file
    try:
        data = skills.file(chosen.name, path)
    except ManusfsError as error:
        files = ", ".join(escape.field(file, 80) for file in skills.files(chosen)[:_MOST_HITS])
        raise ToolError(str(error), hint=error.hint or f"its files: {files or 'SKILL.md only'}") from error
    return _as_fetched(env.settings, {"name": chosen.name, "file": path}, data, path.rpartition("/")[2])


def allowed_tools(chosen: Skill, offered: Sequence[str]) -> tuple[str, ...] | None:
    """Return which of the `offered` tools a skill may use apart, None when it says nothing of tools (OC-29).

    Reading what is stored is always among them: without it a stub could not be opened.
    """
    if chosen.allowed is None:
        return None
    ours = {_OURS[name] for word in chosen.allowed if (name := word.lower()) in _OURS}
    return tuple(name for name in offered if name in {"read", "search", *ours})


def _apart(env: ToolEnv, chosen: Skill, arguments: str) -> Fetched:
    try:
        return env.delegate(_order(env, chosen, arguments))
    except ToolError as error:
        if error.retry:
            raise
        here = f'skill(name="{chosen.name}", fork=false) brings the manual here'
        raise ToolError(str(error), retry=True, hint=f"{error.hint}; {here}" if error.hint else here) from error


def _order(env: ToolEnv, chosen: Skill, arguments: str) -> Delegation:
    known = chosen.agent and env.workspace.folder.root.exists(f"agents/{chosen.agent}.md")
    wanted = arguments.strip() or f"Do what the skill {chosen.name} says."
    (text,) = _skills(env).preload([chosen.name], arguments)
    prompt = f"Follow the instructions of the skill {chosen.name} above. It is to work on this:\n\n{wanted}"
    return Delegation(
        prompt=prompt,
        agent=chosen.agent if known else "",
        tools=allowed_tools(chosen, env.tools),
        preload=(text,),
        title=f"skill {chosen.name}: {wanted}",
    )


def _skills(env: ToolEnv) -> Skills:
    if env.skills is None:
        raise ToolError("there are no skills here", retry=False)
    return env.skills


def _chosen(skills: Skills, name: str, *, hidden: bool = False) -> Skill:
    try:
        return skills.usable(name, hidden=hidden)
    except NotFound as error:
        raise ToolError(str(error), hint=f"the skills are: {', '.join(_names(skills))}") from error
    except Refused as error:
        raise ToolError(str(error), retry=False, hint=error.hint or "do the task without it") from error


def _names(skills: Skills) -> list[str]:
    names = [one.name for one in skills.offered]
    return names if len(names) <= _MOST_HITS else [*names[:_MOST_HITS], f'… {len(names)} in all; skill(find="…")']


def _found(skills: Skills, words: str) -> Shown:
    hits = [entry.skill for entry in skills.search(words) if entry.state == "ready"]
    lines = [f"{one.name}: {escape.field(one.description, 300)}" for one in hits[:_MOST_HITS]]
    if hits[_MOST_HITS:]:
        lines.append(f"… {len(hits) - _MOST_HITS} more: say more words")
    head = f'<listing of="skills" total="{len(hits)}" shown="{f"1-{min(len(hits), _MOST_HITS)}" if hits else ""}">'
    return Shown((TextPart("\n".join([head, *(lines or ["No skill has these words."]), "</listing>"])),))


def _as_fetched(settings: Settings, told: dict[str, str], data: bytes, file: str) -> Fetched:
    # Stored like whatever a tool brings; shown as far as one read would show it, since it was asked for to be read.
    media = "text/markdown" if file.lower().endswith(".md") else ""
    return Fetched(Source.call("skill", told), data, media_type=media, name=file, limit=settings.read_chars)
