"""Makes what a workspace uses of the world outside, out of its settings; imported only when that is needed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from manusfs.fetch import FetchOptions
from manusfs.records import Extracted
from manusfs.store.index_file import on_network
from manusfs.workspace.settings import Settings

if TYPE_CHECKING:
    from manusfs.fetch import Fetcher, PageCache
    from manusfs.memory.intake import Extractor
    from manusfs.workspace.folder import Folder

__all__ = ["cached", "extractor", "fetcher"]

_CACHE = ".manusfs/cache"


def fetcher(settings: Settings, folder: Folder) -> Fetcher:
    """Return what reaches the network, with the workspace's own cache."""
    from manusfs.fetch import Fetcher

    options = FetchOptions(
        user_agent=settings.user_agent,
        robots=settings.robots,
        allow_hosts=settings.allow_hosts,
        host_delay_s=settings.host_delay_s,
        timeout_s=settings.fetch_timeout_s,
        retries=settings.fetch_retries,
        max_wire_bytes=settings.max_wire_bytes,
        max_body_bytes=settings.max_body_bytes,
        cache_fresh_s=settings.cache_fresh_s,
    )
    return Fetcher(options, _cache(settings, folder))


def cached(settings: Settings, folder: Folder, sha256: str) -> bytes | None:
    """Return the body of that sha256 from the disk cache, None when it is not there."""
    return _cache(settings, folder).by_sha256(sha256) if folder.root.is_dir(_CACHE) else None


def _cache(settings: Settings, folder: Folder) -> PageCache:
    from manusfs.fetch import PageCache

    place = Path(folder.path) / _CACHE
    return PageCache(place, settings.cache_bytes, wal=not on_network(place / "cache.db"))


def extractor(settings: Settings) -> Extractor:
    """Return what makes text of bytes, in a child process with the settings' limits."""
    return _Limited(settings)


class _Limited:
    """The extractor under the settings' limits."""

    def __init__(self, settings: Settings) -> None:
        from manusfs import extract

        self._limits = extract.Limits(seconds=settings.extract_seconds, memory_mb=settings.extract_memory_mb)
        self._extractor = extract.Extractor()

    def extract(self, raw: bytes, *, media_type: str, charset: str, name: str, source_url: str) -> Extracted:
        """Return the text of `raw`."""
        return self._extractor.extract(
            raw, media_type=media_type, charset=charset, name=name, source_url=source_url, limits=self._limits
        )

    def close(self) -> None:
        """End the child processes."""
        self._extractor.close()
