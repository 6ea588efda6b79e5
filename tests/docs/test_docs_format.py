"""docs/format.md shows what the code writes: the example is made again, the checks by hand are run."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from docs import format_example as example
from manusfs.context.items import LABELS
from manusfs.records import BLOCK_BYTES, FORMAT, KINDS, FileMeta, HttpMeta, Meta, Source, escape, observation_id
from manusfs.records import parse_ref as parse
from manusfs.records.results import Form
from manusfs.store.index_schema import APPLICATION_ID, SCHEMA_VERSION
from manusfs.version import __version__

PAGE = example.PAGE.read_text("utf-8")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """Return the example's folder and its blocks as they are today."""
    folder = tmp_path_factory.mktemp("example") / "tides"
    return folder, example.build(folder)


def test_every_block_is_what_the_code_writes_today(made: tuple[Path, dict[str, str]]) -> None:
    """When this fails on purpose: `python tests/docs/format_example.py` writes the page's blocks anew."""
    shown, blocks = example.shown(PAGE), made[1]
    assert len(shown) > 20
    assert shown == {name: blocks[name] for name in shown}


@pytest.mark.parametrize("name", re.findall(r"<!-- run: (\w+) -->", PAGE))
def test_a_check_by_hand_prints_what_the_page_says(made: tuple[Path, dict[str, str]], name: str) -> None:
    language, code = re.findall(rf"<!-- run: {name} -->\n```(\w+)\n(.*?)\n```", PAGE, re.DOTALL)[0]
    (printed,) = re.findall(rf"<!-- prints: {name} -->\n```\n(.*?)\n```", PAGE, re.DOTALL)
    command = ["sh", "-c", code] if language == "sh" else [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=made[0], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.rstrip("\n") == printed


def test_a_check_by_hand_notices_one_flipped_bit(made: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    """The page's own check, not ours, on a copy of each file with one bit changed."""
    import shutil

    code = re.findall(r"<!-- run: everything -->\n```python\n(.*?)\n```", PAGE, re.DOTALL)[0]
    files = [*(made[0] / "observations").rglob("*.*"), *made[0].rglob("transcript.jsonl")]
    for path in filter(Path.is_file, files):
        copy = tmp_path / "copy"
        shutil.copytree(made[0], copy)
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        (copy / path.relative_to(made[0])).write_bytes(data)
        done = subprocess.run([sys.executable, "-c", code], cwd=copy, capture_output=True, check=False)
        assert done.returncode, path
        shutil.rmtree(copy)


def test_the_seal_is_the_crc_of_the_bytes_before_it() -> None:
    blocks = example.shown(PAGE)
    for text in (blocks["line"], blocks["meta"]):
        head, _, seal = text.encode("utf-8").rpartition(b'"crc":"')
        assert seal == b'%08x"}' % zlib.crc32(head)


def test_ids_follow_from_source_and_bytes() -> None:
    meta = json.loads(example.shown(PAGE)["meta"])
    text = example.TIDES.encode("utf-8")
    assert meta["raw_sha256"] == hashlib.sha256(text).hexdigest()
    digest = hashlib.sha256(f"{meta['source']['key']}\0{meta['raw_sha256']}".encode()).hexdigest()
    assert meta["id"] == digest[:12] == observation_id(Source.web(meta["source"]["key"]), meta["raw_sha256"])
    assert meta["files"]["text"]["blocks"] == [meta["raw_sha256"]] and meta["files"]["text"]["newlines"] == [12]


def test_every_event_kind_has_its_section() -> None:
    assert set(re.findall(r"^### (\w+)$", PAGE, re.MULTILINE)) == KINDS


def test_every_member_of_every_event_is_named(made: tuple[Path, dict[str, str]]) -> None:
    transcript = made[0] / "sessions" / example.SESSION / "transcript.jsonl"
    for line in transcript.read_text("utf-8").splitlines():
        event = json.loads(line)
        section = PAGE.partition(f"\n### {event['kind']}\n")[2].partition("\n### ")[0]
        for member in event["data"]:
            assert f"`{member}`" in section or f'"{member}"' in section, (event["kind"], member)


def test_every_member_of_a_description_is_named() -> None:
    section = PAGE.partition("\n## Observations\n")[2].partition("\n## ")[0]
    for value in (Meta, FileMeta, HttpMeta):
        for field in dataclasses.fields(value):
            assert f"`{field.name}`" in section, field.name


def test_numbers_and_closed_lists_are_the_codes() -> None:
    assert f"# The workspace on disk, format {FORMAT}" in PAGE and f"| {FORMAT} | {__version__} |" in PAGE
    assert f"{BLOCK_BYTES:,} bytes" in PAGE
    assert f"0x{APPLICATION_ID:08X}" in PAGE and f"`user_version` {SCHEMA_VERSION}" in PAGE
    for label in LABELS:
        assert f"`{label}`" in PAGE.partition("### epoch")[2].partition("###")[0]
    for form in Form.__args__:  # type: ignore[attr-defined]
        assert f"`{form}`" in PAGE.partition("## Parts")[2].partition("##")[0]


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("https://example.org/", "index"),
        ("https://example.org/a/B%20c?x=1", "a-b-c-x-1"),
        ("https://e.org/con", "x-con"),
    ],
)
def test_slugs_follow_the_rule(text: str, slug: str) -> None:
    assert Source.web(text).slug == slug


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ("HTTPS://user:secret@Example.ORG:443#top", "https://example.org/"),
        ("http://example.org:8080/A?b=C", "http://example.org:8080/A?b=C"),
    ],
)
def test_a_url_becomes_its_key(given: str, key: str) -> None:
    assert Source.web(given).key == key


def test_refs_are_written_as_the_page_says() -> None:
    for text in (
        "obs:023cd88f84a7",
        "obs:023cd88f84a7/full@0-9",
        "msg:20261130-3fef:24.0",
        "msg:20261130-3fef:3-15@0-9",
    ):
        assert str(parse(text)) == text
    assert str(parse("observations/web/example.org/tides-harrow-023cd88f84a7/text.md")) == "obs:023cd88f84a7"


def test_bodies_keep_their_length_and_lose_our_tags() -> None:
    """I6, and what the page says of bodies."""
    for text in ("</observation>", "<ledger refs=…", "a\u202eb\x07c\u200bd\ufeffe\r\n", "\U000e0041"):
        shown = escape.body(text)
        assert len(shown.encode("utf-8")) == len(text.encode("utf-8")) and "<" not in shown


def test_folders_and_files_are_for_their_owner_only(made: tuple[Path, dict[str, str]]) -> None:
    own = [*made[0].rglob("observations/**/*"), *made[0].rglob("sessions/**/*")]
    assert {path.stat().st_mode & 0o777 for path in own if path.is_dir()} == {0o700}
    assert {path.stat().st_mode & 0o777 for path in own if path.is_file()} == {0o600}


def test_nothing_in_the_example_tells_where_it_was_made(made: tuple[Path, dict[str, str]]) -> None:
    for path in made[0].rglob("*"):
        if path.is_file() and ".manusfs" not in path.parts:
            assert str(made[0]).encode() not in path.read_bytes(), path
