"""The tool that finds passages in what is stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from manusfs.errors import ToolError
from manusfs.records import Shown, TextPart, escape
from manusfs.records.tokens import estimate
from manusfs.tools.env import ToolEnv
from manusfs.tools.schema import tool

if TYPE_CHECKING:
    from manusfs.memory.search import Hit

__all__ = ["search"]

_MOST = 50
_FRAME_TOKENS = 100
_LEFT_OUT = "{count} more hits are left out, the context has no room for them; ask for them alone, with `within`."


@tool
def search(env: ToolEnv, query: str, within: str | None = None, limit: int = 8) -> Shown:
    """Find passages in everything that is stored: observations, notes, reports and what was said in sessions.

    The answer lists short snippets, best first, each with the ref of exactly its bytes (obs:ID@start-end) and its
    lines, never whole texts. Sources come before what was written here (notes, reports, messages), which repeats the
    question; kind:note, kind:report or kind:message in the query asks for these alone. Read on from a hit with
    read(ref="obs:ID", offset=start). Words in any order and form fit; put a phrase into "double quotes". For a literal
    text or a pattern use `grep`.

    Args:
        query: Words that may stand in the passage, for example: opening year "north plant".
        within: Look only in this: the ref of one observation, a path or a folder, for example notes/ or
            observations/web/example.org/.
        limit: How many hits at most, 1 to 50.
    """
    if not query.strip():
        raise ToolError("`query` is empty", hint="give some words to look for")
    if not 1 <= limit <= _MOST:
        raise ToolError(f"`limit` must be 1 to {_MOST}, not {limit}")
    found = env.workspace.search(query, within=within or None, limit=min(_MOST, 3 * limit))
    # What this session said itself repeats the words of its own plan; whoever wants it asks for session:ID.
    # So do its sub-agents, and the session that it is one of.
    top = f"msg:{env.session.partition('.')[0]}"
    own = () if "session:" in query else (f"{top}:", f"{top}.")
    hits = [hit for hit in found if not own or not hit.ref.startswith(own)][:limit]
    head = f'<hits query="{escape.field(query, 200)}" total="{len(hits)}">'
    note = escape.field(getattr(found, "note", ""), 400)
    if not hits:
        said = f"No hits. {note or 'Try fewer or other words, without `within`.'} `grep` finds a literal text."
        return Shown((TextPart(f"{head}\n{said}\n</hits>"),))
    shown = [_hit(hit) for hit in hits]
    kept = _that_fit(shown, env.window_left() - _FRAME_TOKENS)
    if kept < len(shown):
        note = f"{note} {_LEFT_OUT.format(count=len(shown) - kept)}".strip()
    lines = [head, *shown[:kept], *([f"note: {note}"] if note else []), "</hits>"]
    return Shown((TextPart("\n".join(lines)),), details={"hits": [hit.ref for hit in hits[:kept]]})


def _hit(hit: Hit) -> str:
    return (
        f'<hit ref="{escape.field(hit.ref, 400)}" score="{hit.score:.2f}" title="{escape.field(hit.title)}" '
        f'url="{escape.field(hit.url, 400)}" path="{escape.field(hit.path, 300)}" '
        f'lines="{hit.line_start}-{hit.line_end}">\n{escape.body(hit.snippet)}\n</hit>'
    )


def _that_fit(shown: Sequence[str], left: int) -> int:
    """Return how many of `shown` fit into `left` tokens, at least one."""
    for count, text in enumerate(shown):
        left -= estimate(text)
        if left < 0:
            return max(1, count)
    return len(shown)
