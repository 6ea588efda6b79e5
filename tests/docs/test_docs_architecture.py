"""docs/architecture.md: the floors are those that are held, every room is told, what is to come is not there yet."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
ROOMS = {path.name for path in (ROOT / "manusfs").iterdir() if (path / "__init__.py").exists()}


def test_the_floors_are_those_that_are_held() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    held = [[name.strip().removeprefix("manusfs.") for name in layer.split("|")] for layer in layers]
    drawn = PAGE.partition("```\n")[2].partition("\n```")[0].splitlines()
    assert [[name.strip() for name in re.split(r"\s{2,}", line)[0].split("|")] for line in drawn] == held


def test_every_room_is_told() -> None:
    told = {word for head in re.findall(r"^### (.*)$", PAGE, re.MULTILINE) for word in re.findall(r"\w+", head)}
    assert told >= ROOMS


def test_what_is_to_come_is_not_there_yet() -> None:
    """A room that is built moves from the last table to its own section."""
    seams = PAGE.partition("## Seams")[2]
    for room in re.findall(r"a room `(\w+)`", seams):
        assert room not in ROOMS


def test_the_groups_of_entry_points_are_those_of_the_registries() -> None:
    source = "\n".join(path.read_text("utf-8") for path in (ROOT / "manusfs").rglob("*.py"))
    kinds = set(re.findall(r'Registry\(\s*"(\w+)"', source))
    assert set(re.findall(r"`manusfs\.(\w+)`", PAGE.rpartition("entry points")[2])) == kinds
