"""Which images the Messages API takes, told from their first bytes."""

from __future__ import annotations

import struct

__all__ = ["MAX_BASE64", "MAX_SIDE", "image_problem", "image_size", "image_type"]

MAX_BASE64 = 5_000_000
"""Most characters of one image as base64. The API counts 5 MB; measured on the encoded form, which is the larger."""
MAX_SIDE = 8_000
"""Most pixels of a side."""

_SIGNATURES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}
_JPEG_FRAMES = frozenset((*range(0xC0, 0xC4), *range(0xC5, 0xC8), *range(0xC9, 0xCC), *range(0xCD, 0xD0)))


def image_type(raw: bytes) -> str:
    """Return the media type of an image that the API takes, told by its content; empty for anything else."""
    for signature, media_type in _SIGNATURES.items():
        if raw.startswith(signature):
            return media_type
    return "image/webp" if raw[:4] == b"RIFF" and raw[8:12] == b"WEBP" else ""


def image_problem(raw: bytes) -> str:
    """Return why the image `raw` can't be shown to a model, empty when it can."""
    media_type = image_type(raw)
    if not media_type:
        return "not an image of a type that models take (PNG, JPEG, GIF, WebP)"
    encoded = (len(raw) + 2) // 3 * 4
    if encoded > MAX_BASE64:
        return f"the image has {len(raw)} bytes, {encoded} as sent, and a model takes {MAX_BASE64}"
    size = image_size(raw, media_type)
    if size is None:
        return "the image's size in pixels can't be told; it is probably damaged"
    if max(size) > MAX_SIDE or min(size) < 1:
        return f"the image has {size[0]} x {size[1]} pixels, and a model takes sides of 1 to {MAX_SIDE}"
    return ""


def image_size(raw: bytes, media_type: str) -> tuple[int, int] | None:
    """Return width and height in pixels from the header, None when it is not whole."""
    try:
        if media_type == "image/png":
            return struct.unpack_from(">II", raw, 16) if raw[12:16] == b"IHDR" else None
        if media_type == "image/gif":
            return struct.unpack_from("<HH", raw, 6)
        if media_type == "image/webp":
            return _webp(raw)
        return _jpeg(raw)
    except (struct.error, IndexError):
        return None


def _jpeg(raw: bytes) -> tuple[int, int] | None:
    at = 2
    while raw[at] == 0xFF:
        marker = raw[at + 1]
        if marker in _JPEG_FRAMES:
            height, width = struct.unpack_from(">HH", raw, at + 5)
            return width, height
        if marker == 0xFF:
            at += 1
            continue
        at += 2 + (0 if marker == 0x01 or 0xD0 <= marker <= 0xD8 else struct.unpack_from(">H", raw, at + 2)[0])
    return None


def _webp(raw: bytes) -> tuple[int, int] | None:
    kind = raw[12:16]
    if kind == b"VP8X":
        width = int.from_bytes(raw[24:27], "little") + 1
        return width, int.from_bytes(raw[27:30], "little") + 1
    if kind == b"VP8L":
        bits = struct.unpack_from("<I", raw, 21)[0]
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 ":
        width, height = struct.unpack_from("<HH", raw, 26)
        return width & 0x3FFF, height & 0x3FFF
    return None
