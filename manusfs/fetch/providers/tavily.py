"""Tavily, with a key or, when the user says so, without."""

from __future__ import annotations

import json

from manusfs.errors import ConfigError
from manusfs.fetch.providers.asking import Line
from manusfs.fetch.providers.base import ProviderOptions, SearchAnswer, checked_query, hits_of, parsed

__all__ = ["Tavily"]

_ADDRESS = "https://api.tavily.com"
_FIELDS = {"url": "url", "title": "title", "snippet": "content"}
_MOST_HITS = 20


class Tavily:
    """Searches with Tavily.

    Raises:
        ConfigError: neither a key nor leave to go without one.
    """

    name = "tavily"

    def __init__(self, options: ProviderOptions) -> None:
        if not options.key and not options.keyless:
            raise ConfigError(
                "tavily needs a key, or your leave to search without one",
                hint="set TAVILY_API_KEY, or `tavily_keyless = true` (queries then go to that company unsigned)",
            )
        self._access = (
            {"Authorization": f"Bearer {options.key}"} if options.key else {"X-Tavily-Access-Mode": "keyless"}
        )
        self._line = Line(self.name, options.base_url or _ADDRESS, options)

    def search(self, query: str, count: int = 10) -> SearchAnswer:
        """Return what Tavily found, at most 20 hits; see `Provider`."""
        query = checked_query(self.name, query, 400)
        wanted = {"query": query, "max_results": min(max(count, 1), _MOST_HITS), "search_depth": "basic"}
        raw = self._line.ask(
            "/search",
            headers={"Content-Type": "application/json", **self._access},
            content=json.dumps(wanted).encode(),
        )
        return SearchAnswer(
            self.name, query, hits_of(self.name, parsed(self.name, raw).get("results"), _FIELDS, count), raw
        )

    def close(self) -> None:
        """Close the connections."""
        self._line.close()
