"""Which link to follow next when the offline model is asked to browse."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import unquote, urldefrag, urlsplit

from manusfs.models.offline.questions import Question
from manusfs.models.offline.seen import Seen
from manusfs.models.offline.words import terms

__all__ = ["best_links"]

_LINK = re.compile(r"\[([^\]\n]{0,200})\]\((https?://[^)\s]+)\)")
_NO_PAGE = re.compile(r"\.(?:png|jpe?g|gif|webp|svg|ico|css|js|zip|gz|tar|exe|dmg|mp[34]|webm|woff2?)$", re.IGNORECASE)
_CHORES = re.compile(
    r"\b(?:log ?in|sign ?up|register|cart|share|privacy|terms|cookie|print|donate|subscribe|newsletter|contact)\b",
    re.IGNORECASE,
)


def best_links(seen: Seen, weak: Sequence[Question], most: int, least: float = 0.0) -> list[str]:
    """Return at most `most` URLs that were seen and not fetched, the most promising for the `weak` questions first.

    A link counts by the terms of the questions in its wording and its path; one to a host that was given counts more.
    One that shares no term is followed only when none does, and then alone; with `least`, none that counts less.
    """
    wanted = {term for question in weak for term in (*question.terms, *question.context)}
    tried = {urldefrag(url)[0].rstrip("/") for url in seen.fetched}
    hosts = {urlsplit(url).netloc for url in seen.fetched}
    scores: dict[str, float] = {}
    for text in _texts(seen):
        for wording, url in _LINK.findall(text):
            url = urldefrag(url)[0]
            if url.rstrip("/") in tried or _NO_PAGE.search(urlsplit(url).path) or _CHORES.search(wording):
                continue
            scores[url] = max(scores.get(url, 0.0), _score(wording, url, wanted, hosts))
    ranked = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
    promising = [url for url, score in ranked if score >= max(1.0, least)]
    return promising[:most] or [url for url, _ in ranked[: 0 if least else min(1, most)]]


def _texts(seen: Seen) -> list[str]:
    return [text.text for text in seen.texts] + [text for _, text in seen.matches()]


def _score(wording: str, url: str, wanted: set[str], hosts: set[str]) -> float:
    parts = urlsplit(url)
    own = set(terms(wording))
    path = set(terms(re.sub(r"[/_\-.]+", " ", unquote(parts.path))))
    return (
        2.0 * len(own & wanted) + len(path & wanted) + (0.5 if parts.netloc in hosts else 0.0) + (0.1 if own else 0.0)
    )
