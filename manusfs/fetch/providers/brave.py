"""Brave Search, with a key."""

from __future__ import annotations

from manusfs.errors import ConfigError
from manusfs.fetch.providers.asking import Line
from manusfs.fetch.providers.base import ProviderOptions, SearchAnswer, checked_query, failed, hits_of, parsed

__all__ = ["Brave"]

_ADDRESS = "https://api.search.brave.com"
_FIELDS = {"url": "url", "title": "title", "snippet": "description"}
_MOST_HITS = 20


class Brave:
    """Searches with Brave's index.

    Raises:
        ConfigError: no key.
    """

    name = "brave"

    def __init__(self, options: ProviderOptions) -> None:
        if not options.key:
            raise ConfigError("brave needs a key", hint="set BRAVE_API_KEY, or use another provider")
        self._key = options.key
        self._line = Line(self.name, options.base_url or _ADDRESS, options)

    def search(self, query: str, count: int = 10) -> SearchAnswer:
        """Return what Brave found, at most 20 hits; see `Provider`."""
        query = checked_query(self.name, query, 400)
        raw = self._line.ask(
            "/res/v1/web/search",
            params={"q": query, "count": str(min(max(count, 1), _MOST_HITS))},
            headers={"X-Subscription-Token": self._key},
            hints={422: "check its key (BRAVE_API_KEY) and the query: it does not take one of them"},
        )
        data = parsed(self.name, raw)
        web = data.get("web")
        if web is None and data.get("type") == "search":
            return SearchAnswer(self.name, query, (), raw)
        if not isinstance(web, dict):
            raise failed(self.name, "the answer has no web results", "try again, or use another provider")
        return SearchAnswer(self.name, query, hits_of(self.name, web.get("results"), _FIELDS, count), raw)

    def close(self) -> None:
        """Close the connections."""
        self._line.close()
