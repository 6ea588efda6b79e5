"""A JSON object that proves itself: its last member is `crc`, the CRC-32 of the bytes before it."""

from __future__ import annotations

import json
import zlib
from typing import Any

__all__ = ["SEAL_BYTES", "dumps", "seal", "unseal"]

SEAL_BYTES = 17
"""Length of `"crc":"01234567"}`."""

# `json.dumps` would make a new encoder for each call that asks for anything but the defaults.
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def dumps(value: Any) -> bytes:
    """Return `value` as compact JSON in UTF-8. Text with lone surrogates is escaped, so that it comes back exactly."""
    text = _encode(value)
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode("ascii")


def seal(members: bytes) -> bytes:
    """Return the object `{members,"crc":"…"}`; `members` is JSON text without braces and must not be empty."""
    head = b"{" + members + b","
    return b'%s"crc":"%08x"}' % (head, zlib.crc32(head))


def unseal(line: bytes) -> dict[str, Any] | None:
    """Return the object that `line` holds, None when it is not whole: no seal, a wrong CRC or no JSON object."""
    if line[-SEAL_BYTES:-10] != b'"crc":"' or line[-2:] != b'"}':
        return None
    try:
        if int(line[-10:-2], 16) != zlib.crc32(memoryview(line)[:-SEAL_BYTES]):
            return None
        value = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
