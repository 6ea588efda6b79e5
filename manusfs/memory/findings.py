"""What a check of the workspace has found so far."""

from __future__ import annotations

import errno
from dataclasses import dataclass, field

from manusfs.errors import ManusfsError, StorageError
from manusfs.memory.verify_sessions import Named

__all__ = ["Findings"]

_OF_THE_PROCESS = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)


@dataclass(slots=True)
class Findings:
    """What was found, and what it must be compared with at the end."""

    ids: dict[str, str] = field(default_factory=dict)
    """Path of each sound observation."""
    broken: dict[str, str] = field(default_factory=dict)
    """Id of each damaged observation folder, by path."""
    unread: set[str] = field(default_factory=set)
    """Paths of those of them that the system would not let us read: they may be whole."""
    known: set[str] = field(default_factory=set)
    """Ids that transcripts name."""
    sessions: set[str] = field(default_factory=set)
    named: Named = field(default_factory=Named)
    damaged: list[str] = field(default_factory=list)
    lost: dict[str, list[str]] = field(default_factory=dict)
    """By what is lost, a line for each place that names it."""
    dangling: list[str] = field(default_factory=list)
    bytes: int = 0
    refs: int = 0

    def unreadable(self, error: ManusfsError, place: str) -> ManusfsError:
        """Return `error`, which kept a file of `place` from being read.

        Raises:
            StorageError: it is of this process, not of the file: nothing that could be said of the workspace would be
                true.
        """
        if isinstance(error, StorageError):
            cause = error.__cause__
            if isinstance(cause, OSError) and cause.errno in _OF_THE_PROCESS:
                raise error
            self.unread.add(place)
        return error
