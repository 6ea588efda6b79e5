"""The tables of docs/settings.md, made from the settings' own source; as a program it writes them into that file."""

from __future__ import annotations

import ast
import inspect
import itertools
import re
import textwrap
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from manusfs.workspace.settings import OWNER_ONLY, Settings

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"
MARK = re.compile(r"(<!-- settings: (\d+) -->\n)(.*?)(\n\n|\Z)", re.DOTALL)


def meanings() -> list[list[tuple[str, str]]]:
    """Return name and meaning of each setting, in the groups in which the source has them."""
    source = textwrap.dedent(inspect.getsource(Settings))
    lines = source.splitlines()
    (body,) = (node.body for node in ast.parse(source).body if isinstance(node, ast.ClassDef))
    groups: list[list[tuple[str, str]]] = []
    for field, meaning in itertools.pairwise(body):
        if not isinstance(field, ast.AnnAssign) or not isinstance(field.target, ast.Name):
            continue
        if not (isinstance(meaning, ast.Expr) and isinstance(meaning.value, ast.Constant)):
            raise AssertionError(f"{field.target.id} has no meaning under it")
        if not groups or not lines[field.lineno - 2].strip():
            groups.append([])
        groups[-1].append((field.target.id, " ".join(str(meaning.value.value).split())))
    return groups


def tables() -> list[str]:
    """Return one Markdown table a group."""
    defaults = {field.name: field.default for field in fields(Settings)}
    return ["\n".join(_table(group, defaults)) for group in meanings()]


def _table(group: list[tuple[str, str]], defaults: dict[str, Any]) -> Iterator[str]:
    yield "| setting | default | meaning | environment | owner only |"
    yield "|---|---|---|---|---|"
    for name, meaning in group:
        owner = "yes" if name in OWNER_ONLY else ""
        yield f"| `{name}` | `{_toml(defaults[name])}` | {meaning} | `MANUSFS_{name.upper()}` | {owner} |"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def filled(page: str) -> str:
    """Return the page with its tables as they are now."""
    made = tables()
    return MARK.sub(lambda match: match[1] + made[int(match[2]) - 1] + match[4], page)


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text("utf-8")), "utf-8")
