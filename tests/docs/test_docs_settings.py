"""docs/settings.md and the template's settings file agree with the settings themselves."""

from __future__ import annotations

import re
import tomllib
from dataclasses import fields
from pathlib import Path

from docs import settings_page
from manusfs.cli.run_cmd import run
from manusfs.workspace.folder import template_dir
from manusfs.workspace.settings import OWNER_ONLY, Settings, load

PAGE = settings_page.PAGE.read_text("utf-8")
NAMES = {field.name for field in fields(Settings)}


def test_every_setting_stands_on_the_page_as_it_is() -> None:
    """When this fails on purpose: `python tests/docs/settings_page.py` writes the tables anew."""
    assert settings_page.filled(PAGE) == PAGE
    assert set(re.findall(r"^\| `(\w+)` \| `", PAGE, re.MULTILINE)) == NAMES


def test_owner_only_settings_are_settings_and_are_marked() -> None:
    """I7: what widens access is told as such."""
    marked = set(re.findall(r"^\| `(\w+)` .*\| yes \|$", PAGE, re.MULTILINE))
    assert marked == OWNER_ONLY and OWNER_ONLY <= NAMES


def test_the_template_names_real_settings_with_their_defaults() -> None:
    text = (template_dir() / "manusfs.toml").read_text("utf-8")
    plain = re.sub(r"^# (\w+ = )", r"\1", text, flags=re.MULTILINE)
    table = tomllib.loads(plain)
    assert load(workspace=table).settings == Settings(model=table["model"])


def test_the_flags_that_the_page_names_are_settings() -> None:
    section = PAGE.partition("## Flags that are settings")[2].partition("\n## ")[0]
    flags = {option: parameter.name for parameter in run.params for option in parameter.opts}
    for flag in re.findall(r"`(--[a-z-]+)`", section):
        assert flags[flag] in NAMES


def test_every_variable_that_is_read_is_named() -> None:
    source = "\n".join(path.read_text("utf-8") for path in (Path(__file__).parents[2] / "manusfs/cli").glob("*.py"))
    for name in re.findall(r'"((?:MANUSFS|ANTHROPIC|BRAVE|TAVILY)_[A-Z_]+)"', source):
        assert f"`{name}`" in PAGE, name
