"""What of a turn can be sent back: the rules of `blocks` applied by leaving out and renaming, where those refuse."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from manusfs.errors import InvalidRequest
from manusfs.messages import blocks
from manusfs.messages.types import Block

__all__ = ["Given", "Said", "as_blocks", "ended", "given", "id_text", "said", "unanswered"]

_ID = re.compile(r"[A-Za-z0-9_-]{1,200}\Z")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}\Z")
_NOT_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_SERVER_CALLS = ("server_tool_use", "mcp_tool_use")
_THINKING = ("thinking", "redacted_thinking")
_NEVER_SAID = ("tool_result", "image", "document", "search_result")
_DEPTH = 64
"""Levels of JSON in one call's arguments. No tool takes more, and deeper ones overflow the stack of whoever reads."""


@dataclass(frozen=True, slots=True)
class Said:
    """An assistant turn as it can be sent back. A turn that the API would take is the very same blocks."""

    blocks: tuple[tuple[Block, Block], ...]
    """Each block as it is sent, and as it was received."""
    left_out: tuple[Block, ...] = ()
    """Server results without their call, thinking without its signature, blocks that only a user's turn may hold."""

    @property
    def content(self) -> tuple[Block, ...]:
        """The blocks as they are sent."""
        return tuple(sent for sent, _ in self.blocks)

    @property
    def names(self) -> dict[str, list[str]]:
        """For each id that had to be replaced: the ids that stand for it, in order, the first may be itself."""
        found: dict[str, list[str]] = {}
        for sent, received in self.blocks:
            if sent.get("type") == "tool_use":
                found.setdefault(id_text(received.get("id")), []).append(sent["id"])
        return {id: names for id, names in found.items() if names != [id]}


@dataclass(frozen=True, slots=True)
class Given:
    """A user's message as it can be sent: its plain blocks, and the results of calls that stood in it."""

    content: tuple[Block, ...]
    results: tuple[tuple[str, tuple[Block, ...], bool], ...] = ()
    """Call, content, whether it is an error."""


def as_blocks(content: Any) -> list[Block]:
    """Return the content of a message as a list of blocks, whatever it was: a text alone is one text block."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list | tuple):
        return []
    return [dict(block) if isinstance(block, Mapping) else {"type": "text", "text": str(block)} for block in content]


def said(content: Sequence[Block], used: Collection[str], mark: str, *, waiting: Collection[str] = ()) -> Said:
    """Return what of an assistant's `content` can be sent back.

    `used` holds the ids of all calls so far; an id that the API would refuse becomes `call_<mark>_<place>`. `waiting`
    are server calls of the turn before, which was paused: their results may stand here. A server call whose result is
    still to come is kept: see `unanswered`.
    """
    kept: list[tuple[Block, Block]] = []
    left_out: list[Block] = []
    taken: set[str] = set()
    server = set(waiting)
    for at, block in enumerate(content):
        kind = block.get("type") if isinstance(block, Mapping) else None
        sent: Block | None = _unmarked(block)
        if sent is None or not isinstance(kind, str) or not kind or kind in _NEVER_SAID:
            sent = None
        elif kind == "tool_use":
            sent = _call(sent, taken, used, f"call_{mark}_{at}")
        elif kind in _SERVER_CALLS:
            sent = sent if _is_server_call(block, taken, used) else None
        elif kind.endswith("_tool_result"):
            answers = id_text(block.get("tool_use_id"))
            sent = sent if answers in server else None
            server.discard(answers)
        elif kind in _THINKING:
            sent = sent if _is_sealed(block, kind) else None
        elif kind == "text" and not _is_worded(block):
            sent = None
        if sent is None or not _is_json(sent, _DEPTH + 2):
            left_out.append(block)
            continue
        if kind == "tool_use" or kind in _SERVER_CALLS:
            taken.add(sent["id"])
        if kind in _SERVER_CALLS:
            server.add(sent["id"])
        kept.append((sent, block))
    return Said(tuple(kept), tuple(left_out))


def unanswered(content: Sequence[Block]) -> set[str]:
    """Return the server calls in `content` whose result does not stand there; only a paused turn may end so."""
    found: set[str] = set()
    for block in content:
        kind = block.get("type", "")
        if kind in _SERVER_CALLS:
            found.add(block["id"])
        elif kind.endswith("_tool_result"):
            found.discard(id_text(block.get("tool_use_id")))
    return found


def ended(content: Sequence[Block]) -> list[Block]:
    """Return `content` without the server calls whose result does not stand there: how a turn stands that is over."""
    open_calls = unanswered(content)
    return [block for block in content if block.get("type") not in _SERVER_CALLS or block["id"] not in open_calls]


def given(content: Sequence[Block]) -> Given:
    """Return what of a user's `content` can be sent; an image that the API would refuse is told in words."""
    plain: list[Block] = []
    results: list[tuple[str, tuple[Block, ...], bool]] = []
    for block in content:
        if block.get("type") == "tool_result":
            inner = _plain(as_blocks(block.get("content")))
            results.append((id_text(block.get("tool_use_id")), inner, bool(block.get("is_error"))))
        else:
            plain += _plain([block])
    return Given(tuple(plain), tuple(results))


def id_text(id: Any) -> str:
    """Return the id of a call as text, whatever a server gave for it."""
    return id if isinstance(id, str) else json.dumps(id, default=str)


def _plain(content: Sequence[Block]) -> tuple[Block, ...]:
    kept: list[Block] = []
    for block in content:
        kind = block.get("type")
        said_only = not isinstance(kind, str) or kind in (*_SERVER_CALLS, *_THINKING, "tool_use")
        bare = _unmarked(block)
        if (
            said_only
            or bare is None
            or not kind
            or kind.endswith("tool_result")
            or (kind == "text" and not _is_worded(block))
        ):
            continue
        try:
            blocks.check_plain(bare, kind, kind)
        except InvalidRequest as error:
            bare = {"type": "text", "text": f"({kind} left out: {error})"} if kind != "text" else _bare(bare)
        kept.append(bare)
    return tuple(kept)


def _unmarked(block: Block) -> Block | None:
    """Return `block` without a cache mark: those are set anew for each request."""
    if not isinstance(block, Mapping):
        return None
    if "cache_control" not in block:
        return block
    return {name: member for name, member in block.items() if name != "cache_control"}


def _bare(block: Block) -> Block:
    return {"type": "text", "text": block["text"]}


def _call(block: Block, taken: Collection[str], used: Collection[str], instead: str) -> Block:
    """Return a call with an id, a name and arguments that can be sent; the very same block if it has them."""
    id, name, arguments = block.get("id"), block.get("name"), block.get("input")
    changed: Block = {}
    if not isinstance(id, str) or not _ID.match(id) or id in used or id in taken:
        changed["id"] = instead
    if not isinstance(name, str) or not _NAME.match(name):
        changed["name"] = _NOT_NAME.sub("_", name if isinstance(name, str) else "")[:128] or "unnamed"
    if not _is_object(arguments):
        changed["input"] = _object(arguments)
    return {**block, **changed} if changed else block


def _object(arguments: Any) -> dict[str, Any]:
    """Return the object that `arguments`, as some servers send it, spell as a JSON text; {} for anything else."""
    try:
        found = json.loads(arguments) if isinstance(arguments, str) else None
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) and _is_object(found) else {}


def _is_object(arguments: Any) -> bool:
    return isinstance(arguments, Mapping) and _is_json(arguments, _DEPTH)


def _is_json(value: Any, depth: int) -> bool:
    if value is None or isinstance(value, str | bool | int):
        return True
    if isinstance(value, float):
        return math.isfinite(value)
    if depth <= 0:
        return False
    if isinstance(value, Mapping):
        return all(isinstance(name, str) and _is_json(member, depth - 1) for name, member in value.items())
    return isinstance(value, list | tuple) and all(_is_json(member, depth - 1) for member in value)


def _is_server_call(block: Block, taken: Collection[str], used: Collection[str]) -> bool:
    id, name = block.get("id"), block.get("name")
    fits = isinstance(id, str) and _ID.match(id) and id not in used and id not in taken
    return bool(fits and isinstance(name, str) and _NAME.match(name) and _is_object(block.get("input")))


def _is_sealed(block: Block, kind: str) -> bool:
    seal = block.get("signature" if kind == "thinking" else "data")
    worded = kind == "redacted_thinking" or isinstance(block.get("thinking"), str)
    return worded and isinstance(seal, str) and bool(seal)


def _is_worded(block: Block) -> bool:
    text = block.get("text")
    return isinstance(text, str) and bool(text) and not text.isspace()
