"""Kinds of questions that real reports answered badly: each was met by reading a report as its user would (issue 6)."""

from __future__ import annotations

import pytest

from manusfs.models.offline.answer import answer
from manusfs.models.offline.differences import differing
from manusfs.models.offline.evidence import Evidence, Support
from manusfs.models.offline.questions import split_task
from manusfs.models.offline.seen import Seen, Source, Text
from manusfs.models.offline.words import content_words, terms

BRIDGE = """# Aldon Bridge

The Aldon Bridge is a suspension bridge over the river Wend. Its main span is 412 metres long.

| Year | Cars a day | Toll |
|---|---|---|
| 2005 | 9,900 | 4 marks |
| 2010 | 11,200 | 5 marks |

The toll was abolished in 2011 because the loan had been paid back. Lorries still pay.

The bridge is closed in these cases:

- wind above 28 metres a second
- ice on the cables
- the yearly marathon

The older Kell Bridge was built in 1735. The Kell Bridge is 96 metres long.
"""


def seen_of(*texts: str) -> Seen:
    seen = Seen()
    for number, text in enumerate(texts, 1):
        ref = f"obs:{number:012x}"
        seen.sources[ref] = Source(ref, "file", "", f"Text {number}", ("text",), len(text.encode()))
        seen.texts.append(Text(ref, 0, text))
    return seen


def support(question: str, *texts: str) -> Support:
    (asked,) = split_task(question)
    return Evidence(seen_of(*(texts or (BRIDGE,)))).support(asked)


def test_a_list_is_quoted_with_what_leads_in_to_it() -> None:
    quote = support("In which cases is the bridge closed?").quotes[0].sentence.text
    assert quote.startswith("The bridge is closed") and quote.endswith("the yearly marathon")


def test_what_was_in_one_year_is_not_told_of_another() -> None:
    assert support("What was the toll in 2010?").quotes[0].sentence.text.startswith("| 2010 |")


def test_each_of_two_things_that_are_compared_is_told_of() -> None:
    found = support("Which bridge is longer, the Aldon Bridge or the Kell Bridge?")
    assert found.question.sides == (("aldon",), ("kell",)) and "long" in found.question.terms
    assert found.quotes[1].sentence.text == "The Kell Bridge is 96 metres long."
    told = answer(seen_of(BRIDGE), [found]).partition("## Evidence")[0]
    assert "Aldon Bridge is" in told and "96 metres" in told


def test_a_place_may_be_over_a_river() -> None:
    assert support("Where is the Aldon Bridge?").quotes[0].fits


def test_the_number_of_what_is_counted_comes_before_other_numbers() -> None:
    text = "In 2003 the companies of the radio industry met 7 times.\n\nFive companies control the radio industry.\n"
    assert support("How many companies control the radio industry?", text).quotes[0].core.text.startswith("Five")


def test_a_sentence_that_says_what_a_thing_is_comes_before_one_that_names_it() -> None:
    text = "His work helped to launch the free culture movement.\n\nFree culture is a culture that leaves much open.\n"
    assert support("What is free culture?", text).quotes[0].core.text.startswith("Free culture is")


@pytest.mark.parametrize(
    ("one", "other", "shown"),
    [
        ("opened on 4 May 1998.", "opened on 11 June 1997.", ["4 May 1998", "11 June 1997"]),
        ("opened on 4 May 1998.", "opened on 9 May 1998.", ["4 May 1998", "9 May 1998"]),
        ("opened in 1998.", "opened in 1997.", ["1998", "1997"]),
    ],
)
def test_dates_that_contradict_are_told_whole_though_the_sentences_are_alike(
    one: str, other: str, shown: list[str]
) -> None:
    """Sentences that differ in a number alone were taken for the same and one of them left out."""
    found = support("When was the Aldon Bridge opened?", f"The Aldon Bridge was {one}", f"The Aldon Bridge was {other}")
    assert [value for value, _ in differing(found.question, found.quotes)] == shown


def test_irregular_forms_and_degrees_are_one_word() -> None:
    assert terms("bought") == terms("buy") and terms("children") == terms("child") and terms("longest") == terms("long")
    assert not support("Who bought the mill?", "Ann buys the mill next to the church.").missing


def test_words_that_are_small_in_another_language_count_in_english() -> None:
    assert content_words("How did the man with the hat die in the war?") == ["man", "hat", "die", "war"]
    assert content_words("Wann war die Brücke fertig?") == ["brücke", "fertig"]
    assert [q.text for q in split_task("Who invented radio and how did he die?")] == [
        "Who invented radio",
        "how did he die?",
    ]


def test_an_answer_need_not_say_what_kind_of_thing_it_is() -> None:
    found = support("In which year was the Kell Bridge built?")
    assert not found.missing and found.quotes[0].core.text.endswith("1735.")


def test_what_came_nearest_is_quoted_where_there_is_no_support() -> None:
    """A bare ref is of no use to a reader."""
    found = support("Who painted the Kell cathedral ceiling green?")
    assert found.level == "none" and found.quotes
    report = answer(seen_of(BRIDGE), [found])
    assert "nearest: “" in report and "[^1]: " in report
