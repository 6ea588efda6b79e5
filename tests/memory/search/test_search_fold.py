"""Folding: what the index gets, and where a folded character came from."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from manusfs.memory.search.fold import fold_with_map, index_text, index_texts


def words(text: str) -> list[str]:
    return index_text(text.encode()).split()


def test_plain_text_stays_as_it_is() -> None:
    assert index_text(b"The plain text, as it is.") == "The plain text, as it is."


def test_ligatures_wide_letters_and_case_are_folded() -> None:
    assert words("ﬁnal ofﬁce ＡＢＣ Straße") == ["final", "office", "abc", "strasse"]


def test_runs_of_cjk_become_pairs_and_the_last_character_alone() -> None:
    assert words("在東京都。") == ["在東", "東京", "京都", "都", "。"]


def test_identifiers_are_found_whole_and_in_parts() -> None:
    assert {"getUserName", "get", "User", "Name"} <= set(words("call getUserName now"))
    assert {"HTTP", "Server"} <= set(words("an HTTPServer2 or myHTTPServer"))


def test_numbers_with_commas_are_found_without() -> None:
    assert "1234567" in words("it cost 1,234,567 dollars")
    assert "12345.67" in words("it cost $12,345.67 in all")


def test_words_that_a_line_end_cut_are_joined_and_their_parts_kept() -> None:
    found = words("an exam-\nple of this, well-\r\n known")
    assert {"example", "exam", "ple", "wellknown", "well", "known"} <= set(found)


def test_spaced_letters_of_a_pdf_are_joined() -> None:
    assert "REPORT" in words("the R E P O R T begins")
    assert "report" in words("the r e p o r t")


def test_invisible_characters_are_dropped() -> None:
    assert words("so\u00adft zero\u200bwidth nu\x00l") == ["soft", "zerowidth", "nu", "l"]


@given(st.binary(max_size=300))
def test_any_bytes_can_be_folded(data: bytes) -> None:
    index_text(data).encode("utf-8")


@given(st.text(max_size=200))
def test_every_folded_character_knows_where_it_came_from(text: str) -> None:
    folded, origin = fold_with_map(text)
    if origin is None:
        assert len(folded) == len(text)
        return
    assert len(origin) == len(folded)
    assert origin == sorted(origin)
    assert all(0 <= at < len(text) for at in origin)


@given(
    st.lists(
        st.one_of(
            st.sampled_from(
                [
                    "getUserName ",
                    "1,000,000",
                    "over-\n",
                    "over-\r\nthere ",
                    "B R I D G E ",
                    " a b c d e",
                    "\0",
                    "plain ",
                ]
            ),
            st.sampled_from(["中文，全角", "ｗｉｄｅ\u3000", "e\u0301", "\u2026", "ﬁ"]),
            st.text(max_size=8),
        ),
        max_size=12,
    ),
    st.integers(1, 9),
)
def test_a_text_folds_piece_by_piece_as_each_piece_does_alone(words: list[str], step: int) -> None:
    """MA-5: the look at the whole text is only a quicker way to the same."""
    data = "".join(words).encode("utf-8", "replace")
    borders = [*range(0, len(data), step), len(data)]
    assert index_texts(data, borders) == [index_text(data[a:b]) for a, b in pairwise(borders)]


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=40))
def test_what_is_indexed_is_in_one_normal_form(text: str) -> None:
    """MA-5: wide punctuation takes a quicker way to NFKC, and ends there."""
    wide = unicodedata.normalize("NFKC", f"中，{text}")
    assert index_text(f"中，{text}".encode()) == index_text(wide.encode()) or not unicodedata.is_normalized(
        "NFKC", wide
    )
