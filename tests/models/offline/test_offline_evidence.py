"""What the offline model prefers, says of dates and differences, and how sure it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manusfs.models.offline.answer import answer
from manusfs.models.offline.certainty import share, sure
from manusfs.models.offline.differences import differing
from manusfs.models.offline.evidence import Evidence, Support
from manusfs.models.offline.keys import joined, keys_in
from manusfs.models.offline.passages import passages
from manusfs.models.offline.phrases import dated, how_sure, plain, row
from manusfs.models.offline.questions import split_task
from manusfs.models.offline.seen import Seen, Source, Text
from manusfs.models.offline.words import close_term, content_words, terms

TALK = """## Session 3, 1:56 pm on 8 May, 2023

Ann: Hey! How have you been? Anything new?

Ben: I went to a pottery class yesterday and made a blue bowl. It took two hours.

Ann: Nice. What kind of music do you like best?

Ben: Mostly old jazz records, and a little soul.

Ann: I prefer classical music.
"""


def seen_of(*texts: str, start: int = 0) -> Seen:
    """Return what is seen of texts that were read, the first as source 1, the second as source 2."""
    seen = Seen()
    for number, text in enumerate(texts, 1):
        ref = f"obs:{number:012x}"
        size = start + len(text.encode("utf-8"))
        seen.sources[ref] = Source(ref, "file", "", f"Text {number}", ("text",), size)
        seen.texts.append(Text(ref, start, text))
    return seen


def support(question: str, *texts: str) -> Support:
    (asked,) = split_task(question)
    return Evidence(seen_of(*texts)).support(asked)


def first(question: str, *texts: str) -> str:
    return support(question, *texts).quotes[0].sentence.text


def test_a_turn_is_quoted_whole_with_its_speaker() -> None:
    assert first("What did Ben make at the pottery class?", TALK).startswith("Ben: I went to a pottery class yesterday")


def test_a_reply_answers_the_question_that_stands_before_it() -> None:
    assert first("What music does Ben like?", TALK) == "Ben: Mostly old jazz records, and a little soul."


def test_a_relative_date_is_told_with_what_it_counts_from_and_never_rewritten() -> None:
    found = support("When did Ben go to the pottery class?", TALK)
    assert "yesterday" in found.quotes[0].sentence.text
    assert dated(found.quotes[0], "when") == "“yesterday” counts from: Session 3, 1:56 pm on 8 May, 2023"
    bare = support("When did Ben go to the pottery class?", TALK.partition("\n\n")[2])
    assert dated(bare.quotes[0], "when") == "“yesterday”: the source does not say here from which day"


def test_a_heading_that_was_looked_up_stands_above_what_was_read_below_it() -> None:
    body = TALK.partition("\n\n")[2]
    seen = seen_of(body, start=400)
    seen.outlines["obs:000000000001"] = [(0, "Session 2, 1 May, 2023"), (380, "Session 3, 8 May, 2023")]
    (asked,) = split_task("When did Ben go to the pottery class?")
    assert Evidence(seen).support(asked).quotes[0].sentence.heading == "Session 3, 8 May, 2023"


def test_sources_that_differ_are_told_and_none_is_chosen() -> None:
    texts = ("The Aldon bridge has 12 lanes in all.", "The Aldon bridge has 14 lanes today.")
    found = support("How many lanes has the Aldon bridge?", *texts)
    assert [value for value, _ in differing(found.question, found.quotes)] == ["12 lanes", "14 lanes"]
    text = answer(seen_of(*texts), [found])
    assert "The sources differ: “12 lanes” [^1]; “14 lanes” [^2]" in text


@pytest.mark.parametrize(
    "texts",
    [
        ("The Aldon bridge has 12 lanes.", "The Aldon bridge has 12 lanes, all of them wide."),
        ("The Aldon bridge has 12 lanes.", "The Aldon bridge is 412 metres long and old."),
        ("The Aldon bridge has 12 lanes. The Aldon bridge had 10 lanes before.",),
    ],
)
def test_what_does_not_contradict_is_no_difference(texts: tuple[str, ...]) -> None:
    found = support("How many lanes has the Aldon bridge?", *texts)
    assert not differing(found.question, found.quotes)


def test_a_misspelt_word_is_taken_for_its_neighbour_and_that_is_said() -> None:
    found = support("Who designed the suspnsion bridge?", "The suspension bridge was designed by Ilse Varga in 1990.")
    assert found.meant == (("suspnsion", "suspension"),)
    assert "“suspnsion” was taken for “suspension”" in how_sure(found) and found.level != "none"
    assert close_term("bridge", ["badge", "bride"]) == "bride" and close_term("abc", ["abd"]) == ""


def test_spellings_of_two_countries_are_one() -> None:
    for one, other in (
        ("favourite colours", "favorite colors"),
        ("organisation", "organization"),
        ("theatre", "theater"),
    ):
        assert terms(one) == terms(other)
    assert terms("sour hours") == ["sour", "hour"] and terms("four") == ["4"]


def test_the_month_of_may_is_no_stop_word() -> None:
    assert "may" in content_words("What happened on 21 May, 2023?")
    assert "may" not in content_words("What may happen next?")


def test_a_sentence_about_another_name_comes_after_one_about_the_name() -> None:
    text = (
        "The school of Brandt was founded by Martino.\n\nMozilla came into being in 1998, founded by Netscape people.\n"
    )
    assert "1998" in first("When was Mozilla founded?", text)


def test_entries_of_a_menu_are_no_answer() -> None:
    menu = "How to build a terrarium\n\nHow to build a pond\n\nHow to build a terrarium with plants\n\nAll guides\n"
    text = f"{menu}\nPlace a layer of gravel into the terrarium first, then build it up with soil.\n"
    assert first("How do I build a terrarium?", text).startswith("Place a layer of gravel")


def test_a_row_is_quoted_with_the_names_of_its_columns() -> None:
    table = "| year | cars a day |\n|------|------------|\n| 2009 | 9,000 |\n| 2010 | 11,200 |\n"
    found = support("How many cars a day were there in 2010?", table)
    assert row(found.quotes[0]) == "“year: 2010 · cars a day: 11,200”"
    assert "| 2010 | 11,200 |" in answer(seen_of(table), [found])


def test_markup_is_not_shown_but_stays_in_the_footnote() -> None:
    assert (
        plain("**Mozilla** is a [free](/wiki/Free_(x))<sup>[[1]]</sup> _thing_ of a_b")
        == "Mozilla is a free thing of a_b"
    )
    text = answer(
        seen_of("The [toll](https://x.example/t) of the **bridge** was removed in May."),
        [
            support(
                "When was the toll of the bridge removed?",
                "The [toll](https://x.example/t) of the **bridge** was removed in May.",
            )
        ],
    )
    assert "“The toll of the bridge was removed in May.”" in text and '"The [toll](https://x.example/t) of' in text


def test_a_whole_word_of_chinese_that_is_missing_leaves_no_support() -> None:
    found = support("谁设计了埃菲尔铁塔？", "全新工具可以设计传单。\n\n法国设计师在发布会上介绍了火炬。\n")
    assert found.level == "none" and "埃菲尔铁塔" in found.missing


def test_how_sure_it_is_says_why() -> None:
    found = support("When did the Aldon bridge open?", "The Aldon bridge opened on 4 May 1998.")
    assert how_sure(found) == (
        "Well supported: the words of the question stand together; the best quote has a date; one passage stands out; "
        "one source"
    )
    unsure = support("When did the Aldon bridge open to lorries?", "The Aldon bridge opened on 4 May 1998.")
    assert unsure.level == "low" and "no source holds “lorries”" in how_sure(unsure)


def test_many_passages_that_fit_alike_make_no_answer_sure() -> None:
    """Issue 6, how sure it is and why: on dialogues the lead of the first quote told most of whether it was right."""
    alone = support("What did Ben paint last?", "Ben: I painted a red barn last week.\n\nAnn: I like tea.\n")
    things = ("a wide blue barn by the sea", "old men at cards", "my new tall house", "two swans", "the church of Rye")
    many = support("What did Ben paint last?", "".join(f"Ben: I painted {thing} last.\n\n" for thing in things))
    assert share(alone) > share(many)
    assert "nearly as well" in how_sure(many) and "stands out" in how_sure(alone)


def test_what_another_says_than_the_one_who_is_asked_about_is_less_sure() -> None:
    tea = "Ann: The tea is cold.\n\n" * 4
    talk = f"Ann: I bought a silver necklace in Rome.\n\n{tea}Ben: Good morning to you.\n"
    own, other = (support(f"Where did {name} buy the silver necklace?", talk) for name in ("Ann", "Ben"))
    assert share(own) > share(other) and other.quotes[0].another and sure(other) != "well"
    assert "whom the question does not name" in how_sure(other)


def test_without_the_kind_that_is_asked_for_or_against_another_source_nothing_is_well_supported() -> None:
    dateless = support("When did the Aldon toll bridge open to carts?", "The Aldon toll bridge did open to carts.")
    assert sure(dateless) != "well"
    differ = support(
        "In which year did the Aldon toll bridge open to carts?",
        "The Aldon toll bridge opened to carts in 1987.",
        "The Aldon toll bridge opened to carts in 1989.",
    )
    assert sure(differ) == "part" and "the sources differ" in how_sure(differ)


def test_keys_in_the_best_quotes_lead_on_and_their_records_count() -> None:
    pets = "### pet-0412 (owner: pers-0099)\nname: Rex\nspecies: Dog\n"
    found = support("In which city does the owner of Rex live?", pets)
    assert keys_in(found) == ("pet-0412", "pers-0099")
    homes = "### addr-0007 (owner: pers-0099)\ncity: Smithburgh\n\n### addr-0008 (owner: pers-0100)\ncity: Otherburgh\n"
    quotes = joined(found, Evidence(seen_of(pets, homes)), ("pers-0099",)).quotes
    texts = [quote.sentence.text for quote in quotes]
    assert any("Smithburgh" in text for text in texts) and not any("Otherburgh" in text for text in texts)


def test_a_report_makes_no_claim_without_a_citation() -> None:
    """What it says of itself is no claim; all else is quoted."""
    from manusfs.memory.footnotes import uncited_claims

    asked = support("When did Ben go to the pottery class?", TALK)
    nothing = support("Who gilded the Eiffel tower?", TALK)
    assert uncited_claims(answer(seen_of(TALK), [asked, nothing])) == ()


LINES = st.lists(
    st.sampled_from(
        ["# H", "One. Two!", "It is. Über é。他说:是。", "| a | b |", "|---|---|", "x,y,z", "- item", "", "A: b?"]
    ),
    max_size=14,
).map("\n".join)


@given(LINES, st.integers(0, 60), st.integers(1, 80), st.integers(0, 40))
def test_every_quote_stands_at_its_bytes_however_it_was_read(text: str, start: int, size: int, lap: int) -> None:
    """A quote that does not verify is never made: pieces of a text that overlap, touch or cut a sentence."""
    data = text.encode("utf-8")
    seen = Seen()
    for low in (start, max(0, start + size - lap)):
        piece = data[low : low + size].decode("utf-8", "ignore")
        at = data.find(piece.encode("utf-8"), low) if piece else -1
        if at >= 0:
            seen.texts.append(Text("obs:000000000001", at, piece))
    for passage in passages(seen):
        for sentence in (passage.quote, passage.core):
            assert data[sentence.start : sentence.end].decode("utf-8") == sentence.text
        assert passage.quote.start <= passage.core.start and passage.core.end <= passage.quote.end
