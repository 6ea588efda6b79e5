"""Where extraction takes a shorter way over a long text, it finds what the plain way would."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from manusfs.extract import coverage, text, unescape
from manusfs.extract.charset import decode
from manusfs.extract.job import plain_view
from manusfs.extract.strip import without_tag_soup

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
TEXTS = st.text(st.one_of(st.characters(), st.sampled_from("ab1 _\n\t\r\x7f\x85\xa0’—é東가\U0001f600<>`#~*\\[]()")))


@given(TEXTS)
def test_a_text_is_left_alone_exactly_if_a_view_may_hold_it(found: str):
    """I3, I6: no control and no lone surrogate reaches a view, and nothing else is changed."""
    assert (plain_view(found) == found) == (not _CONTROLS.search(found))
    assert not _CONTROLS.search(plain_view(found))


@given(st.lists(st.one_of(TEXTS, st.sampled_from(["word ", "two words, ", "[a](http://b.test/c) ", "naïve — "]))))
def test_words_are_those_of_the_pattern_whatever_the_alphabet(pieces: list[str]):
    """What a reading view lacks is told by the same words in ASCII, in accents and in ideographs."""
    found = "".join(pieces).encode("utf-8", "replace").decode()
    assert coverage._words(found) == coverage._WORD.findall(coverage._LINK_TARGET.sub("]", found))


@given(st.lists(TEXTS), st.lists(TEXTS))
def test_the_share_of_words_counts_repetitions(part: list[str], whole: list[str]):
    """A word that stands twice on the page and once in the view is half there."""
    found = sum(min(part.count(word), whole.count(word)) for word in set(whole))
    assert coverage.share_of_words(part, whole) == (found / len(whole) if whole else 1.0)


@given(st.lists(st.one_of(TEXTS, st.sampled_from(["\\_", "`code\\_`", "\n\\# x", "\n1\\. y", "\n\\- z"]))))
def test_backslashes_are_taken_back_line_by_line_as_in_the_whole(pieces: list[str]):
    """Quotes match; no rule of a Markdown writer's backslashes looks beyond a line."""
    found = "".join(pieces)
    assert unescape.unescaped(found) == unescape._PATTERN.sub(unescape._plain, found)


@given(st.lists(st.one_of(TEXTS, st.sampled_from(["# A\n", " ## é\n", "```\n", "~~~\n", "   # 東\n", "\n\n"]))))
def test_headings_begin_at_their_offset(pieces: list[str]):
    """I3: an offset of the outline is a byte of the view, the first of the heading's line."""
    found = plain_view("".join(pieces))
    raw = found.encode()
    for entry in text.markdown_outline(found):
        assert raw[: entry.offset].endswith(b"\n") or entry.offset == 0
        line = raw[entry.offset :].split(b"\n", 1)[0].decode()
        assert line.strip(" ").startswith("#" * entry.level) and plain_view(entry.title) == entry.title


@given(st.integers(19_990, 20_010), st.integers(0, 30_000), st.sampled_from(["", ">", "x>y"]))
def test_a_tag_is_cut_down_from_the_same_length_on_wherever_it_stands(length: int, before: int, after: str):
    """A page of ordinary tags is not taken apart to see that none is overlong."""
    tag = f"<img src={'x' * (length - 9)}"
    assert len(tag) == length
    found, _ = without_tag_soup(f"{'<p>' * (before // 3)}{tag}>{after}")
    assert (tag in found) == (length <= 20_000)


@given(
    st.sampled_from(["utf-8", "utf-16", "utf-32", "gb18030", "cp1252", "shift_jis"]), st.text("aé東\x00", max_size=9)
)
def test_no_nul_is_left_in_any_charset(charset: str, found: str):
    """A NUL of a text always comes from a zero byte."""
    assert "\x00" not in decode(found.encode(charset, "replace"), charset).text
    assert "\x00" not in decode(found.encode(charset, "replace"), charset, markup=True).text
