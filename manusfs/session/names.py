"""Names of sessions: how one is made, which is allowed, where it lies."""

from __future__ import annotations

import re
import secrets
from datetime import UTC, datetime

from manusfs.errors import Damaged, NotFound

__all__ = ["FILE", "PLACE", "check_name", "is_name", "misplaced", "new_name", "now", "numbers", "transcript_path"]

PLACE = "sessions"
FILE = "transcript.jsonl"
_NAME = re.compile(r"\d{8}-[0-9a-z]{4,12}(?:\.\d{1,6})*\Z")


def is_name(text: str) -> bool:
    """Return True if `text` can be the name of a session."""
    return _NAME.match(text) is not None


def numbers(session: str) -> list[int]:
    """Return which sub-agent of which it is, from the top down; nothing for a session that is none.

    Sub-agents that begin side by side write their first lines in any order: their numbers say which is which.
    """
    return [int(number) for number in session.split(".")[1:]]


def transcript_path(session: str) -> str:
    """Return the workspace path of the transcript of `session`, whose name was checked."""
    return f"{PLACE}/{session}/{FILE}"


def check_name(session: str) -> str:
    """Return `session`; anything that can't be a session's name is NotFound, so that no path is made of it."""
    if not is_name(session):
        raise NotFound(f"no session {session[:80]!r}", hint="`manusfs ls sessions` lists them")
    return session


def misplaced(session: str, owner: str) -> Damaged:
    """Return what is said where the transcript of `owner` stands in the place of that of `session`."""
    return Damaged(
        f"{transcript_path(session)} is the transcript of session {owner[:80]}",
        hint="run `manusfs verify --repair`: it puts it in its place if that is free",
    )


def new_name(attempt: int) -> str:
    """Return a random name for today; later attempts are longer, should the short ones be taken."""
    return f"{datetime.now(UTC):%Y%m%d}-{secrets.token_hex(2 if attempt < 32 else 4)}"


def now() -> str:
    """Return the time in UTC, for people: nothing is ordered by it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
