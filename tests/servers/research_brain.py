"""A brain for the local Messages server that works like a competent researcher, from what the request shows alone.

It plans, fetches the URLs it was given (else asks the web search), searches the workspace, reads round the best hits,
writes a note, and answers each question with a quote and a footnote that names the bytes of that quote.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

_OBSERVATION = re.compile(r"<observation ref=\"(obs:[0-9a-f]+)\"([^>]*)>\n(.*?)\n</observation>", re.DOTALL)
_PIECE = re.compile(r"^(?:text|preview|passage) (\d+)-\d+:\n(.*?)(?=\n(?:passage \d+-\d+:|NOT READ: )|\Z)", re.M | re.S)
_READ = re.compile(r"<read ref=\"(obs:[0-9a-f]+)\"([^>]*)>\n(.*?)\n?</read>", re.DOTALL)
_HIT = re.compile(r"<hit ref=\"(obs:[0-9a-f]+)@(\d+)-(\d+)\"")
_FOLDED = re.compile(r"<folded ref=\"(obs:[0-9a-f]+)[^\"]*\" url=\"([^\"]*)\"")
_ATTRIBUTE = re.compile(r"([a-z0-9]+)=\"([^\"]*)\"")
_TASK = re.compile(r"<user_message[^>]*>\n(.*?)\n</user_message>", re.DOTALL)
_TURN = re.compile(r"<turn [^>\n]*>\n(.*?)\n</turn>", re.DOTALL)
_NOTED = re.compile(r"^\* (.+) \((obs:[0-9a-f]+)@(\d+)-\d+\)$", re.MULTILINE)
_SOURCES = "The user named these sources"
_URL = re.compile(r"https?://[^\s<>\"')\]]+")
_SENTENCE = re.compile(r"[^.!?。！？\n]+(?:[.!?](?=\s|$)|[。！？]|\.(?=\S)|[!?](?=\S))*", re.M)
_WORD = re.compile(r"[\w-]+")
_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_STOP = set(
    "what when where which who whom whose how why does did was were are the and for with from that this these those "
    "about into than then them they their there have has had been being will would could should many much tell find "
    "say says said page pages source sources according explain please answer".split()
)
MOST_FETCHES, MOST_QUESTIONS, READS = 8, 4, 2


@dataclass
class View:
    """What the request shows."""

    task: str = ""
    resumed: bool = False
    """True in a later epoch: what was fetched is in the workspace, though little of it is in sight."""
    urls: list[str] = field(default_factory=list)
    found_urls: list[str] = field(default_factory=list)
    about: dict[str, dict[str, str]] = field(default_factory=dict)
    pieces: list[tuple[str, int, str]] = field(default_factory=list)
    hits: dict[str, list[tuple[str, int, int]]] = field(default_factory=dict)
    calls: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)


def research_brain(body: Json) -> tuple[list[Json], str]:
    """Return the next turn of a researcher: thinking, a word on what comes, and calls; or the answer."""
    view = look(body)
    offered = {tool["name"]: tool.get("input_schema", {}).get("properties", {}) for tool in body.get("tools") or ()}
    seed = json.dumps([len(body["messages"]), body["messages"][-1]], sort_keys=True)
    mark = hashlib.sha256(seed.encode()).hexdigest()[:20]
    for thought, plan in _steps(view, offered):
        calls = [step for step in plan if step[0] in offered and _key(*step) not in view.calls]
        if calls:
            blocks = [{"type": "thinking", "thinking": thought}, {"type": "text", "text": f"{thought} Let me do that."}]
            ids = (f"toolu_{mark}{number:02d}" for number in range(len(calls)))
            blocks += [
                {"type": "tool_use", "id": i, "name": n, "input": a} for i, (n, a) in zip(ids, calls, strict=True)
            ]
            return blocks, "tool_use"
    answer = _answer(view)
    return [{"type": "thinking", "thinking": "I have what I need."}, {"type": "text", "text": answer}], "end_turn"


def look(body: Json) -> View:
    """Return what the messages of `body` show."""
    view = View()
    asked: dict[str, Json] = {}
    for name, arguments, result in _carried(body["messages"][0]):
        view.calls.add(_key(name, arguments))
        view.names.add(name)
        if name == "search":
            _take_hits(view, arguments, result)
        for quote, ref, start in _NOTED.findall(str(arguments.get("content", ""))):
            view.pieces.append((ref, int(start), quote))
    for message in body["messages"]:
        for block in message["content"] if isinstance(message["content"], list) else [message["content"]]:
            if isinstance(block, dict) and block["type"] == "tool_use":
                asked[block["id"]] = block
                view.calls.add(_key(block["name"], block["input"]))
                view.names.add(block["name"])
            elif message["role"] == "user":
                call = asked.get(block.get("tool_use_id", "")) if isinstance(block, dict) else None
                for text in _texts(block):
                    _take(view, text, call)
    view.urls = list(dict.fromkeys(view.urls))
    return view


def _texts(block: Any) -> Iterator[str]:
    if isinstance(block, str):
        yield block
    elif block["type"] == "text":
        yield block["text"]
    elif block["type"] == "tool_result":
        content = block.get("content") or []
        for part in [content] if isinstance(content, str) else content:
            yield from _texts(part)


def _take(view: View, text: str, call: Json | None) -> None:
    if call is None:
        said = _TASK.findall(text)
        tasks = [words for words in said if not words.startswith(_SOURCES)]
        view.task = tasks[-1] if tasks else view.task
        view.resumed = view.resumed or "<ledger " in text
        if said or text.startswith(_SOURCES):
            view.urls += [html.unescape(url).rstrip(".,;:?!") for url in _URL.findall(text)]
    for ref, raw, inner in _OBSERVATION.findall(text):
        known = {name: html.unescape(value) for name, value in _ATTRIBUTE.findall(raw)}
        title = re.search(r"^title: (.*)$", inner, re.M)
        view.about[ref] = {**known, "title": html.unescape(title[1]) if title else ""}
        found = [(ref, int(start), piece) for start, piece in _PIECE.findall(inner)]
        if known.get("tool") == "web_search":
            view.found_urls += [url for _, _, piece in found for url in _URL.findall(piece)]
        else:
            view.pieces += found
    for ref, raw, inner in _READ.findall(text):
        view.pieces.append((ref, int(dict(_ATTRIBUTE.findall(raw))["start"]), inner.split("\n…[OMITTED ")[0]))
    for ref, url in _FOLDED.findall(text):
        view.about.setdefault(ref, {"url": html.unescape(url), "title": ""})
    if call is not None and call["name"] == "search":
        _take_hits(view, call["input"], text)


def _take_hits(view: View, arguments: Json, text: str) -> None:
    found_hits = [(ref, int(start), int(end)) for ref, start, end in _HIT.findall(text)]
    view.hits.setdefault(str(arguments.get("query")), []).extend(found_hits)


def _carried(message: Json) -> Iterator[tuple[str, Json, str]]:
    """Yield the calls of earlier turns that an opening tells as text: name, arguments, result."""
    content = message["content"] if isinstance(message["content"], list) else []
    opening = "\n".join(block["text"] for block in content if block["type"] == "text")
    for turn in _TURN.findall(opening):
        results = dict(re.findall(r"^result (\d+):\n(.*?)(?=\nresult \d+:\n|\Z)", turn, re.M | re.S))
        for number, name, arguments in re.findall(r"^call (\d+): ([\w-]+) (\{.*\})$", turn, re.M):
            yield name, json.loads(arguments), results.get(number, "")


def _steps(view: View, offered: dict[str, Json]) -> Iterator[tuple[str, list[tuple[str, Json]]]]:
    """Yield what could be done next, in order: a thought and the calls; the first that is new is done."""
    questions = _questions(view.task)
    stored = {about.get("url", "") for about in view.about.values()}
    wanted = [url for url in view.urls if url not in stored and url.split("#")[0] not in stored][:MOST_FETCHES]
    first = [("todo", {"items": ["fetch and look through the sources", "read what matters", "answer with quotes"]})]
    fetches = [("web_fetch", _fitting(offered, "web_fetch", url=url, find=questions[0])) for url in wanted]
    if view.resumed:
        fetches = []
    elif not view.names:
        yield "I shall make a plan and get the sources.", first + fetches
    yield "Some sources are still missing.", fetches
    if not view.urls and not view.about and not view.resumed:
        yield "I have no source yet and ask the web.", [("web_search", {"query": _query(view.task)})]
    if not view.urls and view.found_urls:
        found = [url for url in dict.fromkeys(view.found_urls) if url not in stored][:3]
        yield "These pages look right.", [("web_fetch", _fitting(offered, "web_fetch", url=url)) for url in found]
    yield "I look for the passages that matter.", [("search", {"query": _query(text)}) for text in questions]
    yield "I read round the best hits.", _reads(view, questions)
    note = "\n".join(f"* {quote} ({ref}@{start}-{end})" for _, ref, start, end, quote in _quotes(view))
    if "write" not in view.names and note:
        path = f"notes/findings/{_slug(view.task)}.md"
        yield "I keep what I found.", [("write", {"path": path, "content": f"# {_query(view.task)}\n\n{note}\n"})]


def _reads(view: View, questions: list[str]) -> list[tuple[str, Json]]:
    plan: dict[str, tuple[str, Json]] = {}
    for text in questions:
        best = _best(view, text)
        unread = [hit for hit in view.hits.get(_query(text), [])[:READS] if not _covered(view, *hit)]
        for ref, start, _ in unread if best is None or best[0] < 0.99 else []:
            step = ("read", {"ref": ref, "offset": max(0, start - 200), "limit": 2_000})
            plan[_key(*step)] = step
    if not view.hits or not any(view.hits.values()):
        for ref, about in list(view.about.items())[:READS]:
            if about.get("tool") != "web_search":
                step = ("read", {"ref": ref, "offset": 0})
                plan[_key(*step)] = step
    return list(plan.values())


def _covered(view: View, ref: str, start: int, end: int) -> bool:
    return any(
        at == ref and begin <= start and end <= begin + len(text.encode("utf-8")) for at, begin, text in view.pieces
    )


def _questions(task: str) -> list[str]:
    plain = _URL.sub(" ", task)
    found = [part.strip() for part in re.split(r"(?<=[?？])\s*", plain) if part.strip(" .。!")]
    return found[:MOST_QUESTIONS] or [plain.strip() or "anything"]


def _words(text: str) -> list[str]:
    words = [word.lower() for word in _WORD.findall(_CJK.sub(" ", text)) if len(word) > 2]
    pairs = [run[at : at + 2] for run in _CJK.findall(text) for at in range(max(1, len(run) - 1))]
    return list(dict.fromkeys([word for word in words if word not in _STOP] + pairs))


def _query(text: str) -> str:
    runs = _CJK.findall(text)
    words = [word for word in _WORD.findall(_CJK.sub(" ", _URL.sub(" ", text))) if word.lower() not in _STOP]
    return " ".join([*words[:10], *runs[:4]]) or text[:60]


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", _query(text).lower()).strip("-")[:40] or "answer"


def _score(words: list[str], sentence: str) -> float:
    low = sentence.lower()
    return sum(1.0 for word in words if _stem(word) in low) / max(1, len(words))


def _stem(word: str) -> str:
    """Return what of `word` must stand in a text: all of a name with digits, else it without its ending."""
    return word if any(c.isdigit() for c in word) else word[: max(4, len(word) - 2)]


def _best(view: View, question: str) -> tuple[float, str, int, int, str] | None:
    """Return the sentence that fits `question` best: score, ref, its bytes, the words."""
    words, best = _words(question), None
    for ref, begin, text in view.pieces:
        for match in _SENTENCE.finditer(text):
            quote = match[0].strip(" \t#>*-|")[:300]
            if len(quote) < 12 or '"' in quote or "<" in quote:
                continue
            score = _score(words, quote)
            if score >= 0.3 and (best is None or score > best[0]):
                start = begin + len(text[: match.start() + match[0].index(quote)].encode("utf-8"))
                best = (score, ref, start, start + len(quote.encode("utf-8")), quote)
    return best


def _quotes(view: View) -> Iterator[tuple[str, str, int, int, str]]:
    for question in _questions(view.task):
        if (best := _best(view, question)) is not None:
            yield question, best[1], best[2], best[3], best[4]


def _answer(view: View) -> str:
    claims, notes = [], []
    supported = {question: rest for question, *rest in _quotes(view)}
    for question in _questions(view.task):
        if question not in supported:
            claims.append(f"I found no support for an answer to: {question}")
            continue
        ref, start, end, quote = supported[question]
        about = view.about.get(str(ref), {})
        number = len(notes) + 1
        url = f", <{about['url']}>" if about.get("url", "").startswith("http") else ""
        claims.append(f"{question}\n\nThe source says: {quote} [^{number}]")
        notes.append(f'[^{number}]: "{quote}" — {about.get("title") or "untitled"}{url}, {ref}@{start}-{end}')
    return "\n\n".join([*claims, "\n".join(notes)]).strip()


def _fitting(offered: dict[str, Json], name: str, **arguments: Any) -> Json:
    """Return the arguments that the offered tool knows."""
    return {key: value for key, value in arguments.items() if key in offered.get(name, {})}


def _key(name: str, arguments: Json) -> str:
    return f"{name} {json.dumps(arguments, sort_keys=True, ensure_ascii=False)}"
