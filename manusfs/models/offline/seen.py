"""What the request shows: the task, the sources, and every text that was read, with the bytes where it stands."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from manusfs.messages import Block, Message, Request
from manusfs.models.offline.earlier import carried_calls, noted_quotes, steps_done

__all__ = ["EVERYTHING", "Call", "Hit", "Seen", "Source", "Text", "look"]

_ATTRIBUTES = re.compile(r'([a-z_]+)="([^"]*)"')
_OBSERVATION = re.compile(r"<observation ([^>\n]*)>\n(.*?)\n</observation>", re.DOTALL)
_READ = re.compile(r"<read ([^>\n]*)>\n(.*?)\n</read>", re.DOTALL)
_HIT = re.compile(r"<hit ([^>\n]*)>\n(.*?)\n</hit>", re.DOTALL)
_MATCH = re.compile(r"<match ([^>\n]*)>\n(.*?)\n</match>", re.DOTALL)
_FOLDED = re.compile(r"<folded ([^>\n]*)/>")
_LEDGER = re.compile(r"<ledger [^>\n]*>\n(.*?)\n</ledger>", re.DOTALL)
_LEDGER_LINE = re.compile(r'^([0-9a-f]{12,64}) (\S+) "([^"]*)"', re.MULTILINE)
# Where a frame ends is never looked for in the text that it holds: a page may imitate it.
_WHOLE = re.compile(r"(?:(?:title|note|outline): [^\n]*\n)*text (\d+)-(\d+):\n")
_OMITTED = re.compile(rb"\n\xe2\x80\xa6\[OMITTED (\d+)-(\d+): [^\n]*\]\xe2\x80\xa6\n")
_NAMED = re.compile(r"The user named these sources; fetch them with web_fetch:\n((?:\* \S+\n?)+)")
_INTERRUPTED = "Error: interrupted, not known whether it ran"
_USER = re.compile(r"<user_message[^>\n]*>\n(.*?)\n</user_message>", re.DOTALL)


EVERYTHING = "observations/"
"""Where searches look unless they are held to one source: what the agent wrote itself is no evidence."""


@dataclass(frozen=True, slots=True)
class Source:
    """One observation as its stub tells it."""

    ref: str
    kind: str = ""
    url: str = ""
    title: str = ""
    views: tuple[str, ...] = ("text",)
    size: int = 0
    no_text: str = ""
    """Why nothing of it can be read; "" if something can."""


@dataclass(frozen=True, slots=True)
class Text:
    """A part of a source that was shown whole: `text` begins at byte `start` of the view `ref`."""

    ref: str
    start: int
    text: str
    whole: bool = False
    """True if no sentence of it can be cut at its borders."""

    @property
    def end(self) -> int:
        """The byte after the last that was shown."""
        return self.start + len(self.text.encode("utf-8"))


@dataclass(frozen=True, slots=True)
class Hit:
    """One search hit: a view, the bytes where the passage stands, and how well it fits."""

    ref: str
    start: int
    end: int
    score: float


@dataclass(frozen=True, slots=True)
class Call:
    """One call that was made since the newest user message, and what came back."""

    name: str
    arguments: dict[str, Any]
    result: str
    failed: bool


@dataclass(slots=True)
class Seen:
    """Everything that the request shows, in order."""

    task: str = ""
    """The newest user message, with those before it that have no answer yet."""
    answered: bool = True
    named: list[str] = field(default_factory=list)
    """URLs that the user gave as sources."""
    sources: dict[str, Source] = field(default_factory=dict)
    texts: list[Text] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    """Calls since the newest user message."""
    fetched: set[str] = field(default_factory=set)
    """URLs that were fetched at any time, or tried since the newest user message and not broken off on the way."""
    failed: set[str] = field(default_factory=set)
    """Those of them whose fetch failed."""
    later: bool = False
    """True in an epoch that carries over what was before: little of it is in sight."""
    done: set[str] = field(default_factory=set)
    """Steps of the plan that are ticked."""
    noted: set[str] = field(default_factory=set)
    """Where the quotes stand that the notes in sight hold."""
    outlines: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    """All headings of a view, by its ref: the byte where each stands, and its words."""

    def made(self, name: str) -> Iterator[Call]:
        """Yield the calls of the tool `name` since the newest user message; one that a crash broke off was not made."""
        return (call for call in self.calls if call.name == name and not (call.failed and _INTERRUPTED in call.result))

    def searches(self) -> Iterator[tuple[str, str, list[Hit]]]:
        """Yield the query of each search, the ref that it was held to or "", and what it found."""
        for call in self.made("search"):
            hits = [hit for attributes, _ in _HIT.findall(call.result) if (hit := _hit(attributes)) is not None]
            within = str(call.arguments.get("within", ""))
            yield str(call.arguments.get("query", "")), "" if within == EVERYTHING else within, hits

    def looked_for(self, query: str) -> bool:
        """Return True if a search for `query` was made."""
        return any(made == query for made, _, _ in self.searches())

    def brought_later(self) -> list[str]:
        """Return the refs of the pages that were fetched after the first search."""
        refs: list[str] = []
        searched = False
        for call in self.calls:
            searched = searched or call.name == "search"
            if searched and call.name == "web_fetch" and not call.failed:
                refs.extend(_read_attributes(raw).get("ref", "") for raw, _ in _OBSERVATION.findall(call.result))
        return refs

    def matches(self) -> Iterator[tuple[str, str]]:
        """Yield the ref and the text of each line that `grep` showed."""
        for call in self.made("grep"):
            for attributes, text in _MATCH.findall(call.result):
                yield _read_attributes(attributes).get("ref", ""), text

    def covered(self, hit: Hit) -> bool:
        """Return True if the bytes of `hit` were shown already."""
        return any(text.ref == hit.ref and text.start <= hit.start and hit.end <= text.end + 8 for text in self.texts)


def look(request: Request) -> Seen:
    """Return what `request` shows."""
    seen = Seen()
    open_calls: dict[str, tuple[str, dict[str, Any]]] = {}
    for message in request.messages:
        if message["role"] == "assistant":
            open_calls = {
                b["id"]: (b["name"], dict(b["input"])) for b in message["content"] if b.get("type") == "tool_use"
            }
            seen.answered = not open_calls
        else:
            _take_user(seen, message, open_calls)
            open_calls = {}
    for call in seen.calls:
        _take_note(seen, call)
        _take_outline(seen, call)
    return seen


def _take_outline(seen: Seen, call: Call) -> None:
    """Take the headings that `grep` showed of one view; none at all is an outline too."""
    ref = str(call.arguments.get("within", ""))
    if call.name != "grep" or not call.arguments.get("regex") or not ref.startswith("obs:"):
        return
    found = seen.outlines.setdefault(ref, [])
    for raw, text in _MATCH.findall(call.result):
        place = re.fullmatch(r"(obs:[0-9a-f]+(?:/full)?)@(\d+)-\d+", _read_attributes(raw).get("ref", ""))
        if place is not None and place[1] == ref and text.startswith("#"):
            found.append((int(place[2]), text.lstrip("#").strip()))


def _take_earlier(seen: Seen, opening: str) -> None:
    for name, arguments, result, failed in carried_calls(opening):
        seen.later = True
        seen.calls.append(Call(name, arguments, result, failed))
        if name == "web_fetch":
            _take_fetch(seen, arguments, result, failed)


def _take_fetch(seen: Seen, arguments: dict[str, Any], result: str, failed: bool) -> None:
    """Take a fetch as done or tried. One that was broken off is asked for again; a failed one when the user speaks."""
    url = str(arguments.get("url", ""))
    if failed and _INTERRUPTED in result:
        return
    seen.fetched.add(url)
    (seen.failed.add if failed else seen.failed.discard)(url)


def _take_note(seen: Seen, call: Call) -> None:
    """Take the quotes of a note that was written or read again: they stand in their sources word for word."""
    text = str(call.arguments.get("content", "")) if call.name == "write" else ""
    if call.name == "read" and str(call.arguments.get("ref", "")).startswith("notes/"):
        text = call.result
    for ref, start, words in noted_quotes(text):
        seen.noted.add(f"{ref}@{start}")
        seen.texts.append(Text(ref, start, words, whole=True))


def _take_user(seen: Seen, message: Message, calls: dict[str, tuple[str, dict[str, Any]]]) -> None:
    opening = "\n".join(block["text"] for block in message["content"] if block.get("type") == "text")
    if '<user_message ref="msg:' in opening:
        seen.later = True
    for block in message["content"]:
        if block.get("type") == "tool_result":
            name, arguments = calls.get(block.get("tool_use_id", ""), ("", {}))
            result = "\n".join(_texts(block.get("content", ())))
            if name:
                seen.calls.append(Call(name, arguments, result, bool(block.get("is_error"))))
            if name == "web_fetch":
                _take_fetch(seen, arguments, result, bool(block.get("is_error")))
            _take_text(seen, result)
            seen.done.update(steps_done(result))
        elif block.get("type") == "text":
            _take_text(seen, block["text"])
            _take_task(seen, block["text"])
            if seen.later or seen.calls:
                # The plan that stands in a first opening is of an earlier session, which looked at other sources.
                seen.done.update(steps_done(block["text"]))
    _take_earlier(seen, opening)


def _texts(content: str | Sequence[Block]) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    else:
        for block in content:
            if block.get("type") == "text":
                yield block["text"]
            elif block.get("type") == "search_result":
                yield "".join(piece["text"] for piece in block["content"])


def _take_task(seen: Seen, text: str) -> None:
    # A block of its own: a file that was given may hold the same words.
    if named := _NAMED.match(text):
        seen.named.extend(html.unescape(line[2:]) for line in named[1].splitlines())
    for wording in _USER.findall(text):
        words = html.unescape(wording)
        if seen.answered or seen.later:
            seen.task, seen.calls = words, []
        else:
            # Said while the work went on: it adds to the task, and what was done for that still counts.
            seen.task = f"{seen.task}\n\n{words}"
        seen.answered = False
        seen.fetched -= seen.failed
        seen.failed.clear()


def _take_text(seen: Seen, text: str) -> None:
    for raw, body in _OBSERVATION.findall(text):
        _take_stub(seen, _read_attributes(raw), body)
    for raw, body in _READ.findall(text):
        _take_read(seen, _read_attributes(raw), body)
    for raw, _ in _HIT.findall(text):
        attributes = _read_attributes(raw)
        ref = attributes.get("ref", "").partition("@")[0].removesuffix("/full")
        if ref.startswith("obs:"):
            seen.sources.setdefault(ref, Source(ref, url=attributes.get("url", ""), title=attributes.get("title", "")))
    for raw in _FOLDED.findall(text):
        attributes = _read_attributes(raw)
        ref = attributes.get("ref", "").partition("@")[0]
        seen.sources.setdefault(ref, Source(ref, url=attributes.get("url", ""), title=attributes.get("name", "")))
    for lines in _LEDGER.findall(text):
        for id, host, title in _LEDGER_LINE.findall(lines):
            seen.sources.setdefault(f"obs:{id}", Source(f"obs:{id}", url=host, title=html.unescape(title)))


def _take_stub(seen: Seen, attributes: dict[str, str], body: str) -> None:
    ref = attributes.get("ref", "")
    title = re.match(r"title: (.*)$", body, re.MULTILINE)
    seen.sources[ref] = Source(
        ref,
        attributes.get("kind", ""),
        attributes.get("url", "") or attributes.get("name", ""),
        html.unescape(title[1]) if title else attributes.get("name", ""),
        tuple(attributes.get("views", "text").split(",")),
        int(attributes.get("bytes") or 0),
        _no_text(attributes, body),
    )
    if whole := _WHOLE.match(body):
        seen.texts.append(Text(ref, int(whole[1]), body[whole.end() :]))


def _no_text(attributes: dict[str, str], body: str) -> str:
    """Return the notes on a source that has no view at all: a body without text holds no lines but our own."""
    if attributes.get("bytes") != "0" or attributes.get("views") != "" or attributes.get("kind") == "tool":
        return ""
    notes = re.findall(r"^note: (.*)$", body, re.MULTILINE)
    return html.unescape("; ".join(notes)) or "it has no text"


def _take_read(seen: Seen, attributes: dict[str, str], body: str) -> None:
    ref, start, end = (attributes.get(name, "") for name in ("ref", "start", "end"))
    if not ref.startswith("obs:") or ref.endswith("/raw") or not (start.isdigit() and end.isdigit()):
        return
    source = seen.sources.setdefault(ref.removesuffix("/full"), Source(ref.removesuffix("/full")))
    if not source.size and not ref.endswith("/full") and attributes.get("total", "").isdigit():
        seen.sources[ref] = replace(source, size=int(attributes["total"]))
    # Escaped text has as many bytes as the stored one, so the frame itself says where its first piece ends.
    data, length = body.encode("utf-8"), int(end) - int(start)
    seen.texts.append(Text(ref, int(start), data[:length].decode("utf-8", "ignore")))
    if gap := _OMITTED.match(data, length):
        seen.texts.append(Text(ref, int(gap[2]), data[gap.end() :].decode("utf-8", "ignore")))


def _hit(raw: str) -> Hit | None:
    attributes = _read_attributes(raw)
    match = re.fullmatch(r"(obs:[0-9a-f]+(?:/full)?)@(\d+)-(\d+)", attributes.get("ref", ""))
    if match is None:
        return None
    return Hit(match[1], int(match[2]), int(match[3]), float(attributes.get("score") or 0))


def _read_attributes(raw: str) -> dict[str, str]:
    return {name: html.unescape(value) for name, value in _ATTRIBUTES.findall(raw)}
