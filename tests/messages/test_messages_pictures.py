"""What a request may show of pictures and documents, by the API's documented limits (I3)."""

from __future__ import annotations

import base64
import struct
from typing import Any

import pytest

from manusfs.errors import InvalidRequest
from manusfs.messages import Request, validate
from manusfs.messages.validate import MAX_REQUEST_BYTES


def png(side: int, size: int = 60) -> dict[str, Any]:
    """Return an image block of `side` pixels a side and about `size` bytes."""
    raw = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", side, side // 2) + b"\0" * size
    data = base64.b64encode(raw).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


def pdf(pages: int) -> dict[str, Any]:
    raw = b"%PDF-1.7\n<< /Type /Pages >>\n" + b"<< /Type /Page /Parent 1 0 R >>\n" * pages
    source = {"type": "base64", "media_type": "application/pdf", "data": base64.b64encode(raw).decode()}
    return {"type": "document", "source": source}


def shown(*blocks: dict[str, Any]) -> Request:
    return Request("m", 10, (), (), ({"role": "user", "content": list(blocks)},))


def test_twenty_large_pictures_are_taken_and_a_hundred_small_ones() -> None:
    validate(shown(*[png(8_000)] * 20))
    validate(shown(*[png(2_000)] * 100))


@pytest.mark.parametrize(
    ("blocks", "place"),
    [
        ([*[png(100)] * 20, png(2_001)], "messages[0].content[20]"),
        ([png(2_001), *[png(100)] * 20], "messages[0].content[0]"),
        ([png(100)] * 101, "messages[0].content[100]"),
        ([png(8_001)], "messages[0].content[0]"),
        ([pdf(300), pdf(301)], "messages[0].content[1]"),
        ([png(100, 3_500_000)] * 8, "request"),
    ],
)
def test_one_more_is_refused_at_its_place(blocks: list[dict[str, Any]], place: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        validate(shown(*blocks))
    assert str(caught.value).startswith(f"{place}: ") and caught.value.hint


def test_six_hundred_pages_are_taken() -> None:
    validate(shown(pdf(600)))
    assert MAX_REQUEST_BYTES == 32 * 1024 * 1024
