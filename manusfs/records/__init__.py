"""Plain values that every floor speaks: refs, sources, observations, results, events, and how text is escaped."""

from manusfs.records import escape
from manusfs.records.canonical import canonical, sha256_hex, valid_text
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
    "escape",
    "observation_id",
    "parse_ref",
    "part_from_json",
    "part_to_json",
    "sha256_hex",
    "valid_text",
]
