"""Every page of docs/: what it names (tests, files, links, commands) exists, and no promise stands without its test."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from manusfs.cli.main import COMMANDS

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").glob("*.md"))


@cache
def _tests(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_test_that_a_page_names_is_there(page: Path) -> None:
    for path, name in re.findall(r"`(tests/[\w/.]+)::(\w+)`", page.read_text("utf-8")):
        assert name in _tests(path), f"{path}::{name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    heads = {_anchor(head) for head in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith("#"):
            assert target[1:] in heads, target
        elif "://" not in target:
            assert (page.parent / target.partition("#")[0]).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_source_file_that_a_page_names_is_there(page: Path) -> None:
    rooms = "|".join(path.name for path in (ROOT / "manusfs").iterdir() if path.is_dir())
    for place in re.findall(rf"`((?:{rooms})/[\w/]*(?:\.py)?)`", page.read_text("utf-8")):
        assert (ROOT / "manusfs" / place).exists() or (ROOT / place).exists(), place


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_that_a_page_names_is_there(page: Path) -> None:
    for word in re.findall(r"`manusfs (?:-w \S+ )?([a-z]+)", page.read_text("utf-8")):
        assert word in COMMANDS, word


@pytest.mark.parametrize(
    ("name", "heading"), [("security.md", "## What is promised"), ("reliability.md", "# Reliability")]
)
def test_no_promise_stands_without_its_test(name: str, heading: str) -> None:
    """I9."""
    section = (ROOT / "docs" / name).read_text("utf-8").partition(heading)[2].partition("\n## What is not")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ") and "---" not in line][1:]
    promises = [row for row in rows if not row.startswith("| what |")]
    assert len(promises) > 9
    for row in promises:
        assert re.search(r"`tests/[\w/.]+::test_\w+`", row), row


def test_each_invariant_has_its_promise() -> None:
    text = (ROOT / "docs" / "reliability.md").read_text("utf-8")
    assert re.findall(r"^\| (I\d) ", text, re.MULTILINE) == [f"I{number}" for number in range(1, 10)]


def _anchor(head: str) -> str:
    return re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-")
