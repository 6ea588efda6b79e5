"""The disk cache: only what it put there comes back, and any fault is a miss. F1, I8, MA-11; case d09."""

from __future__ import annotations

import os
import pickle
import shutil
import sqlite3
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import diskcache
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manusfs.fetch import CachedPage, PageCache
from manusfs.records import HttpMeta, sha256_hex

URL = "https://example.org/page"
FIRED: list[str] = []


def page(raw: bytes = b"<p>honest", checked: float | None = None, max_age_s: float | None = None) -> CachedPage:
    http = HttpMeta(200, URL, etag='"1"', redirects=("https://example.org/",))
    return CachedPage(http, raw, time.time() if checked is None else checked, max_age_s)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the cache goes; not there yet."""
    return tmp_path / ".manusfs" / "cache"


def change(folder: Path, statement: str, *values: object) -> None:
    base = sqlite3.connect(folder / "cache.db")
    base.execute(statement, values)
    base.commit()
    base.close()


@settings(max_examples=25, deadline=None)
@given(raw=st.binary(max_size=100_000))
def test_what_goes_in_comes_out(raw: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Byte for byte, by URL and by sha256, also for another process' eyes."""
    folder = tmp_path_factory.mktemp("cache")
    stored = page(raw + b"\r\n\x00")
    PageCache(folder).put(URL, stored)
    other = PageCache(folder)
    assert other.get(URL) == stored and other.by_sha256(sha256_hex(stored.raw)) == stored.raw
    assert other.get("https://example.org/other") is None and other.by_sha256("0" * 64) is None


def test_the_folder_is_for_its_owner_only(folder: Path) -> None:
    """The design: 0700; and nothing but the database lies in it."""
    PageCache(folder).put(URL, page(b"x" * 200_000))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {file.name for file in folder.iterdir()} <= {"cache.db", "cache.db-wal", "cache.db-shm", "owner"}


class Bomb:
    def __reduce__(self) -> tuple[Any, ...]:
        return FIRED.append, ("ran",)


PLANTED: list[tuple[str, Callable[[Path], tuple[Any, ...]]]] = [
    ("update Cache set mode = 2, value = null, filename = ?", lambda secret: (str(secret),)),
    ("update Cache set mode = 3, value = null, filename = ?", lambda secret: (str(secret),)),
    ("update Cache set mode = 2, value = null, filename = ?", lambda secret: (f"../../{secret.name}",)),
    ("update Cache set mode = 4, value = null, filename = ?", lambda secret: (str(secret),)),
    ("update Cache set mode = 4, value = ?", lambda _: (pickle.dumps(Bomb()),)),
    ("update Cache set raw = 0, key = ? where rowid = 1", lambda _: (pickle.dumps(Bomb()),)),
    ("update Cache set value = ?", lambda _: ("a text",)),
    ("update Cache set value = 7", lambda _: ()),
    ("update Cache set value = ?", lambda _: (b"other bytes",)),
    ("update Cache set mode = 99", lambda _: ()),
    ("insert into Settings values ('get', 'a text')", lambda _: ()),
    ("drop table Settings", lambda _: ()),
]


@pytest.mark.parametrize(("statement", "values"), PLANTED)
def test_a_planted_row_is_a_miss(statement: str, values: Callable[[Path], tuple[Any, ...]], folder: Path) -> None:
    """d09, CVE-2025-69872: no file is read, no pickle runs, no file outside is deleted, and the cache goes on."""
    secret = folder.parent.parent / "secret"
    secret.write_bytes(pickle.dumps(Bomb()))
    original = page()
    PageCache(folder).put(URL, original)
    change(folder, statement, *values(secret))
    cache = PageCache(folder)
    assert cache.get(URL) in (None, original)
    assert cache.by_sha256(sha256_hex(original.raw)) in (None, original.raw)
    cache.put(URL, page(b"new"))
    found = cache.get(URL)
    assert found is not None and found.raw == b"new"
    assert FIRED == [] and secret.exists()


def test_only_its_owner_reads_it_and_on_a_network_file_system_it_has_no_wal(folder: Path) -> None:
    """Promises 5, 12: URLs and bodies may hold secrets; a WAL needs memory that two machines can't share."""
    cache = PageCache(folder)
    cache.put(URL, page())
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    for wal, mode in ((False, "delete"), (True, "wal")):
        again = PageCache(folder, wal=wal)
        again.put(URL, page())
        found = sqlite3.connect(folder / "cache.db")
        assert found.execute("pragma journal_mode").fetchone()[0] == mode
        found.close()


def test_swapped_bodies_are_a_miss(folder: Path) -> None:
    """F1: each body is checked against its name."""
    cache = PageCache(folder)
    cache.put(URL, page(b"one"))
    cache.put(URL + "2", page(b"two"))
    change(folder, "update Cache set value = ? where key like 'body:%'", b"two")
    assert cache.get(URL) is None and cache.by_sha256(sha256_hex(b"one")) is None


def test_a_cache_that_was_made_elsewhere_is_emptied(folder: Path) -> None:
    """I7: pages in a folder from a stranger may be forged; d09's own cache of plain diskcache too."""
    PageCache(folder).put(URL, page(b"forged"))
    copied = folder.parent / "copied"
    shutil.copytree(folder, copied)
    assert PageCache(copied).get(URL) is None
    foreign = folder.parent / "foreign"
    plain = diskcache.Cache(str(foreign))
    plain[f"url:{URL}"] = b"x" * 100_000
    plain.close()
    cache = PageCache(foreign)
    assert cache.get(URL) is None
    cache.put(URL, page())
    assert cache.get(URL) == cache.get(URL) is not None


@pytest.mark.parametrize("damage", ["zeros", "half", "empty", "text"])
def test_a_damaged_database_is_made_anew(damage: str, folder: Path) -> None:
    """I8, F1: dropped without an error."""
    PageCache(folder).put(URL, page())
    file = folder / "cache.db"
    whole = file.read_bytes()
    file.write_bytes(
        {"zeros": bytes(4_096) + whole[4_096:], "half": whole[:5_000], "empty": b"", "text": b"hello"}[damage]
    )
    cache = PageCache(folder)
    assert cache.get(URL) is None
    cache.put(URL, page())
    assert cache.get(URL) is not None


def test_it_may_be_deleted_in_use(folder: Path) -> None:
    """I8: a miss, then it goes on."""
    cache = PageCache(folder)
    for _ in range(3):
        cache.put(URL, page())
        assert cache.get(URL) is not None
        shutil.rmtree(folder)
        assert cache.get(URL) is None
    cache.put(URL, page())
    (folder / "cache.db").unlink()
    assert cache.get(URL) is None
    cache.put(URL, page())
    assert cache.get(URL) is not None


def test_where_it_cannot_be_made_it_is_off(tmp_path: Path) -> None:
    """F1: no cache is no error."""
    (tmp_path / "file").write_text("in the way")
    for place in (tmp_path / "file", tmp_path / "file" / "cache", Path("/proc/none/cache")):
        cache = PageCache(place)
        cache.put(URL, page())
        assert cache.get(URL) is None and cache.by_sha256("0" * 64) is None
        cache.drop(URL)
    assert (tmp_path / "file").read_text() == "in the way"


@pytest.mark.parametrize("kind", ["symlink", "hard link", "folder link", "parent link"])
def test_a_link_in_its_place_is_not_followed(kind: str, folder: Path, tmp_path: Path) -> None:
    """I7: a planted link must not make us write into another database, nor delete it."""
    precious = tmp_path / "precious.db"
    base = sqlite3.connect(precious)
    base.execute("create table Settings (key, value)")
    base.commit()
    base.close()
    before = precious.read_bytes()
    (tmp_path / "elsewhere").mkdir()
    if kind == "parent link":
        folder.parent.symlink_to(tmp_path / "elsewhere")
    elif kind == "folder link":
        folder.parent.mkdir()
        folder.symlink_to(tmp_path / "elsewhere")
    else:
        folder.mkdir(parents=True)
        (os.symlink if kind == "symlink" else os.link)(precious, folder / "cache.db")
    cache = PageCache(folder)
    cache.put(URL, page())
    assert precious.read_bytes() == before
    if kind in ("folder link", "parent link"):
        assert not any((tmp_path / "elsewhere").iterdir()) and cache.get(URL) is None


def test_files_that_are_not_its_own_stay(folder: Path) -> None:
    """A wrong path in a setting must not cost anything."""
    folder.mkdir(parents=True)
    (folder / "thesis.md").write_text("mine")
    cache = PageCache(folder)
    cache.put(URL, page())
    (folder / "cache.db").write_bytes(b"broken")
    assert cache.get(URL) is None and (folder / "thesis.md").read_text() == "mine"


def test_the_size_limit_holds_and_the_least_used_go_first(folder: Path) -> None:
    """MA-11: bounded; what was used lately stays."""
    cache = PageCache(folder, size_limit=2_000_000)
    cache.put("used", page(b"used" * 1_000))
    for number in range(80):
        cache.put(f"{URL}/{number}", page(os.urandom(50_000)))
        assert cache.get("used") is not None
    assert cache.get(f"{URL}/0") is None and cache.get(f"{URL}/79") is not None
    assert (folder / "cache.db").stat().st_size < 3_000_000


def test_a_body_larger_than_a_quarter_is_not_stored(folder: Path) -> None:
    """F1: it would push all others out; and the older page of that URL is not left behind as the newest."""
    cache = PageCache(folder, size_limit=1_000_000)
    cache.put(URL, page(b"old"))
    cache.put(URL, page(bytes(250_001)))
    assert cache.get(URL) is None


def test_freshness_counts_from_the_last_check() -> None:
    """A clock that went back makes a page stale, never fresh for ever."""
    now = time.time()
    assert page(checked=now - 10).is_fresh(3_600) and not page(checked=now - 10).is_fresh(5)
    assert not page(checked=now - 10, max_age_s=5).is_fresh(3_600)
    assert page(checked=now - 10, max_age_s=60).is_fresh(3_600) and not page(checked=now - 10, max_age_s=60).is_fresh(5)
    assert not page(checked=now + 7_200).is_fresh(3_600) and not page(checked=now).is_fresh(0)


def test_threads_share_it(folder: Path) -> None:
    """No lost or mixed pages, and no connection that outlives its thread."""
    cache = PageCache(folder)
    wrong: list[int] = []

    def work(number: int) -> None:
        for turn in range(5):
            raw = f"{number} {turn}".encode() * 500
            cache.put(f"{URL}/{number}", page(raw))
            found = cache.get(f"{URL}/{number}")
            if found is not None and found.raw != raw:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [] and cache.get(f"{URL}/7") is not None
