"""Parts of a transcript rendered again: the same text or Damaged; images that the API takes (I1, I3; s19, R42)."""

from __future__ import annotations

import base64
import struct
import zlib
from dataclasses import replace

import pytest
from memory_world import World, page

from manusfs.errors import Damaged
from manusfs.memory import Renderer
from manusfs.memory.images import image_problem, image_size
from manusfs.records import Fetched, ImagePart, ObsRef, Source, TextPart

URL = "https://example.org/page"
BODY = b"<html>" + b"The bridge is long.\n" * 400


def png(width: int, height: int, padding: int = 0) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"tEXt", bytes(padding)) + chunk(b"IEND", b"")


def stored(world: World, raw: bytes) -> ImagePart:
    (taken,) = world.workspace.intake.take([Fetched(Source.user("shot"), raw)], "s", [""])
    return ImagePart(ObsRef(taken.meta.id, "raw"), "image/png")


def test_a_part_renders_to_the_text_that_was_shown(world: World) -> None:
    (taken,) = world.workspace.intake.take([page(URL, BODY)], "s", [""])
    renderer = Renderer(world.workspace.observations)
    assert renderer.text(taken.part) == taken.text
    assert renderer.blocks([TextPart("before"), taken.part]) == [
        {"type": "text", "text": "before"},
        {"type": "text", "text": taken.text},
    ]


def test_a_part_whose_bytes_changed_is_damaged_unless_it_can_be_mended(world: World) -> None:
    (taken,) = world.workspace.intake.take([page(URL, BODY)], "s", [""])
    world.files(f"obs:{taken.meta.id}")["text.md"].write_bytes(b"other")
    with pytest.raises(Damaged):
        Renderer(world.workspace.observations).text(taken.part)
    assert world.workspace.renderer.text(taken.part) == taken.text


def test_a_part_with_another_hash_is_damaged(world: World) -> None:
    (taken,) = world.workspace.intake.take([page(URL, BODY)], "s", [""])
    with pytest.raises(Damaged, match="no longer gives the text"):
        Renderer(world.workspace.observations).text(replace(taken.part, sha256="0" * 64))


def test_an_image_is_sent_as_it_is(world: World) -> None:
    raw = png(20, 10)
    (block,) = Renderer(world.workspace.observations).blocks([stored(world, raw)])
    assert block["source"] == {"type": "base64", "media_type": "image/png", "data": base64.b64encode(raw).decode()}


@pytest.mark.parametrize("raw", [png(20, 10, 5_000_000), png(9_000, 10), b"\x89PNG\r\n\x1a\n" + bytes(50)])
def test_an_image_that_the_api_refuses_is_told_in_words(world: World, raw: bytes) -> None:
    """s19: a bad or big image must not lock the session."""
    part = stored(world, raw)
    (block,) = Renderer(world.workspace.observations).blocks([part])
    assert block["type"] == "text" and f'<folded ref="obs:{part.ref.id}/raw"' in block["text"]
    assert "[image not shown here: " in block["text"]
    assert world.workspace.observations.read(part.ref.id, "raw") == raw


@pytest.mark.parametrize(
    ("raw", "size"),
    [
        (png(20, 10), (20, 10)),
        (b"GIF89a" + struct.pack("<HH", 20, 10), (20, 10)),
        (b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x11\x08" + struct.pack(">HH", 10, 20) + bytes(12), (20, 10)),
        (b"RIFF\x00\x00\x00\x00WEBPVP8X" + bytes(8) + b"\x13\x00\x00\x09\x00\x00", (20, 10)),
        (b"RIFF\x00\x00\x00\x00WEBPVP8L" + bytes(4) + b"\x2f" + struct.pack("<I", 19 | 9 << 14), (20, 10)),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 " + bytes(10) + struct.pack("<HH", 20, 10), (20, 10)),
    ],
)
def test_sizes_are_read_from_the_header(raw: bytes, size: tuple[int, int]) -> None:
    from manusfs.memory.images import image_type

    assert image_size(raw, image_type(raw)) == size
    assert image_problem(raw) == ""


@pytest.mark.parametrize("raw", [b"", b"GIF89a", b"\xff\xd8\xff", b"\xff\xd8\xff\xe0", b"RIFF....WEBP", b"%PDF-1.7"])
def test_what_is_no_whole_image_is_no_error_but_a_reason(raw: bytes) -> None:
    assert image_problem(raw)
