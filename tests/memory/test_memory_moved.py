"""The folder is renamed while a process works in it: the index goes along, and the old place stays empty."""

from __future__ import annotations

from pathlib import Path

from memory_world import World

from manusfs.fetch.cache import CachedPage, PageCache
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
