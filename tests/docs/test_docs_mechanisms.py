"""docs/mechanisms.md: every mechanism has a row, and what a row claims is shown by a test that names it."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "mechanisms.md").read_text("utf-8")
COUNTS = {"MA-": 12, "CC-": 31, "GC-": 12, "OC-": 30, "GN-": 4, "2.": 18}
ROWS = [
    tuple(cell.strip() for cell in line.strip("|").split("|"))
    for line in PAGE.splitlines()
    if re.match(r"\| (?:[A-Z]{2}-|2\.)\d+ \|", line)
]
_ID = re.compile(r"([A-Z]{2}-)(\d+)(?: to (?:[A-Z]{2}-)?(\d+))?")
_SECTION = re.compile(r"(?:section|MECHANISMS) 2\.(\d+)", re.IGNORECASE)


def named(text: str) -> set[str]:
    """Return the mechanisms that a docstring names; "MA-3 to MA-6" names four."""
    found = {f"2.{number}" for number in _SECTION.findall(text)}
    for prefix, first, last in _ID.findall(text):
        found |= {f"{prefix}{number}" for number in range(int(first), int(last or first) + 1)}
    return found


@cache
def docstrings(path: str) -> tuple[str, dict[str, str]]:
    """Return the docstring of a test file and of each test in it."""
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    tests = {
        node.name: ast.get_docstring(node) or ""
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }
    return ast.get_docstring(tree) or "", tests


def test_every_mechanism_has_one_row() -> None:
    wanted = [f"{prefix}{number}" for prefix, most in COUNTS.items() for number in range(1, most + 1)]
    assert [row[0] for row in ROWS] == wanted


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_a_row_claims_what_a_test_shows(row: tuple[str, ...]) -> None:
    id, state, how, where, shown = row
    assert state in ("done", "partly", "not yet", "motive") and how
    if state == "not yet":
        assert not shown and re.search(r"\bcomes?\b", how, re.IGNORECASE)
        return
    assert state == "motive" or (shown and where)
    for place in re.findall(r"`([a-z_]+/[\w/.]*)`", where):
        assert (ROOT / "manusfs" / place).exists(), place
    for path, name in re.findall(r"`(tests/[\w/.]+)::(\w+)`", shown):
        module, tests = docstrings(path)
        assert name in tests, f"{path} has no {name}"
        assert id in named(tests[name]) | named(module), f"{path}::{name} does not name {id}"


def test_ranges_in_docstrings_are_understood() -> None:
    assert named("MA-3 to MA-6, CC-17; section 2.11") == {"MA-3", "MA-4", "MA-5", "MA-6", "CC-17", "2.11"}
