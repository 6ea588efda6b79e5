"""The tool that asks a web search engine."""

from __future__ import annotations

from manusfs.errors import ToolError
from manusfs.records import Fetched
from manusfs.tools.env import ToolEnv
from manusfs.tools.schema import tool

__all__ = ["web_search"]

_MOST = 20


@tool
def web_search(env: ToolEnv, query: str, count: int = 8) -> Fetched:
    """Ask a web search engine. The answer lists titles, URLs and short extracts, and is kept in the workspace.

    Extracts are no evidence: fetch the pages that matter with web_fetch before you rely on them. To look through what
    is stored already use `search`, which costs nothing.

    Args:
        query: A few words, as for any search engine.
        count: How many hits, 1 to 20.
    """
    if not query.strip():
        raise ToolError("`query` is empty")
    if not 1 <= count <= _MOST:
        raise ToolError(f"`count` must be 1 to {_MOST}")
    return env.search_web(" ".join(query.split()), count)
