"""What a request may show of pictures and documents: how many, how large, how many pages."""

from __future__ import annotations

import binascii
import re
import struct
from collections.abc import Mapping
from typing import Any, NoReturn

from manusfs.errors import InvalidRequest

__all__ = ["MANY_IMAGES", "MAX_IMAGES", "MAX_PAGES", "MAX_SIDE", "MAX_SIDE_OF_MANY", "Pictures", "image_size"]

MAX_IMAGES, MANY_IMAGES = 100, 20
"""Images of a request; with more than the second number each side is limited further."""
MAX_SIDE, MAX_SIDE_OF_MANY = 8_000, 2_000
"""Pixels of a side."""
MAX_PAGES = 600
"""Pages of all documents of a request."""
_HEADER_CHARS = 256 * 1024
"""A header is short, but a camera puts a small picture of its own before it."""
_PAGE = re.compile(rb"/Type\s*/Page(?![a-zA-Z])")
_JPEG_FRAMES = frozenset((*range(0xC0, 0xC4), *range(0xC5, 0xC8), *range(0xC9, 0xCC), *range(0xCD, 0xD0)))


class Pictures:
    """Counts the pictures and pages of one request, and refuses what is too much."""

    def __init__(self) -> None:
        self._images = 0
        self._pages = 0
        self._large = ""

    def count(self, block: Mapping[str, Any], kind: str, path: str) -> None:
        """Count `block` if it is a picture or a document."""
        if kind == "image":
            self._image(block, path)
        elif kind == "document":
            self._pages += _pages(block)
            if self._pages > MAX_PAGES:
                _refuse(path, f"more than {MAX_PAGES} pages of documents in one request", "show less of them")

    def _image(self, block: Mapping[str, Any], path: str) -> None:
        self._images += 1
        if self._images > MAX_IMAGES:
            _refuse(path, "too many images", f"show at most {MAX_IMAGES} in one request, leave out the oldest")
        side = _longest_side(block)
        if side > MAX_SIDE:
            _refuse(path, f"a side of {side} pixels is more than {MAX_SIDE}", "show a smaller image")
        if side > MAX_SIDE_OF_MANY:
            self._large = self._large or path
        if self._large and self._images > MANY_IMAGES:
            what = f"more than {MAX_SIDE_OF_MANY} pixels a side in a request of more than {MANY_IMAGES} images"
            _refuse(self._large, what, "show fewer, or smaller ones")


def _longest_side(block: Mapping[str, Any]) -> int:
    """Return the pixels of the longer side, 0 where they can't be told; what is no image is refused elsewhere."""
    source = block.get("source")
    data = source.get("data") if isinstance(source, Mapping) else None
    if not isinstance(data, str) or not isinstance(source, Mapping):
        return 0
    return max(image_size(_decoded(data[:_HEADER_CHARS]), str(source.get("media_type"))) or (0,))


def _pages(block: Mapping[str, Any]) -> int:
    """Return the pages of a document as far as its bytes tell them, 1 at least."""
    source = block.get("source")
    data = source.get("data") if isinstance(source, Mapping) and source.get("type") == "base64" else None
    return max(1, len(_PAGE.findall(_decoded(data)))) if isinstance(data, str) else 1


def _decoded(data: str) -> bytes:
    try:
        return binascii.a2b_base64(data[: len(data) // 4 * 4])
    except (binascii.Error, ValueError):
        return b""


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


def _refuse(path: str, what: str, hint: str) -> NoReturn:
    raise InvalidRequest(f"{path}: {what}", hint=hint)
