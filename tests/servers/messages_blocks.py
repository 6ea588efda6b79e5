"""Which content blocks the Messages API takes, where, and what each must look like (version 2026-10-21)."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any

Json = dict[str, Any]

_CACHEABLE = {"cache_control"}
MEMBERS: dict[str, tuple[set[str], set[str]]] = {
    "text": ({"text"}, {"citations"} | _CACHEABLE),
    "image": ({"source"}, {"transformations"} | _CACHEABLE),
    "document": ({"source"}, {"citations", "context", "title"} | _CACHEABLE),
    "search_result": ({"source", "title", "content"}, {"citations"} | _CACHEABLE),
    "thinking": ({"thinking", "signature"}, set()),
    "redacted_thinking": ({"data"}, set()),
    "tool_use": ({"id", "name", "input"}, {"caller", "toolset_name"} | _CACHEABLE),
    "tool_result": ({"tool_use_id"}, {"content", "is_error", "toolset_name"} | _CACHEABLE),
    "server_tool_use": ({"id", "name", "input"}, {"caller"} | _CACHEABLE),
    "web_search_tool_result": ({"tool_use_id", "content"}, {"caller"} | _CACHEABLE),
    "web_fetch_tool_result": ({"tool_use_id", "content"}, {"caller"} | _CACHEABLE),
}
"""For each type of block: the members it must have and those it may have, besides `type`."""

PLACES = {
    "system": {"text"},
    "user": {"text", "image", "document", "search_result", "tool_result"},
    "assistant": {
        "text",
        "thinking",
        "redacted_thinking",
        "tool_use",
        "server_tool_use",
        "web_search_tool_result",
        "web_fetch_tool_result",
    },
    "tool_result": {"text", "image", "document", "search_result"},
}
"""Which types may stand in which place."""

MAGIC = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
}
MAX_IMAGE = 5 * 1024 * 1024
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}\Z")
TOOL_ID = re.compile(r"[a-zA-Z0-9_-]+\Z")


class ApiError(Exception):
    """A refusal, as the API words it."""

    def __init__(self, status: int, kind: str, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.kind, self.headers = status, kind, headers or {}

    def body(self) -> Json:
        """Return the JSON of the answer."""
        error = {"type": self.kind, "message": str(self)}
        return {"type": "error", "error": error, "request_id": "req_local"}


def bad(where: str, message: str) -> ApiError:
    """Return the usual refusal: 400, with the place it is about."""
    return ApiError(400, "invalid_request_error", f"{where}: {message}" if where else message)


def members(value: Any, where: str, must: set[str], may: set[str]) -> Json:
    """Return `value`, an object that has every member of `must` and none beyond `may`."""
    if not isinstance(value, dict):
        raise bad(where, "Input should be an object")
    for name in sorted(must - value.keys()):
        raise bad(f"{where}.{name}", "Field required")
    for name in sorted(value.keys() - must - may):
        raise bad(f"{where}.{name}", "Extra inputs are not permitted")
    return value


def text_of(value: Any, where: str) -> str:
    """Return `value`, which must be a string."""
    if not isinstance(value, str):
        raise bad(where, "Input should be a valid string")
    return value


def check_block(block: Any, where: str, place: str) -> None:
    """Refuse a block that may not stand in `place` (a key of PLACES), or is not as it should be."""
    if not isinstance(block, dict) or not isinstance(block.get("type"), str):
        raise bad(f"{where}.type", "Field required")
    kind = block["type"]
    if kind not in MEMBERS:
        raise bad(where, f"Input tag '{kind}' found using 'type' does not match any of the expected tags")
    if kind not in PLACES[place]:
        raise bad(where, f"{kind} blocks are not allowed in {place} {'messages' if place != 'system' else 'prompts'}")
    must, may = MEMBERS[kind]
    members(block, f"{where}.{kind}", must, may | {"type"})
    _CHECKS.get(kind, _nothing)(block, f"{where}.{kind}", place)


def content_of(message: Json) -> list[Any]:
    """Return the blocks of a message, a plain string being one text block."""
    content = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content or [])


def _nothing(block: Json, where: str, place: str) -> None:
    del block, where, place


def _text(block: Json, where: str, place: str) -> None:
    text = text_of(block["text"], f"{where}.text")
    if not text:
        if block.get("cache_control"):
            raise bad(f"{where}", "cache_control cannot be set for empty text blocks")
        raise bad("messages", "text content blocks must be non-empty")
    if not text.strip():
        raise bad("messages", "text content blocks must contain non-whitespace text")
    if block.get("citations") and place != "assistant":
        raise bad(f"{where}.citations", "citations are not permitted on text blocks of user messages")


def _image(block: Json, where: str, place: str) -> None:
    del place
    source = members(block["source"], f"{where}.source", {"type"}, {"media_type", "data", "url", "file_id"})
    if source["type"] == "url":
        if not text_of(source.get("url"), f"{where}.source.url").startswith("https://"):
            raise bad(f"{where}.source.url", "Only HTTPS URLs are supported.")
        return
    if source["type"] != "base64":
        raise bad(f"{where}.source", "Input tag does not match any of the expected tags: 'base64', 'url'")
    media = source.get("media_type")
    if media not in MAGIC:
        raise bad(f"{where}.source.base64.media_type", f"Input should be {', '.join(map(repr, MAGIC))}")
    data = _base64(source.get("data"), f"{where}.source.base64")
    if not data.startswith(MAGIC[media]) or (media == "image/webp" and data[8:12] != b"WEBP"):
        raise bad(f"{where}.source.base64", f"the image was specified using the {media} media type, but is not one")


def _base64(value: Any, where: str) -> bytes:
    text = text_of(value, f"{where}.data")
    if len(text) > MAX_IMAGE:
        raise bad(where, f"image exceeds 5 MB maximum: {len(text)} bytes > {MAX_IMAGE} bytes")
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise bad(f"{where}.data", f"invalid base64 data: {error}") from error
    if not data:
        raise bad(f"{where}.data", "image cannot be empty")
    return data


def _search_result(block: Json, where: str, place: str) -> None:
    del place
    text_of(block["source"], f"{where}.source")
    text_of(block["title"], f"{where}.title")
    if not isinstance(block["content"], list) or not block["content"]:
        raise bad(f"{where}.content", "List should have at least 1 item")
    citations = block.get("citations")
    if citations is not None and not isinstance(members(citations, f"{where}.citations", set(), {"enabled"}), dict):
        raise bad(f"{where}.citations", "Input should be an object")
    for place_in, part in enumerate(block["content"]):
        check_block(part, f"{where}.content.{place_in}", "system")


def _thinking(block: Json, where: str, place: str) -> None:
    del place
    text_of(block["thinking"], f"{where}.thinking")
    if not text_of(block["signature"], f"{where}.signature"):
        raise bad(f"{where}.signature", "Field required")


def _redacted(block: Json, where: str, place: str) -> None:
    del place
    if not text_of(block["data"], f"{where}.data"):
        raise bad(f"{where}.data", "Invalid `data` in `redacted_thinking` block")


def _tool_use(block: Json, where: str, place: str) -> None:
    del place
    if not TOOL_ID.match(text_of(block["id"], f"{where}.id")):
        raise bad(f"{where}.id", f"String should match pattern '^[a-zA-Z0-9_-]+$': {block['id']!r}")
    if not TOOL_NAME.match(text_of(block["name"], f"{where}.name")):
        raise bad(f"{where}.name", "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'")
    if not isinstance(block["input"], dict):
        raise bad(f"{where}.input", "Input should be a valid dictionary")


def _tool_result(block: Json, where: str, place: str) -> None:
    del place
    if not TOOL_ID.match(text_of(block["tool_use_id"], f"{where}.tool_use_id")):
        raise bad(f"{where}.tool_use_id", "String should match pattern '^[a-zA-Z0-9_-]+$'")
    if not isinstance(block.get("is_error", False), bool):
        raise bad(f"{where}.is_error", "Input should be a valid boolean")
    content = block.get("content")
    if content is not None and not isinstance(content, str | list):
        raise bad(f"{where}.content", "Input should be a valid string or list")
    if block.get("is_error") and not content:
        raise bad(f"{where}", "content cannot be empty if `is_error` is true")
    for index, part in enumerate(content if isinstance(content, list) else ()):
        check_block(part, f"{where}.content.{index}", "tool_result")
        if block.get("is_error") and part["type"] != "text":
            raise bad(f"{where}", "all content must be type `text` if `is_error` is true")


_CHECKS = {
    "text": _text,
    "image": _image,
    "search_result": _search_result,
    "thinking": _thinking,
    "redacted_thinking": _redacted,
    "tool_use": _tool_use,
    "tool_result": _tool_result,
}
