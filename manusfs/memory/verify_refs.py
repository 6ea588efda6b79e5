"""Follows the `msg:` refs that an epoch's opening put before the model: each must lead to a line and a block."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from manusfs.errors import ManusfsError
from manusfs.memory.transcript_text import block_text
from manusfs.records import Event, MsgRef, Part, TextPart, parse_ref, part_from_json

__all__ = ["broken_refs", "own_refs"]

# Untrusted text holds no opener of ours: what stands in these was written by manusfs.
_TAG = re.compile(r"<(?:ledger|folded|turn|user_message) [^>\n]*>")
_REF = re.compile(r' (?:ref|from|whole)="(msg:[^"]*)"')


def own_refs(event: Event) -> list[str]:
    """Return the `msg:` refs in the opening of an epoch, each once."""
    parts = (part_from_json(part) for part in event.data["opening"])
    tags = (tag for part in parts if isinstance(part, TextPart) for tag in _TAG.findall(part.text))
    return list(dict.fromkeys(ref for tag in tags for ref in _REF.findall(tag)))


def broken_refs(event: Event, session: str, before: Mapping[int, Event]) -> Iterator[str]:
    """Yield a line for each ref of an epoch that leads nowhere; `before` holds the session's earlier events."""
    for text in own_refs(event):
        try:
            ref = parse_ref(text)
            if not isinstance(ref, MsgRef) or ref.session != session:
                continue
            for seq in (ref.seq, ref.last_seq or ref.seq):
                if seq not in before:
                    yield f"{text} in msg:{session}:{event.seq}: there is no line {seq}"
                    break
            else:
                if ref.block is not None:
                    block_text(before[ref.seq], ref.block, ref, _unrendered)
        except ManusfsError as error:
            yield f"{text} in msg:{session}:{event.seq}: {error}"


def _unrendered(part: Part) -> str:
    """Return nothing: whether the parts of a block render is checked where they stand."""
    return ""
