"""The configured web search as the tools use it: hits as a readable list, and behind it the answer as it came."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from manusfs.records import Fetched, Source
from manusfs.workspace.settings import Settings

if TYPE_CHECKING:
    from manusfs.fetch.providers import Provider, SearchAnswer

__all__ = ["WebSearch", "web_search"]

_NONE = ("", "none")


class WebSearch:
    """Asks one provider."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    def __call__(self, query: str, count: int) -> Fetched:
        """Return at most `count` hits for `query`, on their way to become an observation."""
        return _fetched(self._provider.search(query, count), count)

    def close(self) -> None:
        """Close the provider's connections."""
        self._provider.close()


def web_search(settings: Settings, keys: Mapping[str, str]) -> WebSearch | None:
    """Return the web search that `settings` ask for, None when no provider is configured.

    Raises:
        ConfigError: the provider lacks its key or address.
        MissingExtra: it needs a package that is not installed.
    """
    if settings.search_provider in _NONE:
        return None
    from manusfs.fetch import FetchOptions
    from manusfs.fetch.providers import ProviderOptions, load

    name = settings.search_provider
    options = ProviderOptions(
        key=keys.get(name, ""),
        base_url=settings.searxng_url if name == "searxng" else "",
        keyless=settings.tavily_keyless,
        own_network=settings.ddgs_own_network,
        fetch=FetchOptions(user_agent=settings.user_agent, retries=settings.fetch_retries),
    )
    return WebSearch(load(name, options))


def _fetched(answer: SearchAnswer, count: int) -> Fetched:
    lines = [f"# Web search: {' '.join(answer.query.split())}", ""]
    lines += [f"{len(answer.hits)} hit{'' if len(answer.hits) == 1 else 's'} from {answer.provider}.", ""]
    for number, hit in enumerate(answer.hits, 1):
        lines += [f"{number}. {hit.title}", f"   {hit.url}", f"   {hit.snippet}", ""]
    listing = "\n".join(lines)
    raw = answer.raw.decode("utf-8", "replace")
    # Nothing that came is lost, and the stub shows exactly the list.
    text = f"{listing}\n## The provider's answer as it came\n\n```json\n{raw}\n```\n"
    source = Source.call("web_search", {"count": count, "provider": answer.provider, "query": answer.query})
    return Fetched(source, text.encode("utf-8"), "text/markdown", "utf-8", "search.md", limit=len(listing))
