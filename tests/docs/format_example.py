"""The worked example of docs/format.md, made by running code; as a program it writes the example into that file.

Times, names of sessions and the ids of calls are fixed, the system prompt and the tools are cut down to what fits on a
page; everything else is what the product writes.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from manusfs.agent import Agent
from manusfs.agent.running import Running
from manusfs.compact import Budget, compact, load_policy, undo
from manusfs.context import fold
from manusfs.memory import Doors, Workspace, stubs
from manusfs.messages import Block, Profile, Reply, Usage
from manusfs.models import ScriptedModel
from manusfs.records import Event, Fetched, HttpMeta, ObsRef, Source, Span, part_from_json
from manusfs.session import Transcript
from manusfs.tools import ToolBox
from manusfs.workspace.settings import Settings

PAGE = Path(__file__).parents[2] / "docs" / "format.md"
SESSION = "20261130-3fef"
WIDTH = 112

TIDES = """\
# Tides at Harrow

The gauge on the north pier has been read every hour since May 1987.

## Highest of each year

In 2025 the highest water stood at 4.12 m above datum, on 3 March at 06:40, in a storm from the north-west.
In 2024 it was 3.98 m, on 12 October.

## How it is measured

A float in a well moves a pen. The well is cleaned each spring, and the reading is checked by hand.
"""
LETTER = "Der Pegel stand am 3. März um 06:40 Uhr bei 4,12 m über Null.\n"

_SYSTEM = "You are manusfs, a research agent."
_TOOL = {
    "name": "read",
    "description": "Read stored text.",
    "input_schema": {"type": "object", "properties": {"ref": {"type": "string"}}, "required": ["ref"]},
}


class _Pages:
    """A fetcher with one page."""

    def fetch(self, url: str) -> Fetched:
        """Return the page."""
        http = HttpMeta(200, url, content_type="text/plain; charset=iso-8859-1")
        return Fetched(Source.web(url), LETTER.encode("latin-1"), "text/plain", "iso-8859-1", http=http)


def build(folder: Path) -> dict[str, str]:
    """Make the workspace in `folder` and return the blocks of docs/format.md that show it, by name."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "AGENTS.md").write_text("Answer in metres.\n", "utf-8")
    with _fixed():
        _work(folder)
    with Workspace.open(folder, doors=Doors(network=False)) as workspace:
        report = workspace.verify()
        if not report.ok:
            raise AssertionError(report)
        blocks = {"verify": json.dumps(report.to_json())}
        with Transcript.open(workspace.folder, SESSION) as transcript:
            blocks |= _events(transcript.events)
            blocks |= _texts(workspace, transcript.events)
    blocks |= _children()
    lines = (folder / "sessions" / SESSION / "transcript.jsonl").read_text("utf-8").splitlines()
    (meta,) = (folder / "observations" / "web" / "example.org").glob("tides-harrow-*/meta.json")
    (report_file,) = (folder / "reports").glob(f"{SESSION}-1.md")
    return {
        **blocks,
        "tree": "\n".join(_tree(folder)),
        "line": lines[0],
        "meta": meta.read_text("utf-8").rstrip("\n"),
        "report": report_file.read_text("utf-8").rstrip("\n"),
    }


def _work(folder: Path) -> None:
    settings = Settings(inline_chars=200, preview_chars=120, recite_tokens=40)
    doors = Doors(fetcher=_Pages(), clock=lambda: "2026-11-30T17:07:56Z")  # type: ignore[arg-type]
    with Workspace.create(folder, settings, doors=doors) as workspace:
        given = Fetched(
            Source.web("https://example.org/tides/harrow#top"),
            TIDES.encode("utf-8"),
            "text/markdown",
            "utf-8",
            http=HttpMeta(
                200,
                "https://example.org/tides/harrow",
                etag='"5d8c"',
                last_modified="Sat, 01 Nov 2026 08:00:00 GMT",
                content_type="text/markdown; charset=utf-8",
                content_encoding="gzip",
                server_date="Mon, 30 Nov 2026 17:07:55 GMT",
            ),
        )
        ref = f"obs:{_id(given)}"
        agent = Agent(workspace, ScriptedModel(_script(ref), profile=Profile("scripted", caches=False)), settings)
        agent.run("How high did the water stand at Harrow in 2025?", [given])
        note = folder / "notes" / "findings" / "harrow.md"
        note.write_text(note.read_text("utf-8") + "Ask the harbour office for 2026.\n", "utf-8")
        agent.resume(SESSION, "And in 2024?")
        _compact(workspace)
        note.unlink()
        workspace.note(f"4.12 m in 2025, see {ref}@120-229.", "Harrow")


def _children() -> dict[str, str]:
    """Return the lines by which a session tells of a sub-agent, from a folder of its own."""

    def said(request: Any) -> Any:
        texts = [block.get("text", "") for block in request.messages[0]["content"]]
        if any("You are a sub-agent" in text for text in texts):
            return "In 2024 it was 3.98 m."
        return "Done." if len(request.messages) > 1 else [_call(1, "task", prompt="How high in 2024?")]

    with tempfile.TemporaryDirectory() as folder, _fixed(), Workspace.create(Path(folder) / "w") as workspace:
        Agent(workspace, ScriptedModel(said, profile=Profile("scripted", caches=False))).run("How high?")
        with Transcript.open(workspace.folder, SESSION) as transcript:
            events = [event for event in transcript.events if event.kind == "child"]
    return {f"child-{event.data['state']}": pretty(event.data) for event in events}


def _id(fetched: Fetched) -> str:
    from manusfs.records import observation_id, sha256_hex

    return observation_id(fetched.source, sha256_hex(fetched.raw))


def _script(ref: str) -> list[Reply]:
    start = TIDES.encode().index(b"In 2025")
    end = TIDES.encode().index(b" above datum")
    quote = TIDES.encode()[start:end].decode()
    answer = (
        f'It stood at 4.12 m.[^1]\n\n[^1]: "{quote}" — Tides at Harrow, <https://example.org/tides/harrow>, '
        f"{ref}@{start}-{end}"
    )
    later = TIDES.encode().index(b"In 2024")
    more = f'In 2024 it was 3.98 m.[^1]\n\n[^1]: "In 2024 it was 3.98 m" — Tides at Harrow, {ref}@{later}-{later + 21}'
    return [
        _reply(1, "First a plan.", _call(1, "todo", items=["read the table", "answer"])),
        _reply(2, "", _call(2, "read", ref=ref, offset=94, limit=155)),
        _reply(
            3,
            "",
            _call(3, "web_fetch", url="https://example.org/brief"),
            _call(4, "write", path="notes/findings/harrow.md", content=f"4.12 m in 2025, see {ref}@120-229.\n"),
        ),
        _reply(4, answer),
        _reply(5, more),
    ]


def _reply(number: int, text: str, *calls: Block) -> Reply:
    said = ({"type": "text", "text": text},) if text else ()
    usage = Usage(1_900 + 300 * number, 60, 0, 0)
    return Reply((*said, *calls), "tool_use" if calls else "end_turn", usage, "scripted", f"msg_{number}")


def _call(number: int, name: str, **arguments: Any) -> Block:
    return {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": arguments}


def _compact(workspace: Workspace) -> None:
    """Fold the session as a run does when its window fills, and take that back."""
    with Transcript.open(workspace.folder, SESSION, write=True) as transcript:
        window = fold(transcript.events)
        steps = compact(window, load_policy("manus"), Budget(2_400, 200), workspace.renderer)
        try:
            next(steps)
        except StopIteration as end:
            transcript.append(end.value)
        window = fold(transcript.events)
        (line,) = window.compactions
        transcript.append(undo(window, line, Budget(8_000, 1_000), workspace.renderer))


@contextlib.contextmanager
def _fixed() -> Iterator[None]:
    ticks = itertools.count()
    names = iter([SESSION])
    with contextlib.ExitStack() as stack:
        for target, value in (
            ("manusfs.session.transcript.now", lambda: f"2026-11-30T17:08:{next(ticks) % 60:02}.000Z"),
            ("manusfs.session.transcript.new_name", lambda attempt: next(names)),
            ("manusfs.session.transcript.__version__", "0.1.0"),
            ("manusfs.agent.setup.__version__", "0.1.0"),
            ("manusfs.agent.setup.SYSTEM", _SYSTEM),
        ):
            stack.enter_context(patch(target, value))
        stack.enter_context(patch.object(Running, "today", property(lambda run: "2026-11-30")))
        stack.enter_context(patch.object(ToolBox, "blocks", property(lambda box: (_TOOL,))))
        yield


def _tree(folder: Path) -> list[str]:
    """Return all that the workspace holds, but what is derived, one path a line."""
    lines = []
    for path, names, files in os.walk(folder):
        names.sort()
        place = Path(path).relative_to(folder)
        if place.parts[:1] == (".manusfs",):
            continue
        lines += [str(place / name) for name in files]
    return sorted(lines)


def _events(events: Sequence[Event]) -> dict[str, str]:
    """Return the data of the first event of each kind, and of those that show something of their own."""
    wanted: dict[str, str] = {}
    for event in events:
        name: str = event.kind
        if event.kind == "message":
            name = f"message-{event.data['role']}"
        elif event.kind == "epoch" and event.data["n"] > 1:
            wanted[f"epoch-{event.data['because']}"] = pretty(event.data["opening"])
            continue
        elif event.kind == "shown":
            name = "shown-read" if event.data["reads"] else f"shown-{event.data['wrote'][0].split('/')[0]}"
        wanted.setdefault(name, pretty(event.data))
    return wanted


def _texts(workspace: Workspace, events: Sequence[Event]) -> dict[str, str]:
    """Return what the model saw: a stub, a whole one, a read, a folded stub, a ledger."""
    texts: dict[str, str] = {}
    for event in events:
        parts = [event.data["part"]] if event.kind == "observation" else event.data.get("parts", [])
        for data in parts:
            if data["type"] == "view":
                texts.setdefault(f"text-{data['form']}", workspace.renderer.text(part_from_json(data)))
    for id in workspace.observations.ids():
        meta = workspace.observations.meta(id)
        if meta.source.key.endswith("/harrow"):
            texts["text-folded"] = stubs.folded(meta, ObsRef(id, span=Span(94, 249)))[1]
    texts["text-ledger"] = next(
        block["text"] for event in events if event.kind == "compaction" for block in event.data["ledgers"]
    )
    (texts["text-collapsed"],) = (
        part["text"]
        for event in events
        if event.kind == "epoch"
        for part in event.data["opening"]
        if part["as"] == "ledger"
    )
    return texts


def pretty(value: Any, indent: int = 0, room: int = WIDTH) -> str:
    """Return JSON, one line where it fits and one member a line where it does not."""
    flat = json.dumps(value, ensure_ascii=False)
    if len(flat) + indent <= room or not isinstance(value, dict | list) or not value:
        return flat
    pad = " " * (indent + 1)
    if isinstance(value, list):
        inner = [pad + pretty(member, indent + 1, room) for member in value]
        return "[\n" + ",\n".join(inner) + "\n" + " " * indent + "]"
    inner = [f"{pad}{json.dumps(name)}: {pretty(member, indent + 1, room)}" for name, member in value.items()]
    return "{\n" + ",\n".join(inner) + "\n" + " " * indent + "}"


MARK = re.compile(r"(<!-- example: ([a-z-]+) -->\n(`{3,})[a-z]*\n)(.*?)(\n\3\n)", re.DOTALL)


def shown(page: str) -> dict[str, str]:
    """Return the example's blocks as a page shows them."""
    return {match[2]: match[4] for match in MARK.finditer(page)}


def filled(page: str, blocks: dict[str, str]) -> str:
    """Return the page with its blocks as they are now."""
    return MARK.sub(lambda match: match[1] + blocks[match[2]] + match[5], page)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        made = build(Path(place) / "tides")
    if sys.argv[1:] == ["--print"]:
        for name, text in made.items():
            sys.stdout.write(f"=== {name}\n{text}\n")
    else:
        PAGE.write_text(filled(PAGE.read_text("utf-8"), made), "utf-8")
