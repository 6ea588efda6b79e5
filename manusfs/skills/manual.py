"""A skill's text as the model gets it: arguments filled in, files beside it named, as people's skills expect it."""

from __future__ import annotations

import re
import shlex

from manusfs.skills.skill import Skill

__all__ = ["filled", "folder_address", "manual"]

_MOST_FILES = 40
_PLACES = re.compile(
    r"\$ARGUMENTS\[(\d{1,3})\]|\$ARGUMENTS\b|\$\{(?:CLAUDE_SKILL_DIR|CLAUDE_SESSION_ID)\}|\{baseDir\}"
    r"|\$(\d{1,3})\b|\$([A-Za-z_]\w*)"
)
_COMMAND = re.compile(r"!`[^`\n]+`")


def folder_address(skill: Skill) -> str:
    """Return the address of the skill's folder, under which `read` finds the files beside its SKILL.md."""
    return f"skill:{skill.name}"


def manual(skill: Skill, body: str, arguments: str, *, session: str, files: list[str]) -> tuple[str, list[str]]:
    """Return the text that a call of `skill` brings, and notes on what is not as the skill expects it.

    Arguments that the text has no place for stand at its end. `files` are the paths beside SKILL.md.
    """
    text, used = filled(body.strip("\n"), skill, arguments, session)
    if arguments.strip() and not used:
        text = f"{text}\n\nARGUMENTS: {arguments.strip()}"
    beside = _beside(skill, files)
    notes = []
    if _COMMAND.search(body):
        notes.append("this skill has !`commands` whose output it expects: none was run; do that step with your tools")
    return (f"{text}\n\n{beside}" if beside else text) + "\n", notes


def filled(body: str, skill: Skill, arguments: str, session: str) -> tuple[str, bool]:
    """Return `body` with its placeholders filled, and whether any of them took the arguments.

    $ARGUMENTS is all of them, $ARGUMENTS[0] and $0 the first, $name one that the skill names. A place for which no
    argument came stays as it is, as `$1` may be part of an example; what was filled in is not looked at again.
    """
    words = _words(arguments)
    used = False

    def value(match: re.Match[str]) -> str:
        nonlocal used
        whole, at, name = match[0], match[1] or match[2], match[3]
        if whole == "$ARGUMENTS":
            used = True
            return arguments.strip()
        if whole in ("${CLAUDE_SKILL_DIR}", "{baseDir}"):
            return folder_address(skill)
        if whole == "${CLAUDE_SESSION_ID}":
            return session
        if name is not None:
            at = str(skill.parameters.index(name)) if name in skill.parameters else None
        if at is None or int(at) >= len(words):
            return whole
        used = True
        return words[int(at)]

    return _PLACES.sub(value, body), used


def _words(arguments: str) -> list[str]:
    try:
        return shlex.split(arguments)
    except ValueError:
        return arguments.split()


def _beside(skill: Skill, files: list[str]) -> str:
    if not files:
        return ""
    shown = ", ".join(files[:_MOST_FILES]) + (f" and {len(files) - _MOST_FILES} more" if files[_MOST_FILES:] else "")
    return f'Files of this skill, each read with read(ref="{folder_address(skill)}/PATH"): {shown}'
