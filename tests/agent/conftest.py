"""Lets go of every workspace that a test of the agent opened."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from agent_stage import OPEN


@pytest.fixture(autouse=True)
def _closed_workspaces() -> Iterator[None]:
    yield
    while OPEN:
        OPEN.pop().close()
