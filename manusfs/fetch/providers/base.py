"""What a search provider is, what it returns, and how one is told apart that failed from one that found nothing."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from manusfs.errors import ManusfsError, Unavailable, UsageError
from manusfs.fetch.options import FetchOptions

__all__ = ["Provider", "ProviderOptions", "SearchAnswer", "SearchHit", "checked_query", "failed", "hits_of", "parsed"]

_MARKUP = re.compile(r"</?(?:strong|b|em|i|mark|span|p|br)\b[^<>]{0,200}>", re.IGNORECASE)
_TITLE_MOST = 300
_SNIPPET_MOST = 1_500


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One page that a provider names. All three are text from outside, one line each."""

    title: str
    url: str
    snippet: str


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """What a provider found; `hits` is empty only if it answered properly and had none."""

    provider: str
    query: str
    hits: tuple[SearchHit, ...]
    raw: bytes
    """The provider's answer as it came, JSON: the bytes of the observation."""
    media_type: str = "application/json"


@dataclass(frozen=True, slots=True)
class ProviderOptions:
    """What a provider may be told. Keys come from the caller; nothing here reads the environment."""

    key: str = field(default="", repr=False)
    """The key of the provider's account."""
    base_url: str = ""
    """Where the provider is; empty: its own address. A host given here is allowed for this provider, public or not."""
    keyless: bool = False
    """Tavily only: search without a key."""
    own_network: bool = False
    """ddgs only: let it dial by itself, past our guard on addresses."""
    fetch: FetchOptions = field(default_factory=FetchOptions)
    """Limits, retries and User-Agent."""


class Provider(Protocol):
    """Searches the web."""

    name: str

    def search(self, query: str, count: int = 10) -> SearchAnswer:
        """Return at most `count` hits for `query`.

        Raises:
            UsageError: the query is empty, or longer than the provider takes.
            Unavailable: the search failed; the message names the provider, the hint the way out.
        """
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


def checked_query(name: str, query: str, most: int) -> str:
    """Return `query` on one line; one that is empty or longer than `most` characters is a UsageError."""
    line = " ".join(query.split())
    if not line:
        raise UsageError("a web search needs words to look for", hint="give a query")
    if len(line) > most:
        raise UsageError(
            f"{name} takes queries of at most {most} characters, not {len(line)}", hint="ask with fewer words"
        )
    return line


def failed(name: str, what: str, hint: str, *, transient: bool = False) -> Unavailable:
    """Return the error that says that the search by provider `name` failed, and what to do."""
    error = Unavailable(f"web search by {name} failed: {what}", hint=hint)
    error.transient = transient
    return error


def parsed(name: str, raw: bytes) -> dict[str, Any]:
    """Return the JSON object in `raw`; anything else is a failed search."""
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        raise failed(name, "the answer is no JSON object", f"check the address of {name}, or use another provider")
    return data


def hits_of(name: str, results: object, fields: Mapping[str, str], count: int) -> tuple[SearchHit, ...]:
    """Return the first `count` usable hits of the list `results`; `fields` maps "url", "title", "snippet" to its keys.

    A list in which nothing is usable, or what is no list, is a failed search.
    """
    if not isinstance(results, list):
        raise failed(name, "the answer has no list of results", "try again, or use another provider")
    hits: dict[str, SearchHit] = {}
    for result in results:
        hit = _hit(result, fields)
        if hit is not None:
            hits.setdefault(hit.url, hit)
    if results and not hits:
        raise failed(name, "none of the results has a usable address", "try again, or use another provider")
    return tuple(hits.values())[: max(count, 1)]


def _hit(result: object, fields: Mapping[str, str]) -> SearchHit | None:
    from manusfs.fetch.urls import checked  # it needs httpx, which reading this file alone must not load

    if not isinstance(result, dict):
        return None
    url = result.get(fields["url"])
    try:
        if not isinstance(url, str) or len(url) > 4_000:
            return None
        checked(url)
    except ManusfsError:
        return None
    title = _line([result.get(fields["title"])], _TITLE_MOST)
    snippet = _line([result.get(fields["snippet"]), *_more(result)], _SNIPPET_MOST)
    return SearchHit(title or url, url.strip(), snippet)


def _more(result: dict[str, Any]) -> list[object]:
    extra = result.get("extra_snippets")
    return extra if isinstance(extra, list) else []


def _line(texts: Iterable[object], most: int) -> str:
    joined = " … ".join(text for text in texts if isinstance(text, str) and text)
    plain = html.unescape(_MARKUP.sub("", joined[: 4 * most]))
    line = " ".join("".join(char if char.isprintable() else " " for char in plain).split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
