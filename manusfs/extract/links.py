"""Where a page leads: the list of links that ends its views."""

from __future__ import annotations

import re

from manusfs.extract.job import plain_view
from manusfs.extract.seen import Link, Place, Seen

__all__ = ["with_all_links", "with_lost_links"]

_ALL = 500
_LOST = 100
_TO_QUOTE = re.compile(r"[\s()<>]")
_TARGETS = re.compile(r"\]\((?:<([^<>\n]*)>|([^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*))\)")


def with_all_links(seen: Seen) -> str:
    """Return the whole text and, after it, where its links lead: up to 500, in page order."""
    return _with_list(seen.text, [(url, link) for url, link in seen.links.items() if link.wording], _ALL)


def with_lost_links(body: str, seen: Seen) -> tuple[str, int]:
    """Return the reading view `body` with the links that it lost, and how many links are in neither.

    Listed are those of the page's main part, as far as it has one, up to 100; menus and footers never count.
    """
    targets = {match[1] or match[2] for match in _TARGETS.finditer(body)}
    best = max((link.place for link in seen.links.values()), default=Place.CHROME)
    lost = [
        (url, link)
        for url, link in seen.links.items()
        if link.wording and link.place is best and best > Place.CHROME and url not in targets
    ]
    listed = lost[:_LOST] if best is Place.MAIN else []
    return _with_list(body, listed, _LOST), len(lost) - len(listed)


def _with_list(text: str, links: list[tuple[str, Link]], most: int) -> str:
    if not links:
        return text + "\n"
    lines = [f"- [{link.wording.replace('[', '(').replace(']', ')')}]({_target(url)})" for url, link in links[:most]]
    more = [f"- … and {len(links) - most} more links in the raw page"] if len(links) > most else []
    return "\n".join([text, "", "## Links", "", *lines, *more]) + "\n"


def _target(url: str) -> str:
    url = plain_view(url).replace("\n", "").replace("\t", "")
    return f"<{url}>" if _TO_QUOTE.search(url) else url
