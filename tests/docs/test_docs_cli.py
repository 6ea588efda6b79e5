"""docs/cli.md: each command as it is, with an example and exit codes, and the promised shapes of JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from docs import cli_page
from manusfs import errors
from manusfs.agent.result import EXIT_CODES, NO_SUPPORT
from manusfs.cli.main import COMMANDS, _cli

PAGE = cli_page.PAGE.read_text("utf-8")


def test_every_command_stands_on_the_page_as_it_is() -> None:
    """When this fails on purpose: `python tests/docs/cli_page.py` writes the sections anew."""
    assert cli_page.filled(PAGE) == PAGE


@pytest.mark.parametrize(("name", "command"), list(cli_page.commands()), ids=[name for name, _ in cli_page.commands()])
def test_each_has_a_line_an_example_and_its_exit_codes(name: str, command: object) -> None:
    section = PAGE.partition(f"### {name}\n")[2].partition("\n### ")[0]
    assert f"manusfs {name}" in section.partition("```sh")[2].replace("manusfs -w downloaded-research", "manusfs")
    assert re.search(r"^Exit codes: \S", section, re.MULTILINE)
    assert name.split()[0] in COMMANDS


def test_the_table_of_exit_codes_has_all_that_there_are() -> None:
    known = {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)}
    raised = {value.exit_code for value in vars(errors).values() if hasattr(value, "exit_code")}
    assert known == {0, NO_SUPPORT} | raised | set(EXIT_CODES.values())


def test_the_json_has_the_members_that_the_page_promises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MANUSFS_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("The bridge opened in May 1987 and was closed in 2004.\n" * 3, "utf-8")
    assert _objects("init", ".")
    (added,) = _objects("add", "a.txt")
    _promised("add", added)
    _promised("ls", *_objects("ls"))
    _promised("read", *_objects("read", added["ref"]))
    _promised("search", *_objects("search", "bridge"))
    result = _objects("run", "When did the bridge open?", "--source", "a.txt", "--model", "offline")[-1]
    _promised("run", result)
    _promised("verify", *_objects("verify"))
    _promised("cite", _objects("cite", result["report"])[0])
    assert {"model", "messages"} <= _objects("context")[0].keys()


def _objects(*arguments: str) -> list[dict[str, object]]:
    done = CliRunner().invoke(_cli, [*arguments, "--json"])
    assert done.exit_code == 0, (arguments, done.output, done.exception)
    return [json.loads(line) for line in done.stdout.splitlines()]


def _promised(command: str, *objects: dict[str, object]) -> None:
    (row,) = re.findall(rf"^\| `{command}`[^|]*\| (.*) \|$", PAGE, re.MULTILINE)
    plain = re.sub(r"\([^)]*\)", "", row).replace("as `add`, and", "")
    plain = plain.partition("is the result:")[2] or plain.partition(";")[0]
    names = set(re.findall(r"`(\w+)`", plain.rpartition(": ")[2]))
    assert names and objects
    for value in objects:
        assert names <= value.keys(), names - value.keys()
