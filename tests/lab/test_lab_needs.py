"""What a reply takes word for word from what was seen before."""

from __future__ import annotations

from lab_runs import FACT, page, recording

from manusfs.lab import needs_of


def test_a_quote_of_six_words_names_the_observation_and_the_place() -> None:
    run = recording([page(0), page(1, fact=FACT), page(2)], {3: f"Look: {FACT}."})
    needs = needs_of(run)
    assert [len(found) for found in needs] == [0, 0, 0, 1]
    (need,) = needs[3]
    assert (need.observation, need.age) == (1, 1)
    assert run.steps[1].results[0].text[need.start : need.end] == FACT


def test_five_words_are_no_quote_and_what_the_user_said_first_is_none() -> None:
    five = " ".join(FACT.split()[:5])
    assert not any(needs_of(recording([page(0, fact=FACT)], {1: five})))
    assert not any(needs_of(recording(["Fetch all the pages and report."], {1: "Fetch all the pages and report."})))


def test_identifiers_numbers_and_urls_count_in_tool_inputs_too() -> None:
    seen = "see https://example.org/a?b=1 and load_config at 48210"
    run = recording([seen, page(1)], args={1: '{"u": "https://example.org/a?b=1", "n": 48210, "f": "load_config"}'})
    assert len(needs_of(run)[1]) == 3


def test_a_word_of_a_megabyte_is_read_in_one_step_a_character() -> None:
    """A body of base64 or one endless line must not stop a replay."""
    assert not any(needs_of(recording(["x" * 1_000_000], {1: "y" * 1_000_000})))


def test_the_sentence_of_a_need_is_the_whole_one_and_no_other() -> None:
    run = recording([page(0, fact=FACT)], {1: f"Before it. As seen in the record: {FACT}, they say! After it."})
    (need,) = needs_of(run)[1]
    assert need.sentence == f"As seen in the record: {FACT}, they say!"
