"""A skill that the user calls by name: a message that begins with `/name`."""

from __future__ import annotations

import re

from manusfs.agent.running import Running
from manusfs.errors import ManusfsError
from manusfs.records import Fetched
from manusfs.tools.skill import loaded

__all__ = ["called_skill"]

_CALL = re.compile(r"\s*/(\S+)(.*)", re.DOTALL)
_NAME = re.compile(r"[a-z0-9-]+")


def called_skill(run: Running, message: str) -> Fetched | None:
    """Return the manual of the skill that `message` calls, with the rest of it as arguments; None when it calls none.

    Also one that is hidden from the model: this is how people use it. A word that names no skill is just a word, and
    told where it looks like a skill's name: it may be a slip.
    """
    match = _CALL.match(message)
    if match is None or not (_NAME.fullmatch(match[1]) or (run.skills and match[1] in run.skills.names)):
        return None
    word = f"/{match[1]} is read as a word of the task"
    if run.skills is None:
        run.tell("warning", f"{word}: {run.profile.name} uses no skills; leave it out")
        return None
    try:
        return loaded(run.skills, run.settings, run.session, match[1], match[2].strip(), hidden=True)
    except ManusfsError as error:
        run.tell("warning", f"{word}: {error}{f'; {error.hint}' if error.hint else ''}")
        return None
