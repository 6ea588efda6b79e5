"""Which key was used, without keeping it."""

from __future__ import annotations

import hashlib
import hmac

__all__ = ["fingerprint"]


def fingerprint(key: str, hmac_key: bytes) -> str:
    """Return 32 hex digits that tell whether a key is the same as before, "" for no key.

    `hmac_key` is the user's own secret: without it the digits of a transcript say nothing about the key.
    """
    return hmac.new(hmac_key, key.encode("utf-8"), hashlib.sha256).hexdigest()[:32] if key else ""
