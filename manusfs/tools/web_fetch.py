"""The tool that brings a page."""

from __future__ import annotations

from dataclasses import replace

from manusfs.errors import BadRef, ToolError
from manusfs.records import Fetched, ObsRef, parse_ref, secrets
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
    workspace: read it by its ref, do not fetch it again unless you need it as it is now. Secrets in URLs are shown as
    ***: to fetch such a page again give its ref (obs:…) as `url`.

    Args:
        url: An absolute http or https URL, or the ref of a page that was fetched before.
        find: What you are looking for on that page, in words that may stand there.
        limit: Characters to show at once, up to 16000, when the preview would be too short.
    """
    address = _of_ref(env, url.strip())
    if not address.lower().startswith(("http://", "https://")):
        raise ToolError(f"not an http or https URL: {url!r}", hint="give the whole address, with https://")
    if secrets.is_masked(address):
        raise ToolError(
            "a secret in that URL is shown as ***, so it can't be fetched as it stands",
            hint='give the ref of the page in its place, as in web_fetch(url="obs:3f9c21ab77de")',
        )
    if limit is not None and limit < 0:
        raise ToolError("`limit` is a number of characters from 0")
    fetched = env.fetch(address)
    most = env.settings.read_chars
    return replace(fetched, find=(find or "").strip(), limit=None if limit is None else min(limit, most))


def _of_ref(env: ToolEnv, address: str) -> str:
    """Return the URL behind the ref of a page, anything else as it is."""
    if not address.startswith("obs:"):
        return address
    try:
        ref = parse_ref(address)
    except BadRef as error:
        raise ToolError(str(error)) from error
    observations = env.workspace.observations
    source = observations.meta(observations.complete_id(ref.id)).source if isinstance(ref, ObsRef) else None
    if source is None or not source.url:
        raise ToolError(f"{address} was not fetched from the web", hint="read it; it can't be fetched again")
    return source.url
