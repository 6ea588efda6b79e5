"""How a number of things is said."""

from __future__ import annotations

import pytest

from manusfs.records import counted


@pytest.mark.parametrize(
    ("number", "nouns", "said"),
    [
        (0, ("ref",), "0 refs"),
        (1, ("ref",), "1 ref"),
        (2_000, ("ref",), "2,000 refs"),
        (1, ("reply", "replies"), "1 reply"),
        (2, ("reply", "replies"), "2 replies"),
    ],
)
def test_one_is_told_in_the_singular_and_all_else_in_the_plural(number: int, nouns: tuple[str, ...], said: str) -> None:
    assert counted(number, *nouns) == said
