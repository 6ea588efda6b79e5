"""Plain values that every floor speaks: refs, sources, observations, results, events, and how text is escaped."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from manusfs.records import escape
from manusfs.records.canonical import canonical, sha256_hex, valid_text

if TYPE_CHECKING:
    from manusfs.records.events import KINDS, Event, EventKind
    from manusfs.records.observation import BLOCK_BYTES, FORMAT, FileMeta, Heading, HttpMeta, Meta
    from manusfs.records.refs import MsgRef, ObsRef, PathRef, Ref, Span, parse_ref
    from manusfs.records.results import (
        Extracted,
        Fetched,
        Form,
        ImagePart,
        Part,
        Shown,
        TextPart,
        ViewPart,
        part_from_json,
        part_to_json,
    )
    from manusfs.records.source import Kind, Source, observation_id
    from manusfs.records.words import counted

__all__ = [
    "BLOCK_BYTES",
    "FORMAT",
    "KINDS",
    "Event",
    "EventKind",
    "Extracted",
    "Fetched",
    "FileMeta",
    "Form",
    "Heading",
    "HttpMeta",
    "ImagePart",
    "Kind",
    "Meta",
    "MsgRef",
    "ObsRef",
    "Part",
    "PathRef",
    "Ref",
    "Shown",
    "Source",
    "Span",
    "TextPart",
    "ViewPart",
    "canonical",
    "counted",
    "escape",
    "observation_id",
    "parse_ref",
    "part_from_json",
    "part_to_json",
    "sha256_hex",
    "valid_text",
]

# Imported when first asked for: each frozen value costs half a millisecond, and no command needs them all.
_HOMES = dict.fromkeys(("KINDS", "Event", "EventKind"), "events")
_HOMES |= dict.fromkeys(("BLOCK_BYTES", "FORMAT", "FileMeta", "Heading", "HttpMeta", "Meta"), "observation")
_HOMES |= dict.fromkeys(("MsgRef", "ObsRef", "PathRef", "Ref", "Span", "parse_ref"), "refs")
_HOMES |= dict.fromkeys(("Kind", "Source", "observation_id"), "source")
_HOMES["counted"] = "words"
_HOMES |= {name: "results" for name in __all__ if name not in _HOMES and name not in globals()}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
