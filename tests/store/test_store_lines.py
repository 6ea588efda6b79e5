"""Lines to offsets and back, by the newline counts of blocks."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manusfs.records import BLOCK_BYTES, Span
from manusfs.store import lines, observations_files
from manusfs.store.observations_files import file_meta

SMALL = 16


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of a few bytes, so that every text has many borders."""
    for module in (lines, observations_files):
        monkeypatch.setattr(module, "BLOCK_BYTES", SMALL)


TEXTS = st.lists(st.sampled_from([b"\n", b"\r\n", b"a", b"bc", b"a long word", "é".encode()]), max_size=60).map(
    b"".join
)


@settings(max_examples=300)
@given(TEXTS, st.integers(1, 70), st.integers(0, 20))
def test_lines_are_what_splitting_gives(text: bytes, first: int, more: int) -> None:
    """Lines end with newline only; those past the end are cut off; pieces join to the whole."""
    file = file_meta("text.md", text)

    def body(span: Span) -> bytes:
        assert len(span) <= SMALL, "one block at a time"
        return text[span.start : span.end]

    split = [line + b"\n" for line in text.split(b"\n")]
    split[-1] = split[-1][:-1]
    if not split[-1]:
        split.pop()
    assert lines.line_total(file, body) == len(split)
    span = lines.line_span(file, body, first, first + more)
    assert text[span.start : span.end] == b"".join(split[first - 1 : first + more])
    offset = 0
    for number, line in enumerate(split, 1):
        for at in (offset, offset + len(line) - 1):
            assert lines.line_of(file, body, at) == number
        offset += len(line)
    if text:
        assert lines.line_of(file, body, len(text) + 5) == len(split)


def test_a_block_of_nothing_but_newlines_and_an_endless_line() -> None:
    text = b"\n" * (3 * SMALL) + b"x" * (5 * SMALL) + b"\nend"
    file = file_meta("text.md", text)
    assert lines.line_of(file, lambda span: text[span.start : span.end], len(text)) == 3 * SMALL + 2
    assert lines.line_span(file, lambda span: text[span.start : span.end], 3 * SMALL + 1, 3 * SMALL + 1) == Span(
        3 * SMALL, 8 * SMALL + 1
    )


def test_hashes_are_whole_and_by_block() -> None:
    assert BLOCK_BYTES == 256 * 1024
    file = file_meta("text.md", b"a\n" * 20)
    assert (file.size, len(file.blocks), file.newlines) == (40, 3, (8, 8, 4))
    assert file_meta("text.md", b"a\n").blocks == (file_meta("text.md", b"a\n").sha256,)
