"""The offline token estimate: stable, additive enough, fast, never zero for something."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manusfs.records import tokens

PROSE = "The committee's report, printed in 1987, covers 41 sites; none of them was visited twice. "


COUNTED = json.loads((Path(__file__).parent / "token_texts.json").read_text("utf-8"))["texts"]
"""Texts of 24 kinds with their tokens as a reconstruction of the models' own tokenizer counts them."""
KINDS = sorted({one["kind"] for one in COUNTED})


def bias(kind: str = "") -> float:
    texts = [one for one in COUNTED if kind in ("", one["kind"])]
    return sum(tokens.estimate(one["text"]) for one in texts) / sum(one["tokens"] for one in texts) - 1


def test_the_total_is_within_five_percent_and_nine_of_ten_texts_within_twenty() -> None:
    """The aim of the estimate: none of these texts was used to fit it."""
    errors = sorted(abs(tokens.estimate(one["text"]) / one["tokens"] - 1) for one in COUNTED)
    assert abs(bias()) < 0.05 and errors[len(errors) * 9 // 10] < 0.20


@pytest.mark.parametrize("kind", KINDS)
def test_no_kind_of_text_is_far_off(kind: str) -> None:
    """Prose, code, JSON, HTML and Chinese within 5 %; any other script or form within 15 %."""
    main = kind in ("prose", "markdown", "code", "json", "html", "chinese")
    assert abs(bias(kind)) < (0.05 if main else 0.15)


def test_nothing_costs_nothing_and_something_costs_something() -> None:
    assert tokens.estimate("") == 0
    assert tokens.estimate("a") >= 1
    assert tokens.estimate("\n") >= 1


@given(st.text(alphabet=st.characters(codec=None), max_size=300))
def test_any_text_has_an_estimate_that_is_the_same_each_time(text: str) -> None:
    assert tokens.estimate(text) == tokens.estimate(text) >= (1 if text else 0)


def test_a_sampled_text_costs_about_as_many_tokens_as_its_pieces() -> None:
    text = "".join(f"{PROSE}{n} 漢字\n" for n in range(2_000))
    pieces = sum(tokens.estimate(text[at : at + 30_000]) for at in range(0, len(text), 30_000))
    assert abs(tokens.estimate(text) - pieces) < 0.05 * pieces


def test_the_estimate_is_no_slower_than_a_few_passes_over_the_text() -> None:
    """Megabytes a second are told by benchmarks/tokens.py; here it is held to what any machine can compare."""
    text = "".join(one["text"] for one in COUNTED if one["kind"] in ("prose", "code", "html", "json"))
    spent, baseline = [], []
    for _ in range(5):
        tokens._known.clear()
        start = time.process_time()
        tokens._weigh(text)
        spent.append(time.process_time() - start)
        start = time.process_time()
        sum(1 for character in text if character.isalpha())
        baseline.append(time.process_time() - start)
    assert min(spent) < 5 * min(baseline)
