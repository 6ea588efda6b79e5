"""The optional package `ddgs`, which asks several public search engines through a client of its own."""

from __future__ import annotations

from typing import Any

from ddgs import DDGS
from ddgs.exceptions import DDGSException

from manusfs.errors import ConfigError
from manusfs.fetch.providers.base import ProviderOptions, SearchAnswer, checked_query, failed, hits_of
from manusfs.records import canonical

__all__ = ["Ddgs"]

_FIELDS = {"url": "href", "title": "title", "snippet": "body"}


class Ddgs:
    """Searches with `ddgs`. Its requests do not pass our guarded network: it is off unless the user says otherwise."""

    name = "ddgs"

    def __init__(self, options: ProviderOptions) -> None:
        """Take `options`.

        Raises:
            ConfigError: it may not use its own network client.
        """
        if not options.own_network:
            raise ConfigError(
                "the web search ddgs dials with a client of its own, which our guard on addresses does not see and "
                "which may use a proxy of the environment",
                hint="use searxng, brave or tavily, or set `ddgs_own_network = true` in your own configuration",
            )
        self._timeout_s = max(1, int(min(options.fetch.timeout_s, 20)))

    def search(self, query: str, count: int = 10) -> SearchAnswer:
        """Return what the engines found; see `Provider`."""
        query = checked_query(self.name, query, 500)
        try:
            results: list[dict[str, Any]] = list(DDGS(timeout=self._timeout_s).text(query, max_results=max(count, 1)))
        except (DDGSException, OSError, ValueError) as error:
            # It says "no results" also when every engine turned it away, so nothing found can't be told apart.
            raise failed(
                self.name,
                f"{type(error).__name__}: {str(error)[:200]}",
                "wait a while (engines block programs that ask often), ask with other words, or use another provider",
                transient=True,
            ) from error
        hits = hits_of(self.name, results, _FIELDS, count)
        return SearchAnswer(self.name, query, hits, canonical(results).encode())

    def close(self) -> None:
        """Nothing is kept open."""
