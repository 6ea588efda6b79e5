"""What is kept on disk and how it is found: observations, and the index over everything."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from manusfs.store.index import Index
    from manusfs.store.index_rows import (
        ASKS,
        MessageRow,
        NoteRow,
        ObservationRow,
        RefRow,
        Segment,
        SessionRow,
        Text,
    )
    from manusfs.store.observations import Observations
    from manusfs.store.observations_commit import Committed, Staged
    from manusfs.store.observations_files import Draft

__all__ = [
    "ASKS",
    "Committed",
    "Draft",
    "Index",
    "MessageRow",
    "NoteRow",
    "ObservationRow",
    "Observations",
    "RefRow",
    "Segment",
    "SessionRow",
    "Staged",
    "Text",
]

# Imported when first asked for: `manusfs --help` needs none of it, and reading a span not all.
_HOMES = dict.fromkeys(__all__, "manusfs.store.index_rows") | {"Index": "manusfs.store.index"}
_HOMES |= {"Draft": "manusfs.store.observations_files", "Observations": "manusfs.store.observations"}
_HOMES |= dict.fromkeys(("Committed", "Staged"), "manusfs.store.observations_commit")


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
