"""Pieces of text: of any unit and size, they join to the exact whole (CC-11, CC-13, OC-1, OC-14; case s15)."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manusfs.memory.reading import Text, block_reader, decoded, reading
from manusfs.records import BLOCK_BYTES, Span

ALPHABET = st.sampled_from("ab \n\r字é😀\u200d")
TEXTS = st.one_of(
    st.text(ALPHABET, max_size=200),
    # one endless line, and one of nothing but line ends
    st.builds(lambda n: "字a😀" * n, st.integers(0, 200)),
    st.builds(lambda n: "\n" * n, st.integers(0, 200)),
)


@given(TEXTS, st.integers(1, 60), st.booleans())
def test_pieces_of_any_size_join_to_the_whole(text: str, size: int, by_characters: bool) -> None:
    whole = text.encode("utf-8")
    pages = Text.of(whole)
    at, pieces = 0, []
    while at < pages.total:
        span = pages.piece(at, chars=size) if by_characters else pages.piece(at, limit=size)
        assert span.start == at and span.end > at
        pieces.append(pages.read(span))
        pieces[-1].decode("utf-8")
        assert not by_characters or len(pieces[-1].decode("utf-8")) <= size
        at = span.end
    assert b"".join(pieces) == whole


@given(TEXTS, st.integers(1, 7), st.integers(1, 30))
def test_lines_join_to_the_whole_also_when_each_read_is_cut(text: str, step: int, chars: int) -> None:
    whole = text.encode("utf-8")
    pages = Text.of(whole)
    pieces, line = [], 1
    while piece := pages.line_span(line, line + step - 1):
        start, end = piece.start, piece.end
        while start < end:
            span = pages.piece(start, end=end, chars=chars)
            pieces.append(pages.read(span))
            start = span.end
        line += step
    assert b"".join(pieces) == whole


@given(st.binary(max_size=200), st.integers(1, 9))
def test_bytes_that_are_no_text_join_too(data: bytes, size: int) -> None:
    pages = Text.of(data)
    at, pieces = 0, []
    while at < pages.total:
        span = pages.piece(at, limit=size)
        assert span.start == at and span.end > at
        pieces.append(pages.read(span))
        at = span.end
    assert b"".join(pieces) == data
    decoded(data).encode("utf-8")


@given(TEXTS, st.integers(0, 400))
def test_a_start_inside_a_code_point_moves_to_its_beginning(text: str, offset: int) -> None:
    whole = text.encode("utf-8")
    pages = Text.of(whole)
    border = pages.border(offset)
    whole[:border].decode("utf-8")
    assert border == pages.border(border)
    assert 0 <= min(offset, len(whole)) - border < 4


@given(TEXTS, st.integers(0, 300))
def test_line_numbers_are_what_counting_gives(text: str, offset: int) -> None:
    whole = text.encode("utf-8")
    pages = Text.of(whole)
    if offset < len(whole):
        assert pages.line_of(offset) == 1 + whole[:offset].count(b"\n")


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 3 * BLOCK_BYTES), st.integers(0, 40_000))
def test_lines_and_borders_hold_across_blocks(offset: int, length: int) -> None:
    pages = Text(len(BIG), block_reader(lambda span: BIG[span.start : span.end], len(BIG)), Text.of(BIG).newlines)
    span = pages.piece(offset, limit=max(length, 1))
    BIG[span.start : span.end].decode("utf-8")
    assert pages.read(span) == BIG[span.start : span.end]
    if offset < len(BIG):
        line = pages.line_of(offset)
        assert line == 1 + BIG[:offset].count(b"\n")
        assert pages.line_span(line, line).start == BIG.rfind(b"\n", 0, offset) + 1


BIG = ("字 😀 a line of text\n" * 40_000).encode("utf-8")


def test_a_piece_hashes_its_blocks_once() -> None:
    asked: list[Span] = []

    def read(span: Span) -> bytes:
        asked.append(span)
        return BIG[span.start : span.end]

    pages = Text(len(BIG), block_reader(read, len(BIG)), Text.of(BIG).newlines)
    made = reading(pages, "obs:0123456789ab", pages.piece(BLOCK_BYTES + 5, chars=16_000))
    assert asked == [Span(BLOCK_BYTES, 2 * BLOCK_BYTES)]
    assert made.lines.startswith(f"{1 + BIG[: made.start].count(bytes([10]))}-")


def test_a_reading_says_where_it_goes_on_and_proves_its_bytes() -> None:
    pages = Text.of("abc字\n".encode())
    made = reading(pages, "notes/a.md", pages.piece(0, limit=4))
    assert made.to_json() == {
        "ref": "notes/a.md",
        "start": 0,
        "end": 3,
        "total": 7,
        "next_offset": 3,
        "text": "abc",
        "sha256": hashlib.sha256(b"abc").hexdigest(),
        "state": "stored",
    }
    assert reading(pages, "notes/a.md", pages.piece(3)).next_offset is None


@pytest.mark.parametrize("start", [7, 8, 10**9])
def test_a_read_at_or_behind_the_end_is_empty_and_says_so(start: int) -> None:
    """R27: paging must not tell to go on when nothing is left."""
    pages = Text.of("abc字\n".encode())
    made = reading(pages, "notes/a.md", pages.piece(start, limit=10))
    assert (made.start, made.end, made.next_offset, made.text) == (7, 7, None, "")
