"""Quotes: white space, quotation marks and dashes are forgiven, nothing else; links open the place (DESIGN 8)."""

from __future__ import annotations

import re
from urllib.parse import unquote

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from manusfs.memory.citations import check, narrowed
from manusfs.memory.footnotes import footnotes, format_footnote, uncited_claims
from manusfs.memory.links import page_link, relinked
from manusfs.memory.quotes import Match, find
from manusfs.memory.reading import Place
from manusfs.records import ObsRef, Ref

MARKS = "\"'“”„«»‘’「」"
DASHES = "-–—‑−"
SPACES = " \n\t\u00a0\u3000"
PARTS = st.sampled_from(["toll", "Bridge", "1987", "4.5", "桥", "梁全长", "Ω", *MARKS, *DASHES, *SPACES])
TEXT = st.lists(PARTS, min_size=1, max_size=30).map("".join).filter(lambda text: bool(text.strip()))


@st.composite
def mangled(draw: st.DrawFn) -> tuple[str, str]:
    """A quote, and the same with other white space, quotation marks and dashes."""
    quote = draw(TEXT).strip()
    parts = re.findall(rf"\s+|[{DASHES}]+|.", quote, re.DOTALL)
    made = ""
    for part in parts:
        if part.isspace():
            made += draw(st.text(st.sampled_from(SPACES), min_size=1, max_size=3))
        elif part in MARKS:
            made += draw(st.sampled_from(MARKS))
        elif part[0] in DASHES:
            made += draw(st.text(st.sampled_from(DASHES), min_size=1, max_size=2))
        else:
            made += part
    return quote, made


@given(mangled(), TEXT, TEXT)
def test_a_quote_mangled_in_white_space_marks_and_dashes_is_found(pair: tuple[str, str], head: str, tail: str) -> None:
    quote, made = pair
    found = find(made, f"{head}|{quote}|{tail}")
    assert found is not None
    assert found.exact == (made in f"{head}|{quote}|{tail}")


@given(TEXT, st.data())
def test_a_quote_with_any_other_change_is_not_found(text: str, data: st.DataObject) -> None:
    """Nothing is repaired in silence: a letter or a digit more, less or other, and the quote stands nowhere."""
    text = text.strip()
    places = [at for at, char in enumerate(text) if char.isalnum()]
    assume(places)
    at = data.draw(st.sampled_from(places))
    kind = data.draw(st.sampled_from(["other", "more", "other case"]))
    changed = {
        "other": text[:at] + "x" + text[at + 1 :],
        "more": text[:at] + "x" + text[at:],
        "other case": text[:at] + text[at].swapcase() + text[at + 1 :],
    }[kind]
    assume(changed != text)
    assert find(changed, text) is None


def test_a_letter_that_is_left_out_is_no_quote() -> None:
    assert find("The bridge is 41 metres", "The bridge is 412 metres") is None
    assert find("a b", "ab") is None and find("ab", "a b") is None


def test_a_line_broken_inside_a_script_without_blanks_is_white_space() -> None:
    """A PDF breaks Chinese lines anywhere; whoever quotes it joins them."""
    found = find("上下文压缩是可逆的。", "我们说:上下文\n压缩是可\n逆的。完")
    assert found is not None and not found.exact
    assert find("上下文压縮", "上下文\n压缩") is None


def test_of_several_places_the_nearest_counts() -> None:
    text = "a toll. " * 10
    assert find("a toll", text, 39) == find("a toll", text, 40)
    found = find("a  toll", text, 41)
    assert found is not None and found.start == 40


PAGE = "# Page\n\nThe first line.\n\n“A toll — of 4 marks”, she wrote in the book.\n"
ID, OTHER = "3f9c21ab77de", "aaaaaaaaaaaa"


class Stored:
    """Two observations with the same text; the second is of a PDF."""

    def data(self, ref: Ref) -> bytes:
        assert isinstance(ref, ObsRef)
        data = PAGE.encode("utf-8") if ref.id == ID else b"Another text altogether."
        return data if ref.span is None else data[ref.span.start : ref.span.end]

    def url(self, id: str) -> str:
        return f"https://example.org/{id}"

    def place(self, ref: ObsRef) -> Place:
        assert ref.span is not None
        line = PAGE.encode()[: ref.span.start].count(b"\n") + 1
        return Place(f"observations/web/example.org/p-{ref.id}/text.md", line, self.url(ref.id), 0)


def report(quote: str, ref: str) -> str:
    return f"A claim of four words.[^1]\n\n{format_footnote(1, quote, 'T', '', ref)}\n"


def test_a_quote_of_another_cited_source_is_told_and_not_moved() -> None:
    text = report("Another text", f"obs:{ID}@0-40") + f'[^2]: "Another" — T, obs:{OTHER}@0-7\n'
    (first, second) = check(text, Stored()).citations
    assert first.state == "absent" and f"it stands in obs:{OTHER}@0-12" in first.message and not first.right_ref
    assert second.state == "exact"


def test_a_footnote_opens_the_text_at_its_line_and_the_page_at_its_words() -> None:
    total = len(PAGE.encode())
    text = report('"A toll - of 4 marks", she wrote', f"obs:{ID}@0-{total}")
    linked = relinked(text, Stored())
    assert (
        f"([text, line 5](../observations/web/example.org/p-{ID}/text.md#L5), [page](https://example.org/{ID}" in linked
    )
    assert relinked(linked, Stored()) == linked
    (before,), (after,) = footnotes(text), footnotes(linked)
    assert (before.quotes, before.ref, before.url) == (after.quotes, after.ref, after.url)
    assert check(linked, Stored()).citations[0].state == "normalised"


def test_a_footnote_that_leads_nowhere_gets_no_link() -> None:
    for text in (report("Never said", f"obs:{ID}@0-20"), report("x", "obs:zz"), report("The", "msg:s:1")):
        assert relinked(text, Stored()) == text


def test_the_span_of_a_models_own_citation_is_narrowed_to_its_words() -> None:
    text = f'So it was.[^7.1]\n\n[^7.1]: "The first line." — T, obs:{ID}@0-60\n[^2]: "first" — T, obs:{ID}@0-60\n'
    made = narrowed(text, Stored(), ["7.1"])
    assert f"obs:{ID}@8-23\n" in made and f"obs:{ID}@0-60\n" in made
    assert all(citation.state == "exact" for citation in check(made, Stored()).citations)


@pytest.mark.parametrize(
    ("quote", "fragment"),
    [
        ("a toll, of 4 - marks & more", "a%20toll%2C%20of%204%20%2D%20marks%20%26%20more"),
        ("桥梁全长412米。", "%E6%A1%A5%E6%A2%81%E5%85%A8%E9%95%BF412%E7%B1%B3%E3%80%82"),
        (
            "one two three four five six seven eight nine ten eleven twelve thirteen",
            "one%20two%20three%20four%20five,nine%20ten%20eleven%20twelve%20thirteen",
        ),
        ("the **bold** [link](https://x.example/a) word", "the%20bold%20link%20word"),
    ],
)
def test_a_text_fragment_names_the_words(quote: str, fragment: str) -> None:
    assert page_link("https://example.org/a", quote) == f"https://example.org/a#:~:text={fragment}"
    assert page_link("https://example.org/a#s", quote) == f"https://example.org/a#s:~:text={fragment}"


def test_a_pdf_opens_at_its_page() -> None:
    assert page_link("https://example.org/a.pdf", "some words", 7) == "https://example.org/a.pdf#page=7"


@given(st.text(max_size=60))
def test_a_link_is_one_word_that_markdown_does_not_end(quote: str) -> None:
    quote = quote.encode("utf-8", "replace").decode("utf-8")
    made = page_link("https://example.org/a(b)", quote)
    assert re.fullmatch(r"[^\s()<>\"]+", made)
    _, _, words = made.partition("#:~:text=")
    assert "-" not in words and words.count(",") <= 1
    assert unquote(words).isprintable() or not quote.isprintable()


def test_what_manusfs_wrote_below_a_report_is_no_claim() -> None:
    text = (
        "It was four metres long.\n\n---\n\nCitations: 0 of 0 quotes stand word for word in their source.\n\n"
        "Claims without a citation: 1\n* “It was four metres long.”\n"
    )
    assert uncited_claims(text) == ("It was four metres long.",)
    assert len(uncited_claims(text + "\nAnd one more claim of ours.\n")) > 1


DRESSED = (
    "The toll was abol-\nished by [the council](https://example.org/c_(x)).[3] Carts go **free** since.\n"
    "| Year | Carts |\n| 1987 | 412 |\nA well-\nknown ﬁne ferry, ８５ metres.\n"
)


@pytest.mark.parametrize(
    "quote",
    [
        "was abolished by the council. Carts go free since",
        "by the council.[^7] Carts",
        "Carts go _free_ since",
        "1987 412",
        "A well-known fine ferry, 85 metres",
    ],
)
def test_markup_and_broken_words_are_no_words(quote: str) -> None:
    """Issue 6: a quote across a line with a hyphen, inside a table row, with footnote markers inside."""
    found = find(quote, DRESSED)
    assert found is not None and (found.exact, found.shortened) == (False, False)


@pytest.mark.parametrize(
    "quote", ["was abolished by the councils", "Carts go free sinc e", "1987 413", "well known", "foo_bar ab ished"]
)
def test_other_words_stay_absent_whatever_their_dress(quote: str) -> None:
    assert find(quote, DRESSED) is None


def test_a_quote_with_an_ellipsis_is_its_pieces_in_order_and_near_together() -> None:
    text = f"The toll was four marks and it was paid by every cart. {'x ' * 500} The bridge is new."
    found = find("The toll was four … by every cart.", text)
    assert found is not None and found.shortened
    assert find("The toll was four [...] by every cart...", text) is not None
    assert find("by every cart … The toll was four", text) is None
    assert find("paid by every cart … The bridge is new", text) is None
    assert find("The … cart", text) is None


def test_long_rows_of_marks_take_no_time() -> None:
    """A pattern whose repeats match the same character runs away: no figure, it just ends."""
    assert find("a b c " * 30 + "z", ("a " + "*" * 200 + "|" * 200 + " b " + "[1]" * 60 + " c ") * 30) is None


def test_a_link_to_a_shortened_quote_names_its_ends() -> None:
    link = page_link("https://example.org/a", "The toll was four … by every cart")
    assert link == "https://example.org/a#:~:text=The%20toll%20was%20four,by%20every%20cart"


def test_a_quote_without_end_is_compared_as_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Promise 11: a page talks a model into quoting itself whole; letter by letter that takes minutes."""
    text = "The river drives the mill of the town. " * 500
    made: list[str] = []
    monkeypatch.setattr("manusfs.memory.quotes._letters", lambda unit: (made.append(unit), unit)[1])
    assert find(text.strip(), text) == Match(0, len(text) - 1, True)
    spaced = find(text.strip().replace(" ", "\n"), text)
    assert spaced is not None and not spaced.exact
    assert find(text.replace("mill", "mil"), text) is None and not made
