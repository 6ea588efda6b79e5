"""A skill that the user calls by name: a message that begins with `/name`."""

from __future__ import annotations

import re

from manusfs.agent.running import Running
from manusfs.errors import ManusfsError
from manusfs.records import Fetched
from manusfs.tools.skill import loaded

__all__ = ["called_skill", "without_call"]

_CALL = re.compile(r"\s*/(\S+)(.*)", re.DOTALL)
_NAME = re.compile(r"[a-z0-9-]+")


def called_skill(run: Running, message: str) -> Fetched | None:
    """Return the manual of the skill that `message` calls, with the rest of it as arguments; None when it calls none.

    Also one that is hidden from the model: this is how people use it. A word that names no skill is just a word, and
    told where it looks like a skill's name: it may be a slip.
    """
    match = _call(run, message)
    if match is None or run.skills is None:
        return None
    word = f"/{match[1]} is read as a word of the task"
    try:
        return loaded(run.skills, run.settings, run.session, match[1], match[2].strip(), hidden=True)
    except ManusfsError as error:
        run.tell("warning", f"{word}: {error}{f'; {error.hint}' if error.hint else ''}")
        return None


def without_call(run: Running, message: str) -> str:
    """Return `message` as the model is to read it: where it uses no skills, without one's name before the question.

    To look for that name in sources would only lose what answers the question. It is told.
    """
    match = _call(run, message)
    if match is None or run.skills is not None or not match[2].strip():
        return message
    run.tell("warning", f"/{match[1]} is left out: {run.profile.name} uses no skills")
    return match[2].strip()


def _call(run: Running, message: str) -> re.Match[str] | None:
    match = _CALL.match(message)
    named = match is not None and (_NAME.fullmatch(match[1]) or (run.skills and match[1] in run.skills.names))
    return match if named else None
