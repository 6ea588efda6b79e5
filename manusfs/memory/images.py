"""Which images the Messages API takes, told from their first bytes."""

from __future__ import annotations

from manusfs.messages.pictures import MAX_SIDE, image_size

__all__ = ["MAX_BASE64", "MAX_SIDE", "image_problem", "image_size", "image_type"]

MAX_BASE64 = 5_000_000
"""Most characters of one image as base64. The API counts 5 MB; measured on the encoded form, which is the larger."""

_SIGNATURES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}


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
