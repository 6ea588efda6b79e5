"""Transcripts: what happened in each session, line by line, and the list of sessions."""

from manusfs.session.lines import Damage
from manusfs.session.listing import SessionInfo, complete_name, read_event, sessions
from manusfs.session.names import transcript_path
from manusfs.session.transcript import Transcript, next_child

__all__ = [
    "Damage",
    "SessionInfo",
    "Transcript",
    "complete_name",
    "next_child",
    "read_event",
    "sessions",
    "transcript_path",
]
