"""Web search over plain HTTP: one small interface, one file a provider, imported when it is wanted."""

from __future__ import annotations

from manusfs.errors import UsageError
from manusfs.fetch.providers.base import Provider, ProviderOptions, SearchAnswer, SearchHit
from manusfs.registry import Entry, Registry

__all__ = ["NAMES", "Provider", "ProviderOptions", "SearchAnswer", "SearchHit", "is_known", "load"]

_REGISTRY = Registry(
    "search_providers",
    (
        Entry("searxng", "manusfs.fetch.providers.searxng:SearXNG"),
        Entry("brave", "manusfs.fetch.providers.brave:Brave"),
        Entry("tavily", "manusfs.fetch.providers.tavily:Tavily"),
        Entry("ddgs", "manusfs.fetch.providers.ddgs:Ddgs", extra="ddgs"),
    ),
)

NAMES = _REGISTRY.names()
"""The providers that ship with the package."""


def is_known(name: str) -> bool:
    """Return True if there is a provider called `name`."""
    return _REGISTRY.knows(name)


def load(name: str, options: ProviderOptions) -> Provider:
    """Return the provider `name`, ready to search.

    Raises:
        ConfigError: what it needs (a key, a base URL) is not in `options`.
        MissingExtra: its optional package is not installed.
        UsageError: there is no such provider.
    """
    made: Provider = _REGISTRY.load(name)(options)
    if not callable(getattr(made, "search", None)):
        raise UsageError(f"search provider {name!r} has no `search`", hint=f"known: {', '.join(NAMES)}")
    return made
