"""Which session a command is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from manusfs.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from manusfs.memory import Workspace
    from manusfs.records import Event

__all__ = ["events_of", "has_gaps"]


def events_of(workspace: Workspace, session: str | None) -> tuple[str, tuple[Event, ...]]:
    """Return the events of `session`, by default of the latest run.

    Raises:
        NotFound: there is none.
    """
    from manusfs.session import Transcript, complete_name, sessions

    if session is None:
        runs = [info.session for info in sessions(workspace.folder, children=False) if info.purpose == "run"]
        if not runs:
            raise NotFound("there is no session yet", hint='`manusfs run "…"` begins one')
        session = runs[-1]
    else:
        session = complete_name(workspace.folder, session)
    with Transcript.open(workspace.folder, session) as transcript:
        return session, transcript.events


def has_gaps(events: Sequence[Event]) -> bool:
    """Return True if a damaged line is missing among `events`: whole transcripts number theirs without a gap."""
    return bool(events) and events[-1].seq != len(events)
