"""What the tests of memory/ share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from memory_world import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Give a new workspace."""
    made = World(tmp_path / "w")
    yield made
    made.workspace.close()
