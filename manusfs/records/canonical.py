"""The one way in which a value becomes bytes to be hashed, compared or stored."""

from __future__ import annotations

import hashlib
import json
from typing import Any

__all__ = ["canonical", "sha256_hex", "valid_text"]


def canonical(value: Any) -> str:
    """Return `value` as canonical JSON: keys sorted, no blanks, characters as they are, lone surrogates replaced."""
    return valid_text(json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False))


def sha256_hex(data: bytes) -> str:
    """Return the 64 hex digits of the SHA-256 of `data`."""
    return hashlib.sha256(data).hexdigest()


def valid_text(text: str) -> str:
    """Return `text` with lone surrogates replaced by U+FFFD, so that it encodes as UTF-8."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return "".join("\ufffd" if 0xD800 <= ord(c) <= 0xDFFF else c for c in text)
    return text
