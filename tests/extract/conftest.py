"""One extractor for all tests of the room: its child stays warm."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from manusfs.extract import Extractor


@pytest.fixture(scope="session")
def extractor() -> Iterator[Extractor]:
    """Return an extractor with two children at most."""
    with Extractor() as made:
        yield made


@pytest.fixture(scope="session")
def other_extractor() -> Iterator[Extractor]:
    """Return an extractor with a child of its own."""
    with Extractor(children=1) as made:
        yield made
