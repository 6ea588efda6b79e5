"""What the tests of the agent share: a workspace whose pages come from this machine, and checks on what was asked."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from servers.messages_rules import VERSIONS, Card, check, parse

from manusfs.agent import Agent, AgentEvent
from manusfs.memory import Doors, Workspace
from manusfs.messages import Model, Profile, Request
from manusfs.models import ScriptedModel, call
from manusfs.records import Event, Extracted, Fetched, Source
from manusfs.session import Transcript
from manusfs.workspace.settings import Settings

PAGES = "https://example.org/"
OPEN: list[Workspace] = []
"""What `make_workspace` opened; closed after each test."""


class PlainExtractor:
    """Takes tags away: the tests of the agent are not about extraction, and need no child process."""

    def extract(self, raw: bytes, *, media_type: str, charset: str, name: str, source_url: str) -> Extracted:
        """Return the text of `raw`."""
        text = raw.decode("utf-8", "replace")
        title = re.search(r"<title>(.*?)</title>", text)
        plain = re.sub(r"<[^>]+>", "\n", re.sub(r"<head>.*?</head>", "", text, flags=re.S)) if "<" in text else text
        return Extracted("text/html", plain, title=title[1] if title else "", extractor="plain/1")


class Pages:
    """A fetcher over a dictionary, or over a function of the URL."""

    def __init__(self, pages: dict[str, str] | Callable[[str], str]) -> None:
        self.pages = pages
        self.asked: list[str] = []

    def fetch(self, url: str) -> Fetched:
        """Return the page at `url`."""
        self.asked.append(url)
        text = self.pages(url) if callable(self.pages) else self.pages[url]
        return Fetched(Source.web(url), text.encode("utf-8"), "text/html", "utf-8")


def page(topic: str, paragraphs: int = 200) -> str:
    """Return a page of about 90 characters a paragraph."""
    lines = "".join(
        f"<p>Paragraph {n}: the {topic} number {n} was opened in May {1900 + n % 100} by somebody.</p>\n"
        for n in range(paragraphs)
    )
    return f"<html><head><title>All about {topic}</title></head><body>{lines}</body></html>"


def make_workspace(path: Path, pages: Any = None, settings: Settings | None = None) -> Workspace:
    """Return a workspace at `path`, made or opened, whose network is `pages`."""
    doors = Doors(extractor=PlainExtractor(), fetcher=Pages(pages or {}))  # type: ignore[arg-type]
    opened = Workspace.open if path.exists() else Workspace.create
    workspace = opened(path, settings or Settings(), doors=doors)
    OPEN.append(workspace)
    return workspace


def results(request: Request) -> list[str]:
    """Return the texts of all results that `request` shows, in order."""
    return [
        "\n".join(part["text"] for part in block["content"] if part["type"] == "text")
        for message in request.messages
        for block in message["content"]
        if block["type"] == "tool_result"
    ]


def refs(request: Request) -> list[str]:
    """Return the refs of the stubs that `request` shows."""
    return re.findall(
        r'<(?:observation|folded) ref="(obs:[0-9a-f]+)"',
        json.dumps(request.to_json(), ensure_ascii=False).replace('\\"', '"'),
    )


def prefix_of(request: Request) -> list[str]:
    """Return what the cache and the signatures go by: tools, system and each content block, without cache marks."""
    blocks = [*request.tools, *request.system]
    for message in request.messages:
        blocks += [{"role": message["role"], **block} for block in message["content"]]
    return [json.dumps(_unmarked(block), sort_keys=True, ensure_ascii=False) for block in blocks]


def assert_sound(requests: Sequence[Request]) -> None:
    """I2, I3: each request is one that the API accepts, and begins with the one before it or opens an epoch."""
    before: list[str] = []
    for request in requests:
        body = parse(json.dumps(request.to_json(), ensure_ascii=False).encode("utf-8"))
        check({**body, "model": "claude-sonnet-5-5"}, Card(), VERSIONS[0])
        now = prefix_of(request)
        assert now[: len(before)] == before or is_opening(request), "a request changed what was sent before"
        before = now


def is_opening(request: Request) -> bool:
    """Return True if `request` may be the first of an epoch: nothing was said in it yet."""
    return len(request.messages) == 1


def events_of(workspace: Workspace, session: str) -> tuple[Event, ...]:
    """Return the transcript."""
    with Transcript.open(workspace.folder, session) as transcript:
        return transcript.events


def agent(workspace: Workspace, steps: Any, told: list[AgentEvent] | None = None, **settings: Any) -> Agent:
    """Return an agent whose model says `steps`; a script knows no summaries, so none are asked for unless set so."""
    window = settings.pop("window", 200_000)
    settings.setdefault("summary_tokens", 0)
    model: Model = (
        steps if hasattr(steps, "reply") else ScriptedModel(steps, profile=Profile("scripted", window=window))
    )
    on_event = told.append if told is not None else None
    return Agent(workspace, model, Settings(**settings), on_event)


def fetches(urls: Iterable[str], **arguments: Any) -> list[dict[str, Any]]:
    """Return one call of web_fetch a URL."""
    return [call("web_fetch", url=url, **arguments) for url in urls]


def _unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _unmarked(member) for name, member in value.items() if name != "cache_control"}
    return [_unmarked(member) for member in value] if isinstance(value, list) else value
