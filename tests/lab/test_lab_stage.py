"""A run in its workspace: what one search with the quoting sentence would have shown."""

from __future__ import annotations

from lab_runs import FACT, page, recording

from manusfs.lab import Recording, staged
from manusfs.workspace.settings import Settings


def found(run: Recording) -> list[tuple[bool, bool]]:
    """Return for each need whether a hit shows it, and whether one is where it first stood."""
    with staged(run, Settings()) as stage:
        return [(need in stage.shown, need in stage.found) for needs in stage.needs for need in needs]


def test_a_quote_is_found_where_it_first_stood() -> None:
    run = recording([page(0, fact=FACT), *(page(n) for n in range(1, 6))], {6: f'They say "{FACT}".'})
    assert found(run) == [(True, True)]


def test_what_stands_in_many_results_is_found_when_any_of_them_shows_it() -> None:
    """The words are what is needed, not the place where they came in first."""
    texts = [f"{page(n, 90)} {FACT} {page(50 + n, 90)}" for n in range(30)]
    ((shown, _),) = found(recording(texts, {30: f"They say {FACT}."}))
    assert shown


def test_a_sentence_is_asked_for_by_its_words_whatever_a_query_makes_of_its_signs() -> None:
    run = recording([page(0, fact=FACT), page(1)], {2: f'- "note": "{FACT}"'})
    assert found(run) == [(True, True)]
