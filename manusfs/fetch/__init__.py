"""The network: the only room that dials, and the only one that knows httpx, diskcache and protego.

The names are imported when they are first used, because the libraries behind them are heavy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from manusfs.fetch.options import FetchOptions

if TYPE_CHECKING:
    from manusfs.fetch.address import Allowed, is_public
    from manusfs.fetch.cache import CachedPage, PageCache
    from manusfs.fetch.client import Fetcher

__all__ = ["Allowed", "CachedPage", "FetchOptions", "Fetcher", "PageCache", "is_public"]

_HOMES = {
    "Allowed": "manusfs.fetch.address",
    "CachedPage": "manusfs.fetch.cache",
    "Fetcher": "manusfs.fetch.client",
    "PageCache": "manusfs.fetch.cache",
    "is_public": "manusfs.fetch.address",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'manusfs.fetch' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
