"""A session as people read it: one entry an event, in order, each with the ref of what it stands for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from manusfs.records import Event, MsgRef, canonical, counted

__all__ = ["Entry", "timeline"]

_CUT = 200


@dataclass(frozen=True, slots=True)
class Entry:
    """One step of a session."""

    seq: int
    time: str
    kind: str
    text: str
    ref: str
    """Where the whole of it can be read."""

    def to_json(self) -> dict[str, Any]:
        """Return the entry as `manusfs show --json` prints it."""
        return asdict(self)


def timeline(session: str, events: Sequence[Event], *, whole: bool = False) -> Iterator[Entry]:
    """Yield the entries of `session`; texts are cut to 200 characters unless `whole`."""
    for event in events:
        for kind, text in _wordings(event):
            shown = text if whole or len(text) <= _CUT else f"{text[:_CUT]}…"
            yield Entry(event.seq, event.time, kind, shown, str(MsgRef(session, event.seq)))


def _wordings(event: Event) -> Iterator[tuple[str, str]]:
    data = event.data
    if event.kind == "session":
        yield "session", f"{data.get('session')} ({data.get('purpose')})"
    elif event.kind == "epoch":
        tools = counted(len(data.get("tools", ())), "tool")
        yield "epoch", f"{data.get('n')}: {data.get('because')}, model {data.get('model')}, {tools}"
    elif event.kind == "message":
        yield from _message(data)
    elif event.kind == "observation":
        notice = f" — {data['notice']}" if data.get("notice") else ""
        yield "observation", f"{data.get('ref')} {data.get('status')} {data.get('title') or data.get('url')}{notice}"
    elif event.kind == "shown":
        yield ("error" if data.get("is_error") else "shown"), _parts(data.get("parts", ()))
    elif event.kind == "usage":
        read, wrote = data.get("cache_read_input_tokens", 0), data.get("cache_creation_input_tokens", 0)
        total = data.get("input_tokens", 0) + read + wrote
        yield "usage", f"{total} tokens in ({read} cached), {data.get('output_tokens', 0)} out"
    elif event.kind == "compaction":
        before, after = data.get("before_tokens"), data.get("after_tokens")
        yield (
            "compaction",
            f"{data.get('policy')}: {before} to {after} tokens, {counted(len(data.get('moves', ())), 'move')}",
        )
    elif event.kind == "child":
        told = " ".join(str(data[name]) for name in ("state", "stop") if data.get(name))
        yield "child", f"{data.get('session')} {told}" + (f": {data['title']}" if data.get("title") else "")
    else:
        yield event.kind, str(data.get("text") or data.get("message") or data.get("stop") or canonical(data))


def _message(data: dict[str, Any]) -> Iterator[tuple[str, str]]:
    role = str(data.get("role"))
    for block in data.get("content", ()):
        kind = block.get("type")
        if kind == "text":
            yield role, block["text"]
        elif kind == "tool_use":
            yield "call", f"{block['name']}({canonical(block['input'])})"
        elif kind == "thinking":
            yield "thinking", block.get("thinking") or "(not shown by the provider)"
        else:
            yield role, f"[{kind}]"


def _parts(parts: Sequence[dict[str, Any]]) -> str:
    return " ".join(_part(part) for part in parts)


def _part(part: dict[str, Any]) -> str:
    if part.get("type") == "text":
        return " ".join(str(part["text"]).split())
    spans = ",".join(f"{start}-{end}" for start, end in part.get("spans", ()))
    return f"[{part.get('form', part.get('type'))} {part.get('ref')}{'@' + spans if spans else ''}]"
