"""The offline token estimate: stable, additive enough, fast, never zero for something."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from manusfs.records import tokens

PROSE = "The committee's report, printed in 1987, covers 41 sites; none of them was visited twice. "


def test_nothing_costs_nothing_and_something_costs_something() -> None:
    assert tokens.estimate("") == 0
    assert tokens.estimate("a") >= 1
    assert tokens.estimate("\n") >= 1


def test_scripts_and_kinds_cost_what_the_measurement_says() -> None:
    assert 2.5 < len(PROSE * 50) / tokens.estimate(PROSE * 50) < 4.5
    assert 0.7 < len("研究报告的结论" * 50) / tokens.estimate("研究报告的结论" * 50) < 1.0
    assert len("9b1e6f02" * 100) / tokens.estimate("9b1e6f02" * 100) < 2.5


@given(st.text(alphabet=st.characters(codec=None), max_size=300))
def test_any_text_has_an_estimate_that_is_the_same_each_time(text: str) -> None:
    assert tokens.estimate(text) == tokens.estimate(text) >= (1 if text else 0)


def test_a_sampled_text_costs_about_as_many_tokens_as_its_pieces() -> None:
    text = "".join(f"{PROSE}{n} 漢字\n" for n in range(2_000))
    pieces = sum(tokens.estimate(text[at : at + 30_000]) for at in range(0, len(text), 30_000))
    assert abs(tokens.estimate(text) - pieces) < 0.05 * pieces


def test_the_estimate_is_faster_than_reading_it_would_be() -> None:
    text = PROSE * 300
    spent = []
    for _ in range(5):
        start = time.process_time()
        tokens.estimate(text)
        spent.append(time.process_time() - start)
    baseline = []
    for _ in range(5):
        start = time.process_time()
        sum(1 for character in text if character.isalpha())
        baseline.append(time.process_time() - start)
    assert min(spent) < 3 * min(baseline)
