"""SearXNG, a search engine that people run themselves, at any base URL."""

from __future__ import annotations

from manusfs.errors import ConfigError
from manusfs.fetch.providers.asking import Line
from manusfs.fetch.providers.base import ProviderOptions, SearchAnswer, checked_query, failed, hits_of, parsed

__all__ = ["SearXNG"]

_FIELDS = {"url": "url", "title": "title", "snippet": "content"}
_NO_JSON = (
    "it does not give JSON until its settings.yml says so; add these two lines and restart it:\n"
    "search:\n"
    "  formats: [html, json]"
)


class SearXNG:
    """Searches with a SearXNG server.

    Raises:
        ConfigError: no base URL, or one that is none.
    """

    name = "searxng"

    def __init__(self, options: ProviderOptions) -> None:
        if not options.base_url:
            raise ConfigError(
                "searxng needs the address of a server", hint="set `searxng_url`, or use another provider"
            )
        self._line = Line(self.name, options.base_url.rstrip("/").removesuffix("/search"), options)

    def search(self, query: str, count: int = 10) -> SearchAnswer:
        """Return what the server's engines found; see `Provider`."""
        query = checked_query(self.name, query, 1_000)
        raw = self._line.ask(
            "/search",
            params={"q": query, "format": "json"},
            hints={403: _NO_JSON, 429: "its limiter blocks programs: allow this machine in its limiter.toml, or wait"},
        )
        data = parsed(self.name, raw)
        hits = hits_of(self.name, data.get("results"), _FIELDS, count)
        silent = data.get("unresponsive_engines")
        if not hits and isinstance(silent, list) and silent:
            raise failed(
                self.name,
                f"{len(silent)} of its engines did not answer, and the others had nothing",
                "look at its preferences page, enable other engines, or use another provider",
                transient=True,
            )
        return SearchAnswer(self.name, query, hits, raw)

    def close(self) -> None:
        """Close the connections."""
        self._line.close()
