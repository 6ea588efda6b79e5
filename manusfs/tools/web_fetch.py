"""The tool that brings a page."""

from __future__ import annotations

from dataclasses import replace

from manusfs.errors import ToolError
from manusfs.records import Fetched
from manusfs.tools.env import ToolEnv
from manusfs.tools.schema import tool

__all__ = ["web_fetch"]


@tool
def web_fetch(env: ToolEnv, url: str, find: str | None = None, limit: int | None = None) -> Fetched:
    """Fetch a web page, PDF or other file by URL and keep it for good.

    The whole body is stored in the workspace; you are shown a stub: ref, size in bytes and tokens, outline with
    offsets, and a preview of about 600 characters. Short bodies are shown whole. The stub says which bytes were NOT
    READ: a preview is not the page. Read on with read(ref=…, offset=…) or look inside with search(query, within=ref).
    Say in `find` what you want to know, and the stub shows the three passages that fit best, with their offsets, in
    place of the beginning. Several URLs may be fetched in one turn by several calls. What was fetched before is in the
    workspace: read it by its ref, do not fetch it again unless you need it as it is now.

    Args:
        url: An absolute http or https URL.
        find: What you are looking for on that page, in words that may stand there.
        limit: Characters to show at once, up to 16000, when the preview would be too short.
    """
    address = url.strip()
    if not address.lower().startswith(("http://", "https://")):
        raise ToolError(f"not an http or https URL: {url!r}", hint="give the whole address, with https://")
    if limit is not None and limit < 0:
        raise ToolError("`limit` is a number of characters from 0")
    fetched = env.fetch(address)
    most = env.settings.read_chars
    return replace(fetched, find=(find or "").strip(), limit=None if limit is None else min(limit, most))
