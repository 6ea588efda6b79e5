"""Passages: without gaps, on code-point borders, along the structure of a text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from manusfs.memory.search.chunk import MOST, chunks

pieces = st.sampled_from(
    [
        "\n",
        "\n\n",
        "\n# Head\n",
        "\n### Sub\n",
        "```\n# no head\n```\n",
        "word ",
        "a" * 300,
        "東京は日本の首都です。",
        "\r\n",
        "é",
        "😀" * 50,
        "| a | b |\n",
        "Ann: hello there my friend\n",
        "Bob: good day to you, dear\n",
        " ",
        ". ",
    ]
)
texts = st.one_of(st.text(max_size=400), st.lists(pieces, max_size=120).map("".join))


@given(texts, st.lists(st.integers(0, 3000), max_size=5))
def test_every_byte_stands_in_exactly_one_passage_and_no_code_point_is_cut(text: str, pages: list[int]) -> None:
    data = text.encode("utf-8", "replace")
    pages = [page for page in pages if page < len(data) and data[page] & 0xC0 != 0x80]
    found = chunks(data, pages)
    assert b"".join(data[part.start : part.end] for part in found) == data
    at = 0
    for part in found:
        assert part.start == at < part.end <= at + MOST
        data[part.start : part.end].decode("utf-8")
        assert not any(part.start < page < part.end for page in pages)
        at = part.end


@given(st.binary(max_size=3000))
def test_bytes_that_are_no_text_are_cut_without_gaps_too(data: bytes) -> None:
    assert b"".join(data[part.start : part.end] for part in chunks(data)) == data


def _texts(data: str, pages: tuple[int, ...] = ()) -> list[str]:
    raw = data.encode()
    return [raw[part.start : part.end].decode() for part in chunks(raw, pages)]


def test_sections_begin_passages_and_later_passages_know_their_heading() -> None:
    body = "A sentence of some length about it. " * 12
    text = f"# One\n\n{body}\n\n{body}\n\n## Two\n\n{body}\n\n{body}\n"
    parts = chunks(text.encode())
    starts = [text.encode()[part.start : part.end].decode().split("\n")[0] for part in parts]
    assert starts[0] == "# One"
    assert "## Two" in starts
    heads = [part.head for part in parts]
    assert heads[0] == ""
    assert heads[1] == "One"
    assert heads[starts.index("## Two")] == "One"
    assert heads[-1] == "Two"


def test_a_heading_alone_is_joined_to_what_follows() -> None:
    assert len(_texts("# Title\n\n## Section\n\nOne short line.\n")) == 1


def test_a_comment_in_code_is_no_heading() -> None:
    text = "# Real\n\n" + "words of the text. " * 20 + "\n\n```\n# comment\nx = 1\n```\n\n" + "more words here. " * 40
    assert {part.head for part in chunks(text.encode())} <= {"", "Real"}


def test_rows_of_a_table_stay_whole() -> None:
    rows = [f"| row {number} | value {number * 7} | some more text in this cell |" for number in range(60)]
    for part in _texts("\n".join(rows)):
        assert all(line in rows for line in part.strip().split("\n"))


def test_turns_of_a_dialogue_are_passages() -> None:
    turns = [f"{('Ann', 'Bob')[at % 2]}: this is what I say in turn number {at}, my friend" for at in range(12)]
    assert [part.strip() for part in _texts("\n".join(turns))] == turns


def test_fields_of_records_are_no_turns() -> None:
    records = "\n".join(f"name: n{at}\nage: {at}\ncity: c{at}\n" for at in range(40))
    assert len(_texts(records)) < 10


def test_no_passage_crosses_a_page() -> None:
    text = "first page. " * 5 + "second page. " * 5
    assert _texts(text, (60,)) == [text[:60], text[60:]]


def test_an_endless_line_is_cut_between_code_points() -> None:
    assert "".join(_texts("漢" * 5_000)) == "漢" * 5_000
