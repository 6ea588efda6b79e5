"""The prompt cache: what is read from it, what is written, and when it has gone."""

from __future__ import annotations

import pytest

from manusfs.lab import Bill, Cache, Prices

SIZES = [100, 30, 40, 50]


def ends(count: int) -> list[int]:
    return [sum(SIZES[: at + 1]) for at in range(count)]


def test_what_was_sent_before_is_read_and_the_rest_is_written() -> None:
    cache = Cache(Prices())
    assert cache.send([1, 2], ends(2), [0, 1]) == Bill(written=130)
    assert cache.send([1, 2, 3], ends(3), [0, 2]) == Bill(read=130, written=40)


def test_another_second_block_leaves_only_the_first_in_the_cache() -> None:
    cache = Cache(Prices())
    cache.send([1, 2, 3], ends(3), [0, 2])
    assert cache.send([1, 8, 9], ends(3), [0, 2]) == Bill(read=100, written=70)


def test_behind_the_last_mark_nothing_is_cached() -> None:
    assert Cache(Prices()).send([1, 2], ends(2), [0]) == Bill(written=100, uncached=30)


@pytest.mark.parametrize(("turn_s", "read"), [(299.0, 130), (301.0, 0)])
def test_a_prefix_lives_five_minutes_after_its_last_use(turn_s: float, read: int) -> None:
    cache = Cache(Prices(turn_s=turn_s))
    for _ in range(3):
        bill = cache.send([1, 2], ends(2), [0, 1])
    assert bill.read == read


def test_the_cost_is_in_units_of_an_uncached_token() -> None:
    assert Bill(100, 100, 100, 10).cost(Prices()) == pytest.approx(10 + 125 + 100 + 50)
