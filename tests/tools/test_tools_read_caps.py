"""What one read may show: characters, bytes, lines and tokens, each a cap of its own, none of which loses a byte."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tools.test_tools_suite import AsItIs, Env, keep, text

from manusfs.memory import Doors, Workspace
from manusfs.records.tokens import estimate
from manusfs.workspace.settings import Settings

ROWS = "".join(f"{n}\n" for n in range(9_000))


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Any]:
    """Return a function that opens a workspace with settings."""
    opened: list[Workspace] = []

    def made(**settings: Any) -> Env:
        doors = Doors(extractor=AsItIs(), network=False)
        opened.append(Workspace.create(tmp_path / str(len(opened)), Settings(**settings), doors=doors))
        return Env(opened[-1])

    yield made
    for workspace in opened:
        workspace.close()


def attributes(shown: str) -> dict[str, str]:
    """Return the attributes of a read."""
    return dict(re.findall(r'(\w+)="([^"]*)"', shown.split(">", 1)[0]))


def body(shown: str) -> str:
    """Return the text of a read."""
    return shown.split(">\n", 1)[1].removesuffix("\n</read>").split("\n…[OMITTED")[0]


def test_two_thousand_lines_are_the_most_whatever_was_asked(make: Any) -> None:
    """OC-1, CC-13: 2,000 lines or 50 KB, whichever comes first, with the place to go on."""
    env = make()
    ref = keep(env, ROWS.encode())
    shown = text(env, "read", ref=ref)
    assert attributes(shown)["lines"] == "1-2000" and body(shown).endswith("\n1999\n")
    assert attributes(text(env, "read", ref=ref, lines="100-8000"))["lines"] == "100-2099"
    assert attributes(text(env, "read", ref=ref, limit=15_000))["lines"] == "1-2000"


@pytest.mark.parametrize(
    ("setting", "value"),
    [("read_lines", 40), ("read_bytes", 700), ("read_chars", 800), ("read_tokens", 600), ("read_share", 0.002)],
)
def test_each_cap_is_a_setting_and_the_pieces_join_to_the_whole(make: Any, setting: str, value: float) -> None:
    """CC-11, OC-1, OC-3: caught whichever unit is exceeded first; also inside lines without an end, and in Chinese."""
    env = make(**{setting: value})
    whole = ROWS[:4_000] + "末" * 900 + "word " * 500
    ref = keep(env, whole.encode())
    pieces, offset = [], "0"
    while offset:
        shown = text(env, "read", ref=ref, offset=int(offset))
        piece = body(shown)
        if setting == "read_lines":
            assert piece.count("\n") <= value
        if setting == "read_bytes":
            assert len(piece.encode()) <= value
        if setting == "read_tokens":
            assert estimate(shown) <= value or len(piece) <= 500
        pieces.append(piece)
        offset = attributes(shown)["next"]
    assert "".join(pieces) == whole and len(pieces) > 4


def test_the_size_is_told_before_anything_is_read(make: Any) -> None:
    """CC-10, CC-14, MECHANISMS 2.17: stub and description tell size and caps up front."""
    from manusfs.memory import stubs
    from manusfs.tools import ToolBox

    env = make()
    ref = keep(env, ROWS.encode())
    meta = env.workspace.observations.meta(ref.removeprefix("obs:"))
    _, stub = stubs.born(meta, lambda span: ROWS.encode()[span.start : span.end])
    assert f'bytes="{len(ROWS)}"' in stub and re.search(r'tokens="\d{4,}"', stub)
    (described,) = [tool["description"] for tool in ToolBox(["read"]).blocks]
    assert "16,000 characters or 2,000 lines" in described
