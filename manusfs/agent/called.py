"""A skill that the user calls by name: a message that begins with `/name`."""

from __future__ import annotations

import re

from manusfs.agent.running import Running
from manusfs.errors import ManusfsError
from manusfs.records import Fetched
from manusfs.tools.skill import loaded

__all__ = ["called_skill"]

_CALL = re.compile(r"\s*/(\S+)(.*)", re.DOTALL)


def called_skill(run: Running, message: str) -> Fetched | None:
    """Return the manual of the skill that `message` calls, with the rest of it as arguments; None when it calls none.

    Also one that is hidden from the model: this is how people use it. A word that names no skill is just a word.
    """
    match = _CALL.match(message)
    if match is None or run.skills is None or match[1] not in run.skills.names:
        return None
    try:
        return loaded(run.skills, run.settings, run.session, match[1], match[2].strip(), hidden=True)
    except ManusfsError as error:
        run.tell("warning", f"/{match[1]}: {error}")
        return None
