"""The offline model's parts: questions, sentences with their bytes, evidence, and links."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from manusfs.models.offline.evidence import Evidence
from manusfs.models.offline.links import best_links
from manusfs.models.offline.questions import split_task
from manusfs.models.offline.seen import Seen, Source, Text
from manusfs.models.offline.sentences import sentences
from manusfs.models.offline.words import content_words, terms

PAGE = """# The bridge

The Aldon Bridge was designed by Ilse Varga (see e.g. Mr. Holm's book). It cost 12.4 million crowns and opened on
4 May 1998.

| year | cars a day |
|------|------------|
| 2010 | 11,200 |

The toll was removed in 2011 because the loan had been paid. Subscribe to our newsletter.
"""


def _seen(text: str, ref: str = "obs:3f9c21ab77de", title: str = "Aldon Bridge") -> Seen:
    seen = Seen()
    seen.sources[ref] = Source(ref, "web", "https://example.org/bridge", title, ("text",), len(text.encode("utf-8")))
    seen.texts.append(Text(ref, 0, text))
    return seen


def test_a_task_is_split_into_what_it_asks() -> None:
    found = split_task("When did the bridge open and who designed it? How many cars cross it each day?")
    assert [question.wants for question in found] == ["when", "who", "number"]
    assert "bridge" in found[1].query  # "it" is what the first question is about


def test_a_task_in_chinese_is_split_and_its_words_are_found() -> None:
    found = split_task("电站的总装机容量是多少？水轮机是谁设计的？")
    assert [question.wants for question in found] == ["number", "who"]
    assert "装机" in terms("总装机容量")


def test_a_task_without_a_question_is_one_question() -> None:
    assert len(split_task("Summarise the history of the bridge")) == 1


def test_a_decimal_point_and_an_abbreviation_end_no_sentence() -> None:
    texts = [sentence.text for sentence in sentences(PAGE)]
    assert "The Aldon Bridge was designed by Ilse Varga (see e.g. Mr. Holm's book)." in texts
    assert "It cost 12.4 million crowns and opened on\n4 May 1998." in texts
    assert "| 2010 | 11,200 |" in texts


@given(st.text(max_size=400))
def test_every_sentence_stands_at_its_bytes(text: str) -> None:
    text = text.encode("utf-8", "replace").decode("utf-8")
    data = text.encode("utf-8")
    for sentence in sentences(text):
        assert data[sentence.start : sentence.end].decode("utf-8") == sentence.text


def test_a_sentence_with_a_date_answers_when() -> None:
    (question,) = split_task("When did the Aldon Bridge open?")
    support = Evidence(_seen(PAGE)).support(question)
    assert "4 May 1998" in support.quotes[0].sentence.text
    assert support.level in ("medium", "high")


def test_a_question_that_the_source_does_not_answer_finds_no_support() -> None:
    (question,) = split_task("What did the fishing fleet say about visas?")
    support = Evidence(_seen(PAGE)).support(question)
    assert support.level == "none"
    assert support.missing


def test_the_same_request_gives_the_same_quotes() -> None:
    (question,) = split_task("Why was the toll removed?")
    first, second = (Evidence(_seen(PAGE)).support(question) for _ in range(2))
    assert first == second
    assert "loan had been paid" in first.quotes[0].sentence.text


def test_links_that_share_words_with_the_question_come_first() -> None:
    seen = _seen(
        "[Log in](https://example.org/login) [Traffic figures](https://example.org/traffic) [Zoo](https://zoo.example/x)"
    )
    seen.fetched = {"https://example.org/bridge"}
    weak = split_task("How much traffic does the bridge carry?")
    assert best_links(seen, weak, 1) == ["https://example.org/traffic"]


def test_question_words_carry_no_meaning() -> None:
    assert content_words("What is the toll of the bridge?") == ["toll", "bridge"]


def test_a_bare_question_word_stays_with_what_it_follows() -> None:
    (question,) = split_task("Who opposed the station and why?")
    assert question.text == "Who opposed the station and why?"


def test_a_link_without_a_word_of_the_question_is_followed_only_when_none_has_one() -> None:
    seen = _seen("[Our goats](https://example.org/goats) [Our ducks](https://example.org/ducks)")
    assert len(best_links(seen, split_task("How much traffic does the bridge carry?"), 3)) == 1


def test_delimited_lines_are_rows_that_know_their_columns() -> None:
    table = "origin,altitude_m,price\nHuila,1800,7.85\nSidamo,2000,8.10\nCerrado,1100,5.20\n"
    rows = list(sentences(table))
    assert rows[1].text == "Huila,1800,7.85" and "price" in rows[1].columns
    (question,) = split_task("What is the price of Huila beans?")
    assert "7.85" in Evidence(_seen(table, title="beans.csv")).support(question).quotes[0].sentence.text


def test_a_number_where_one_is_asked_for_makes_up_for_another_word() -> None:
    text = "The station delivers 21.4 gigawatt hours, enough for about 5,200 homes.\n\nThe goats are fed at noon.\n"
    (question,) = split_task("How many homes does the station supply?")
    assert Evidence(_seen(text, title="Station")).support(question).level != "none"


def test_words_that_stand_in_what_was_read_are_not_called_missing() -> None:
    (question,) = split_task("What did the bridge say about visas?")
    assert Evidence(_seen(PAGE)).support(question).missing == ("visas",)
