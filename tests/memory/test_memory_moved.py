"""The folder is renamed while a process works in it: the index goes along, and the old place stays empty."""

from __future__ import annotations

import os
import shutil
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from memory_world import World

from manusfs.errors import NotFound
from manusfs.fetch.cache import CachedPage, PageCache
from manusfs.memory import Doors, Workspace
from manusfs.records import HttpMeta


def test_a_folder_that_is_renamed_under_a_run_keeps_its_index(world: World) -> None:
    world.store("https://example.org/a", b"The first bridge is long.")
    index, place = world.workspace.index, world.path
    assert index.latest("https://example.org/a") is not None
    moved = place.rename(place.with_name("renamed"))
    world.store("https://example.org/b", b"The second bridge is longer.")
    assert index.latest("https://example.org/a") is not None and index.latest("https://example.org/b") is not None
    assert [hit.url for hit in world.workspace.search("second")] == ["https://example.org/b"]
    assert index.lasts and (moved / ".manusfs" / "index.db").is_file()
    assert not place.exists()


def test_the_cache_of_a_folder_that_is_gone_is_not_made_anew(tmp_path: Path) -> None:
    cache = PageCache(tmp_path / "workspace" / ".manusfs" / "cache")
    cache.put("https://example.org/", CachedPage(HttpMeta(200, "https://example.org/"), b"a page", 1.0))
    assert cache.get("https://example.org/") is None and not (tmp_path / "workspace").exists()


@pytest.mark.parametrize("form", ["NFC", "NFD", "folded", "upper"])
def test_a_copy_whose_names_were_written_otherwise_resolves_everything(tmp_path: Path, form: str) -> None:
    """Promise 13: composed, decomposed or folded names, another place, read-only, the clock set back: all resolves."""
    change = {"folded": str.casefold, "upper": _upper_notes}.get(form, lambda name: unicodedata.normalize(form, name))
    notes = {
        f"notes/findings/{name}.md": f"Note on {name}.".encode()
        for name in ("caf\u00e9", "\u00c5ngstr\u00f6m", "Plain")
    }
    with Workspace.create(tmp_path / "w") as workspace:
        refs = {
            workspace.add_bytes(f"text {n} on caf\u00e9 ".encode() * 90, f"caf\u00e9 \u00c5 {n}").ref: n
            for n in range(20)
        }
        for path, text in notes.items():
            workspace.folder.root.write_atomic(path, text)
    copy = tmp_path / unicodedata.normalize("NFD", "K\u00f6pie of it")
    _copied(tmp_path / "w", copy, change)
    shutil.rmtree(tmp_path / "w")
    for path in sorted(copy.rglob("*"), reverse=True):
        os.utime(path, (1, 1))
        path.chmod(0o500 if path.is_dir() else 0o400)
    with Workspace.open(copy, doors=Doors(network=False, clock=lambda: "1999-01-01T00:00:00Z")) as workspace:
        assert workspace.verify().ok
        for ref, number in refs.items():
            assert workspace.read(ref).data.startswith(f"text {number} on".encode())
        for path, text in notes.items():
            for asked in (path, unicodedata.normalize("NFD", path)):
                assert workspace.read(asked).data == text
        assert len(workspace.ls()) == 20
    for path in copy.rglob("*"):
        path.chmod(0o700)


def _upper_notes(name: str) -> str:
    return name.upper().replace(".MD", ".md") if name.endswith(".md") and name != "text.md" else name


def _copied(source: Path, target: Path, change: Callable[[str], str]) -> None:
    target.mkdir()
    for child in source.iterdir():
        name = child.name if child.name in ("AGENTS.md", "README.md") else change(child.name)
        if child.is_dir():
            _copied(child, target / name, change)
        else:
            (target / name).write_bytes(child.read_bytes())


def test_names_that_may_mean_two_files_mean_neither(tmp_path: Path) -> None:
    with Workspace.create(tmp_path / "w") as workspace:
        for name in ("Plan.md", "plan.md"):
            (tmp_path / "w/notes" / name).write_text(name)
        assert workspace.read("notes/plan.md").data == b"plan.md"
        with pytest.raises(NotFound):
            workspace.read("notes/PLAN.md")
