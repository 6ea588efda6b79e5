"""Names that the model gives to new files: fit for every system that the folder may be copied to (R44)."""

from __future__ import annotations

import pytest

from manusfs.errors import ToolError
from manusfs.tools.places import portable

GOOD = [
    "notes/a.md",
    "notes/findings/café über 東京.md",
    "notes/con-tact/a.md",
    "notes/v1.2/x - y (2).md",
    "notes/lptx",
]
BAD = [
    "notes/a:b.md", "notes/what?.md", 'notes/"a".md', "notes/a|b", "notes/*", "notes/<x>.md", "notes/con",
    "notes/AUX.md", "notes/nul .txt", "notes/com1/a.md", "notes/LPT\u00b9.md", "notes/a.", "notes/a ", "notes/ a.md",
    "notes/x /a.md",
]  # fmt: skip


@pytest.mark.parametrize("place", GOOD)
def test_names_that_every_system_takes_are_taken(place: str) -> None:
    portable(place)


@pytest.mark.parametrize("place", BAD)
def test_names_that_a_system_refuses_or_alters_are_refused_with_what_to_do(place: str) -> None:
    with pytest.raises(ToolError) as caught:
        portable(place)
    assert caught.value.hint
