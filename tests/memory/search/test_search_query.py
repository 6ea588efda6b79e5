"""Queries: any text is one, and what its syntax means."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manusfs.memory.search.query import parse

fts = sqlite3.connect(":memory:")
fts.execute("CREATE VIRTUAL TABLE f USING fts5(body, head, content='', tokenize='porter unicode61')")

odd = st.sampled_from(
    [
        '"',
        "'",
        "*",
        "(",
        ")",
        "NEAR(",
        "AND",
        "OR",
        "NOT",
        "^",
        ":",
        "-",
        "+",
        "{",
        "}",
        "\x00",
        "\ud800",
        " ",
        "\n",
        "東",
        "kind:",
        "kind:web",
        "after:2024",
        "within=",
        "-x",
        '-"a b"',
        "body:x",
        "c++",
        "ﬁ",
        "a.b.c",
        "don't",
        "東京",
    ]
)


def fts_terms(query: str) -> list[str]:
    return [term.fts for term in parse(query).terms]


@given(
    st.one_of(st.text(max_size=80), st.lists(odd, max_size=25).map("".join), st.lists(odd, max_size=25).map(" ".join))
)
def test_any_text_is_a_legal_query(text: str) -> None:
    """F13: quoting by the library raises on "", blanks and NUL."""
    expression = parse(text).expression
    if expression:
        fts.execute("SELECT rowid FROM f WHERE f MATCH ?", (expression,)).fetchall()


def test_a_hundred_thousand_words_are_capped() -> None:
    assert len(parse(" ".join(f"word{number}" for number in range(100_000))).terms) <= 32


def test_stop_words_are_left_out_unless_there_is_nothing_else() -> None:
    assert fts_terms("When did the bridge open?") == ['"bridge"', '"open"']
    assert fts_terms("who is it") == ['"who"', '"is"', '"it"']


def test_a_stop_word_of_another_language_is_a_word_in_english() -> None:
    assert '"die"' in fts_terms("did the man die in the war")
    assert fts_terms("wann wurde die Brücke eröffnet") == ['"brücke"', '"eröffnet"']


def test_identifiers_are_asked_for_in_a_row() -> None:
    assert fts_terms("Foo::bar")[0] == '"foo bar"'
    assert fts_terms("38.101") == ['"38 101"']
    assert fts_terms("e-mail")[:2] == ['"e mail"', '"email"']
    assert fts_terms("don't panic") == ['"panic"']


def test_cjk_is_asked_for_in_pairs() -> None:
    assert fts_terms("上下文压缩") == ['"上下"', '"下文"', '"文压"', '"压缩"']
    assert fts_terms("東") == ['"東" *']


def test_phrases_are_required_and_dashes_exclude() -> None:
    query = parse('"north plant" opening -south')
    assert [term.fts for term in query.phrases] == ['"north plant"']
    assert fts_terms('"north plant" opening -south') == ['"opening"']
    assert [term.fts for term in query.excluded] == ['"south"']
    assert "NOT" in query.expression


def test_a_query_that_only_leaves_out_looks_for_nothing() -> None:
    query = parse("-only -n")
    assert query.expression == "" and len(query.excluded) == 2
    assert [term.fts for term in parse('"-n"').phrases] == ['"n"']
    assert fts_terms("--no-cache")[0] == '"no cache"'


@pytest.mark.parametrize("text", ["kind:foo", "after:yesterday", "before:"])
def test_what_is_nearly_a_filter_is_remarked(text: str) -> None:
    query = parse(f"{text} bridge kind:web")
    assert text in query.remarks[0] and len(query.remarks) == 1
    assert parse("error:timeout kind:web after:2026").remarks == ()


@pytest.mark.parametrize("text", ["kind:nothing", "after:yesterday", "error:timeout", "within:"])
def test_what_only_looks_like_a_filter_is_words(text: str) -> None:
    assert not parse(text).filters
    assert parse(text).terms


def test_filters_are_taken_out_of_the_words() -> None:
    query = parse("bridge kind:web host:Example.org session:20260101-ab12 after:2026-01 within=obs:3f9c21ab77de")
    assert [term.fts for term in query.terms] == ['"bridge"']
    assert query.filters.kinds == ("web",)
    assert query.filters.hosts == ("example.org",)
    assert query.filters.sessions == ("20260101-ab12",)
    assert (query.filters.after, query.filters.within) == ("2026-01", "obs:3f9c21ab77de")
