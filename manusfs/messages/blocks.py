"""The rules for content blocks: which may stand where, how calls and results pair, what a block must hold."""

from __future__ import annotations

import binascii
import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from manusfs.errors import InvalidRequest
from manusfs.messages.pictures import Pictures
from manusfs.messages.shapes import check_members
from manusfs.messages.types import Block

__all__ = ["MAX_IMAGE_BASE64", "Marks", "check_assistant", "check_plain", "check_text", "check_user"]

MAX_IMAGE_BASE64 = 5 * 1024 * 1024
"""The API's limit on one image, in base64 characters."""

_ID = re.compile(r"[a-zA-Z0-9_-]+\Z")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}\Z")
_THINKING = ("thinking", "redacted_thinking")
_SHOWN = ("text", "image", "document", "search_result", "tool_reference", "browser_state")
"""What a result may hold."""
_CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")
_MAGIC = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
}


class Marks:
    """Counts what a request may have only so many of: cache marks, pictures. Blocks come in the order of the prefix."""

    def __init__(self, most: int) -> None:
        self._left = most
        self.pictures = Pictures()
        self._short = False
        self._cites: bool | None = None

    def evidence(self, block: Mapping[str, Any], path: str) -> None:
        """Refuse a search result that can be cited beside one that can't."""
        citations = block.get("citations")
        cites = bool(citations.get("enabled")) if isinstance(citations, Mapping) else False
        if self._cites not in (None, cites):
            _refuse(f"{path}.citations", "some search results can be cited and some can't", "enable all or none")
        self._cites = cites

    def count(self, block: Mapping[str, Any], path: str) -> None:
        """Count the mark of `block`, if it has one, and refuse one that must not be there."""
        mark = block.get("cache_control")
        if mark is None:
            return
        if (
            not isinstance(mark, Mapping)
            or mark.get("type") != "ephemeral"
            or not {"type", "ttl"}.issuperset(mark)
            or mark.get("ttl", "5m") not in ("5m", "1h")
        ):
            _refuse(f"{path}.cache_control", f"{mark!r} is no cache mark", 'use {"type": "ephemeral"}')
        if block.get("type") in _THINKING:
            _refuse(f"{path}.cache_control", "a thinking block can't be marked", "mark the block before or after it")
        if mark.get("ttl") == "1h" and self._short:
            _refuse(f"{path}.cache_control", "a mark of an hour behind one of five minutes", "put long ones first")
        self._short = self._short or mark.get("ttl", "5m") == "5m"
        self._left -= 1
        if self._left < 0:
            _refuse(f"{path}.cache_control", "more than 4 cache marks", "keep 4")


def check_text(block: Block, path: str) -> None:
    """Refuse a text block that is blank or no text."""
    text = block.get("text")
    if not isinstance(text, str) or not text or text.isspace():
        _refuse(f"{path}.text", "blank text", "leave the block out, or write words that say that there is nothing")


def check_user(content: Sequence[Block], calls: Mapping[str, str], path: str, marks: Marks) -> None:
    """Refuse user content that does not begin with exactly one result for each of `calls`, or holds odd blocks."""
    answered: set[str] = set()
    other = False
    for i, block in enumerate(content):
        here = f"{path}.content[{i}]"
        kind = _kind(block, here)
        marks.count(block, here)
        if kind == "tool_result":
            if other:
                _refuse(here, "a result stands behind other content", "put the results first in the message")
            check_members(block, kind, here)
            _check_pair(block, calls, answered, here)
            _check_result(block, here, marks)
            continue
        other = True
        if kind in _CALLS or kind in _THINKING or kind.endswith("_tool_result"):
            _refuse(here, f"a {kind} block in a user message", "it belongs to the assistant")
        _count(block, kind, here, marks)
        check_plain(block, kind, here)
    missing = [call for call in calls if call not in answered]
    if missing:
        wanted = ", ".join(repr(call) for call in missing)
        _refuse(path, f"calls without results: {wanted}", "answer every call in the message that follows it")


def check_assistant(content: Sequence[Block], ids: set[str], path: str, marks: Marks, *, last: bool) -> dict[str, str]:
    """Return the calls of this turn that the next message must answer, refusing what an assistant can't have said.

    `ids` holds the ids of all earlier calls and gains those of this turn.
    """
    calls: dict[str, str] = {}
    server: set[str] = set()
    for i, block in enumerate(content):
        here = f"{path}.content[{i}]"
        kind = _kind(block, here)
        marks.count(block, here)
        if kind in _CALLS:
            _check_call(block, ids, here)
            if kind == "tool_use":
                calls[block["id"]] = here
            else:
                server.add(block["id"])
        elif kind == "tool_result":
            _refuse(here, "a tool_result in an assistant message", "results stand in the user message that follows")
        elif kind.endswith("_tool_result"):
            call = block.get("tool_use_id")
            if not isinstance(call, str) or call not in server:
                _refuse(here, f"a {kind} without its call before it", "keep call and result together, or neither")
            server.discard(call)
        elif kind in _THINKING:
            _check_thinking(block, kind, here)
        elif kind in ("image", "document", "search_result"):
            _refuse(here, f"a {kind} block in an assistant message", "show it in a user message")
        elif kind == "text":
            check_text(block, here)
    if server and not last:
        _refuse(path, f"server calls without results: {sorted(server)}", "keep call and result together, or neither")
    if content[-1]["type"] in _THINKING:
        _refuse(path, "the last block of an assistant message is thinking", "end the message with text")
    return calls


def _check_pair(block: Block, calls: Mapping[str, str], answered: set[str], here: str) -> None:
    call = block.get("tool_use_id")
    if not isinstance(call, str) or call not in calls:
        _refuse(here, f"a result without a call in the message before: {call!r}", "leave it out")
    if call in answered:
        _refuse(here, f"a second result for {call!r}", "put all of a call's output into one result")
    answered.add(call)


def _check_call(block: Block, ids: set[str], here: str) -> None:
    call, name = block.get("id"), block.get("name")
    if not isinstance(call, str) or not _ID.match(call):
        _refuse(f"{here}.id", f"{call!r} is no tool id", "use letters, digits, _ and -")
    if call in ids:
        _refuse(f"{here}.id", f"{call!r} was used before", "every call needs an id of its own")
    if not isinstance(name, str) or not _NAME.match(name):
        _refuse(f"{here}.name", f"{name!r} is no tool name", "use 1 to 128 letters, digits, _ and -")
    if not isinstance(block.get("input"), Mapping):
        _refuse(f"{here}.input", "it is no JSON object", "use {} for a call without arguments")
    ids.add(call)


def _check_result(block: Block, here: str, marks: Marks) -> None:
    content = block.get("content")
    if block.get("is_error") and not content:
        _refuse(f"{here}.content", "an error without words", "say what went wrong")
    if isinstance(content, str):
        if content.isspace():
            _refuse(f"{here}.content", "blank text", "write words that say that there is nothing")
        return
    if content is not None and not isinstance(content, list | tuple):
        _refuse(f"{here}.content", "it is neither text nor a list of blocks", "use a list of text and image blocks")
    for i, inner in enumerate(content or ()):
        path = f"{here}.content[{i}]"
        kind = _kind(inner, path)
        marks.count(inner, path)
        if block.get("is_error") and kind != "text":
            _refuse(path, f"a {kind} block in an error", "an error holds text only")
        if kind not in _SHOWN:
            _refuse(path, f"a {kind} block in a result", "use text, images or documents")
        _count(inner, kind, path, marks)
        check_plain(inner, kind, path)


def _count(block: Block, kind: str, path: str, marks: Marks) -> None:
    marks.pictures.count(block, kind, path)
    if kind == "search_result":
        marks.evidence(block, path)


def check_plain(block: Block, kind: str, here: str) -> None:
    """Refuse what may not stand in a user message or a result: unknown types and members, blank text, odd images.

    An assistant's blocks are not held to types and members that we know: they came from the API.
    """
    check_members(block, kind, here)
    if kind == "text":
        check_text(block, here)
        if block.get("citations"):
            _refuse(f"{here}.citations", "citations on text that is not the assistant's", "leave them out")
    elif kind == "image":
        _check_image(block, here)
    elif kind == "search_result":
        _check_evidence(block, here)


def _check_evidence(block: Block, here: str) -> None:
    for name in ("source", "title"):
        if not isinstance(block.get(name), str) or not block[name].strip():
            _refuse(f"{here}.{name}", "a search result needs it", "say where the text is from, and what it is called")
    content = block.get("content")
    if not isinstance(content, list | tuple) or not content:
        _refuse(f"{here}.content", "a search result without text", "leave it out")
    for i, inner in enumerate(content):
        if _kind(inner, f"{here}.content[{i}]") != "text":
            _refuse(f"{here}.content[{i}]", "a search result holds text only", "use text blocks")
        check_plain(inner, "text", f"{here}.content[{i}]")


def _check_thinking(block: Block, kind: str, here: str) -> None:
    names = ("thinking", "signature") if kind == "thinking" else ("data",)
    for name in names:
        if not isinstance(block.get(name), str) or (not block[name] and name != "thinking"):
            _refuse(f"{here}.{name}", f"a {kind} block without its {name}", "send it back exactly as it came, or not")


def _check_image(block: Block, here: str) -> None:
    source = block.get("source")
    if not isinstance(source, Mapping) or source.get("type") not in ("base64", "url", "file"):
        _refuse(f"{here}.source", "it is neither base64, nor url, nor file", "give the image's source")
    if source["type"] != "base64":
        return
    media_type, data = source.get("media_type"), source.get("data")
    if not isinstance(media_type, str) or media_type not in _MAGIC:
        _refuse(f"{here}.source.media_type", f"{media_type!r} is not taken", "use PNG, JPEG, GIF or WebP")
    if not isinstance(data, str) or not data:
        _refuse(f"{here}.source.data", "it is empty", "leave the image out")
    if len(data) > MAX_IMAGE_BASE64:
        _refuse(f"{here}.source.data", f"{len(data)} base64 characters are more than 5 MB", "show a smaller image")
    try:
        raw = binascii.a2b_base64(data, strict_mode=True)
    except (binascii.Error, ValueError) as error:
        _refuse(f"{here}.source.data", f"it is no base64: {error}", "encode the image's bytes")
    if not raw.startswith(_MAGIC[media_type]):
        _refuse(f"{here}.source.media_type", f"the bytes are not {media_type}", "name the type that the bytes have")


def _kind(block: Any, here: str) -> str:
    kind = block.get("type") if isinstance(block, Mapping) else None
    if not isinstance(kind, str) or not kind:
        _refuse(here, "a block without a type", 'use {"type": "text", "text": …}')
    return kind


def _refuse(path: str, what: str, hint: str) -> NoReturn:
    raise InvalidRequest(f"{path}: {what}", hint=hint)
