"""Synthetic sessions for the tests of context and compact: events as the agent writes them, and a reader of parts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from manusfs.context import first_opening
from manusfs.messages import Block, Request
from manusfs.records import (
    Event,
    ImagePart,
    ObsRef,
    Part,
    Span,
    TextPart,
    ViewPart,
    canonical,
    part_to_json,
    sha256_hex,
)
from manusfs.records.tokens import estimate

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
TOOLS: list[Block] = [
    {"name": "web_fetch", "description": "Fetch.", "input_schema": {"type": "object", "properties": {}}},
    {"name": "read", "description": "Read.", "input_schema": {"type": "object", "properties": {}}},
]


class FixedReader:
    """Renders parts from nothing but the part itself."""

    def __init__(self) -> None:
        self.rendered = 0

    def blocks(self, parts: Sequence[Part]) -> list[Block]:
        """Return one block a part."""
        self.rendered += len(parts)
        return [self._block(part) for part in parts]

    def _block(self, part: Part) -> Block:
        if isinstance(part, TextPart):
            return {"type": "text", "text": part.text}
        if isinstance(part, ImagePart):
            return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
        return {"type": "text", "text": text_of(part)}


def text_of(part: ViewPart) -> str:
    """Return what the fixed reader renders for a view part."""
    if part.form == "read":
        span = part.spans[0]
        body = (f"{part.ref} text of moored vessels. " * (len(span) // 30 + 1))[: len(span)]
        return f'<read ref="{part.ref.whole}" start="{span.start}" end="{span.end}">\n{body}\n</read>'
    return (
        f'<observation ref="{part.ref}" kind="web" url="https://example.org/{part.ref.id}" bytes="50000" '
        f'tokens="12000" sha256="9b1e6f02" views="text" pages="">\ntitle: A page about {part.ref.id}\n'
        f"preview 0-580:\n{'tidal currents circle moored vessels ' * 16}\n"
        f'NOT READ: 580-50000. read(ref="{part.ref}", offset=580) or search(query, within="{part.ref}")\n</observation>'
    )


def sealed(part: ViewPart) -> ViewPart:
    """Return `part` with the tokens and hash of its text."""
    text = text_of(part)
    return ViewPart(part.form, part.ref, part.spans, part.attributes, 1, sha256_hex(text.encode()), estimate(text))


class Log:
    """A transcript in memory: gives each event its number."""

    def __init__(self, session: str = "20261130-ab12") -> None:
        self.session = session
        self.events: list[Event] = []
        self.add("session", session=session, format=1, purpose="run", parent=None, version="0")

    def add(self, kind: Any, /, **data: Any) -> Event:
        """Append an event and return it."""
        return self.append(Event(kind, json.loads(json.dumps(data))))

    def append(self, event: Event) -> Event:
        """Append an event as the transcript does: its number is its line."""
        event = Event(event.kind, event.data, len(self.events) + 1)
        self.events.append(event)
        return event

    def begin(self, task: str = "What is known of tides?", system: str = "You are a researcher.", **more: Any) -> Event:
        """Append the first epoch."""
        more.setdefault("opening", first_opening("2026-11-30", [task], instructions="Be exact."))
        return self.add(
            "epoch",
            n=1,
            because="start",
            system=system,
            tools=TOOLS,
            model="test",
            options={},
            max_tokens=1_000,
            profile={},
            credential="",
            version="0",
            **more,
        )

    def says(self, *blocks: Block, stop: str = "tool_use") -> Event:
        """Append an assistant turn."""
        return self.add("message", role="assistant", content=list(blocks), stop_reason=stop, id="m", model="test")

    def user(self, text: str) -> Event:
        """Append a later message of the user."""
        return self.add("message", role="user", content=[{"type": "text", "text": text}])

    def saw(self, call: str, id: str, *, size: int = 50_000, **more: Any) -> Event:
        """Append an observation with its born stub."""
        part = sealed(ViewPart("stub", ObsRef(id), (Span(0, 580),)))
        data = {
            "call": call,
            "id": id,
            "order": 1,
            "ref": f"obs:{id}",
            "source": f"https://example.org/{id}",
            "kind": "web",
            "url": f"https://example.org/{id}",
            "title": f"A page about {id}",
            "bytes": size,
            "status": "new",
            "part": part_to_json(part),
            "is_error": False,
            "notice": "",
        }
        return self.add("observation", **{**data, **more})

    def shows(self, call: str, *parts: Part, **more: Any) -> Event:
        """Append what a tool printed."""
        data = {
            "call": call,
            "parts": [part_to_json(part) for part in parts],
            "is_error": False,
            "wrote": [],
            "reads": [],
        }
        return self.add("shown", **{**data, **more})

    def bill(self, window: int, output: int = 50, model: str = "test") -> Event:
        """Append a bill for a request of `window` tokens."""
        return self.add("usage", model=model, input_tokens=window, output_tokens=output)


def call(id: str, name: str = "web_fetch", **arguments: Any) -> Block:
    """Return a tool_use block."""
    return {"type": "tool_use", "id": id, "name": name, "input": arguments}


def text(words: str) -> Block:
    """Return a text block."""
    return {"type": "text", "text": words}


def thinking(words: str) -> Block:
    """Return a signed thinking block."""
    return {"type": "thinking", "thinking": words, "signature": sha256_hex(words.encode())}


def hex_id(number: int) -> str:
    """Return a distinct observation id."""
    return sha256_hex(str(number).encode())[:12]


def flat(request: Request) -> list[str]:
    """Return [tools, system, every content block] in canonical JSON without cache marks: what I2 speaks of."""
    blocks = [block for message in request.messages for block in message["content"]]
    return [canonical(_bare(value)) for value in (list(request.tools), list(request.system), *blocks)]


def marks(request: Request) -> list[tuple[int, int]]:
    """Return the places of the cache marks in messages."""
    return [
        (i, j)
        for i, message in enumerate(request.messages)
        for j, block in enumerate(message["content"])
        if "cache_control" in block
    ]


def request_text(request: Request) -> str:
    """Return all of a request's messages as one text."""
    return canonical([_bare(message) for message in request.messages])


def _bare(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _bare(member) for name, member in value.items() if name != "cache_control"}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [_bare(member) for member in value]
    return value
