"""The best passages of one text: what a stub shows of a call that said what it looks for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from manusfs.memory.search import passages

FILLER = "Nothing of interest stands in this sentence at all. " * 30


def test_the_passage_that_answers_is_found() -> None:
    text = f"{FILLER}\n\nThe north bridge was opened in 1932 by the mayor.\n\n{FILLER}"
    (span, *_) = passages(text.encode(), "when was the bridge opened", 3, 400)
    assert b"opened in 1932" in text.encode()[span.start : span.end]


def test_chinese_is_found_and_cut_between_characters() -> None:
    text = "无关的句子。" * 200 + "上下文压缩可以节省费用。" + "无关的句子。" * 200
    (span,) = passages(text, "上下文压缩", 1, 50)
    assert "上下文压缩" in text.encode()[span.start : span.end].decode()
    assert len(text.encode()[span.start : span.end].decode()) <= 50


def test_ligatures_and_accents_do_not_hide_a_word() -> None:
    text = f"{FILLER}\n\nThe ﬁnal résumé of the café.\n\n{FILLER}"
    for query in ("final", "resume", "cafe"):
        assert passages(text, query, 1, 100)


def test_nothing_is_shown_when_no_word_stands_there() -> None:
    assert passages(FILLER, "zeppelin", 3, 400) == []
    assert passages(FILLER, "", 3, 400) == []
    assert passages(b"", "word", 3, 400) == []


alphabet = st.sampled_from(["bridge ", "open ", "the ", "東京", "ﬁ", "é", ". ", "\n", "\n\n", "😀", "x" * 50, "# H\n"])


@given(st.lists(alphabet, max_size=300).map("".join), st.integers(1, 5), st.integers(1, 500))
def test_passages_never_overlap_and_never_cut_a_character(text: str, count: int, size: int) -> None:
    data = text.encode()
    found = passages(data, "bridge opening 東京 fi", count, size)
    assert len(found) <= count
    at = 0
    for span in found:
        assert at <= span.start < span.end <= len(data)
        assert len(data[span.start : span.end].decode()) <= size
        at = span.end
