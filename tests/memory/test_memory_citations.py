"""Citations: each quote against its span, and what has none (MA-1; DESIGN 8)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manusfs.errors import NotFound
from manusfs.memory.citations import STATES, check, fix, format_footnote
from manusfs.memory.footnotes import uncited_claims
from manusfs.records import MsgRef, ObsRef, Ref, Span, escape

PAGE = (
    "# The bridge\n\nThe toll is 4 marks — “no more”, the clerk wrote.\nIt was abolished on 3 May 2011.\n"
    "桥梁于1987年建成,全长412米。\nA <observation> tag and a \x1b[31mcolour.\n"
)
ID = "3f9c21ab77de"
URL = "https://example.org/bridge"


class Stored:
    """One observation and one message, as the resolver gives them."""

    def data(self, ref: Ref) -> bytes:
        if isinstance(ref, MsgRef):
            return b"shown: the guard said yes to it"
        assert isinstance(ref, ObsRef)
        if ref.id != ID or ref.view != "text":
            raise NotFound(f"no observation {ref.id}")
        data = PAGE.encode("utf-8")
        return data if ref.span is None else data[ref.span.start : ref.span.end]

    def url(self, id: str) -> str:
        return URL if id == ID else ""


def span_of(quote: str) -> Span:
    start = len(PAGE[: PAGE.index(quote)].encode("utf-8"))
    return Span(start, start + len(quote.encode("utf-8")))


def report(quote: str, span: Span, claim: str = "The toll was abolished in 2011.[^1]") -> str:
    return f"# Report\n\n{claim}\n\n{format_footnote(1, quote, 'The bridge', URL, f'obs:{ID}@{span}')}\n"


def state_of(text: str) -> str:
    return check(text, Stored()).citations[0].state


@pytest.mark.parametrize(
    "quote",
    [
        "It was abolished on 3 May 2011.",
        "桥梁于1987年建成,全长412米。",
        "The toll is 4 marks — “no more”, the clerk wrote.",
    ],
)
def test_a_quote_in_its_span_is_exact(quote: str) -> None:
    made = check(report(quote, span_of(quote)), Stored())
    assert [c.state for c in made.citations] == ["exact"]
    assert (made.total, made.verified, made.ok, made.problems, made.uncited) == (1, 1, True, (), ())


def test_quotes_are_compared_as_the_model_was_shown_them() -> None:
    """I6: the model saw the escaped text and can quote nothing else."""
    stored = "A <observation> tag and a \x1b[31mcolour."
    shown = escape.body(stored)
    assert shown != stored
    assert state_of(report(shown, span_of(stored))) == "exact"


@pytest.mark.parametrize(
    "quote",
    [
        'The toll is 4 marks - "no more", the clerk wrote.',
        "wrote. It was abolished",
    ],
)
def test_white_space_quotes_and_dashes_are_forgiven_and_named(quote: str) -> None:
    assert state_of(report(quote, Span(0, len(PAGE.encode())))) == "normalised"


def test_a_quote_that_stands_elsewhere_is_found_and_can_be_set_right() -> None:
    quote = "It was abolished on 3 May 2011."
    text = report(quote, Span(0, 5))
    citation = check(text, Stored()).citations[0]
    assert citation.state == "elsewhere"
    assert citation.right_ref == f"obs:{ID}@{span_of(quote)}"
    fixed, count = fix(text, Stored())
    assert count == 1 and state_of(fixed) == "exact"
    assert fix(fixed, Stored()) == (fixed, 0)


def test_a_quote_that_stands_nowhere_is_absent() -> None:
    made = check(report("It was abolished on 4 May 2011.", Span(0, 60)), Stored())
    assert made.citations[0].state == "absent" and made.verified == 0
    assert made.problems == (f"[^1] line 5: the quote stands nowhere in obs:{ID}",)


@pytest.mark.parametrize(
    "footnote",
    [
        '[^1]: "It was abolished" — The bridge, obs:000000000000@0-10',
        '[^1]: "It was abolished" — The bridge, obs:zz@0-10',
        '[^1]: "It was abolished" — The bridge, https://example.org',
        f"[^1]: It was abolished, obs:{ID}@0-10",
        f'[^1]: "" — The bridge, obs:{ID}@0-10',
        f'[^1]: "It was abolished" — The bridge, obs:{ID}@90-10',
    ],
)
def test_what_does_not_resolve_is_told(footnote: str) -> None:
    made = check(f"The toll was abolished.[^1]\n\n{footnote}\n", Stored())
    assert made.citations[0].state == "unresolved" and made.problems and made.verified == 0


def test_a_mark_without_a_footnote_counts_against_the_report() -> None:
    made = check("The toll was abolished in May.[^7]\n", Stored())
    assert (made.total, made.verified) == (1, 0)
    assert made.problems == ("[^7]: used, but no footnote defines it",)


def test_a_citation_of_what_was_never_read_is_flagged() -> None:
    """Models answer from stubs they never opened."""
    quote = "It was abolished on 3 May 2011."
    text = report(quote, span_of(quote))
    assert check(text, Stored(), [f"obs:{ID}@0-20"]).citations[0].read is False
    assert "never read" in check(text, Stored(), []).problems[0]
    assert check(text, Stored(), [f"obs:{ID}@0-100"]).citations[0].read is True
    assert check(text, Stored(), [f"obs:{ID}"]).citations[0].read is True


def test_a_wrong_url_is_told_although_the_quote_stands() -> None:
    quote = "It was abolished on 3 May 2011."
    made = check(report(quote, span_of(quote)).replace(URL, "https://example.net/other"), Stored())
    assert made.citations[0].state == "exact" and "is not that of" in made.problems[0]


def test_a_message_can_be_cited() -> None:
    made = check('Yes, the guard did.[^1]\n\n[^1]: "the guard said yes" — log, msg:20261130-ab12:7\n', Stored())
    assert made.citations[0].state == "exact"


def test_code_is_not_searched_for_footnotes() -> None:
    text = 'A fine sentence stands here.[^1]\n\n```\n[^2]: "x" — y, obs:zz\nThis is code. It cites nothing.\n```\n'
    made = check(text, Stored())
    assert made.citations == () and made.undefined == ("1",) and made.uncited == ()


def test_claims_without_a_citation_are_listed_and_only_those() -> None:
    text = """# A heading of five whole words

2026-11-30 · offline · session 20261130-ab12

Drivers from the U.S. Mint paid it in full.[^1] The toll was 4 marks.[^1] It
was abolished in the spring of 2011. Was it missed by anyone at all?

What was found:

- The bridge is 412 metres long.
- The bridge was built in 1987. [^2]
- No.

> A quotation is no claim of ours.

| a | table of some four words |

桥梁全长四百一十二米,建于一九八七年。[^1]它是北岸最长的一座大桥。

Citations: 2 of 2 quotes stand word for word in their source.

[^1]: "x" — y, obs:3f9c21ab77de@0-1
[^2]: "x" — y, obs:3f9c21ab77de@0-1
"""
    assert uncited_claims(text) == (
        "It was abolished in the spring of 2011.",
        "The bridge is 412 metres long.",
        "它是北岸最长的一座大桥。",
    )


@given(st.text(min_size=1, max_size=80), st.text(max_size=30))
def test_a_footnote_that_we_write_is_read_back(quote: str, title: str) -> None:
    from manusfs.memory.footnotes import footnotes, one_line

    if not one_line(quote):
        return
    line = format_footnote("n", quote, title, "https://example.org/a b?c=<d>", f"obs:{ID}@0-10")
    assert "\n" not in line
    (note,) = footnotes(f"Text.[^n]\n\n{line}\n")
    assert one_line(quote).strip() in note.quotes or len(note.quotes) == 8
    assert note.ref == f"obs:{ID}@0-10" and note.url == "https://example.org/a%20b?c=%3Cd%3E"


def test_a_span_past_the_end_of_the_source_is_not_verified_and_can_be_set_right() -> None:
    quote = "It was abolished on 3 May 2011."
    right = span_of(quote)
    total = len(PAGE.encode())
    for end in (total + 1, 99_999):
        made = check(report(quote, Span(right.start, end)), Stored())
        assert (made.verified, made.citations[0].state) == (0, "elsewhere"), end
        assert "ends past the end of its source" in made.problems[0]
        fixed, count = fix(report(quote, Span(right.start, end)), Stored())
        assert count == 1 and check(fixed, Stored()).ok and f"@{right}" in fixed
    assert check(report(quote, Span(right.start, total)), Stored()).ok


def test_a_mark_without_a_footnote_is_listed_with_the_others() -> None:
    made = check(
        report("It was abolished on 3 May 2011.", span_of("It was abolished on 3 May 2011."), "So.[^1][^9]"), Stored()
    )
    assert [(citation.label, citation.state) for citation in made.all] == [("1", "exact"), ("9", "undefined")]
    assert made.total == len(made.all) == 2 and not made.ok
    assert [one["state"] for one in made.to_json()["citations"]] == ["exact", "undefined"]
    assert {citation.state for citation in made.all} <= STATES.keys()


def test_what_found_no_support_is_no_claim_without_a_citation() -> None:
    text = (
        "# R\n\n## No support found\n\n* Who is the head roaster? — read in 3 sources; no passage holds: roaster.\n\n"
        "### More\n\nNothing was said about the roof either.\n\n## Short answer\n\nThe dam is forty metres high.\n"
    )
    assert uncited_claims(text) == ("The dam is forty metres high.",)


@pytest.mark.parametrize(
    "marks", ["「{}」", "『{}』", "“{}”", "»{}«", "«{}»", "‹{}›", "„{}“", "'{}'", "‘{}’", "`{}`", "＂{}＂"]
)
def test_a_quote_stands_between_marks_of_any_language(marks: str) -> None:
    quote = "桥梁于1987年建成,全长412米。"
    footnote = f"[^1]: {marks.format(quote)} — 桥，obs:{ID}@{span_of(quote)}"
    assert state_of(f"桥梁很长也很老了。[^1]\n\n{footnote}\n") == "exact"


@pytest.mark.parametrize("before", ["", "\ufeff", "- ", "> ", "   "])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_footnotes_are_found_as_others_write_them(before: str, end: str) -> None:
    """Reports by any model: a mark of byte order, Windows line ends, footnotes as list items or quoted."""
    quote = "It was abolished on 3 May 2011."
    note = format_footnote("A", quote, "The bridge", URL, f"obs:{ID}@{span_of(quote)}")
    made = check(end.join([before + note, "", "The toll was abolished in 2011.[^a]", ""]), Stored())
    assert [c.state for c in made.citations] == ["exact"] and (made.undefined, made.uncited) == ((), ())


def test_marks_in_code_and_comments_and_underlined_headings_are_no_claims() -> None:
    text = "A heading of four words\n====\n\nUse `[^2]` or `` [^3] `` for it.[^1]\n\n<!-- a remark of its own [^9] -->"
    quote = "It was abolished on 3 May 2011."
    made = check(f"{text}\n\n{format_footnote(1, quote, 'B', URL, f'obs:{ID}@{span_of(quote)}')}\n", Stored())
    assert (made.undefined, made.uncited, made.ok) == ((), (), True)


def test_words_left_out_of_a_quote_are_told() -> None:
    made = check(report("The toll is 4 marks … the clerk wrote.", Span(0, len(PAGE.encode()))), Stored())
    assert made.citations[0].state == "normalised" and "left out" in made.problems[0]
