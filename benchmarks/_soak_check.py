"""Whether everything that reached the model is still there: reads the folder by itself, with nothing of the product."""

from __future__ import annotations

import html
import json
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

__all__ = ["Checker"]

_STUB = re.compile(r'<observation ref="obs:([0-9a-f]+)" ([^>\n]*)>\n(.*?)\n</observation>', re.DOTALL)
_READ = re.compile(r'<read ref="obs:([0-9a-f]+)" ([^>\n]*)>\n(.*?)\n</read>', re.DOTALL)
_ID = re.compile(r"\bobs:([0-9a-f]{12,})")
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
_PIECE = re.compile(r"^(?:text|preview|passage) (\d+)-(\d+):\n", re.MULTILINE)
_SEALED = re.compile(rb'"crc":"([0-9a-f]{8})"\}\Z')


@dataclass(slots=True)
class Checker:
    """What the model of one workspace has seen, and how the folder must answer for it."""

    page: Callable[[str], bytes]
    """The bytes behind a URL."""
    stubs: dict[str, dict[str, str]] = field(default_factory=dict)
    """Attributes of each stub, by id."""
    pieces: set[tuple[str, int, int, str]] = field(default_factory=set)
    """Id, start, end and wording of each piece of text that was shown."""
    ids: set[str] = field(default_factory=set)
    checks: int = 0

    def take(self, text: str) -> None:
        """Remember what one text of a request shows."""
        self.ids.update(_ID.findall(text))
        for id, raw, inner in _STUB.findall(text):
            self.stubs[id] = _attributes(raw)
            data = inner.encode()
            for match in _PIECE.finditer(inner):
                start, end, at = int(match[1]), int(match[2]), len(inner[: match.end()].encode())
                self.pieces.add((id, start, end, data[at : at + end - start].decode()))
        for id, raw, inner in _READ.findall(text):
            named = _attributes(raw)
            if named.get("view") == "text" and "[OMITTED" not in inner:
                self.pieces.add((id, int(named["start"]), int(named["end"]), inner))

    def problems(self, folder: Path) -> list[str]:
        """Return what of all that is not there, byte for byte."""
        found: list[str] = []
        texts: dict[str, bytes] = {}
        for id, named in self.stubs.items():
            self.checks += 1
            try:
                texts[id] = self._stub(folder, id, named)
            except (OSError, KeyError, ValueError) as error:
                found.append(f"obs:{id}: {type(error).__name__}: {error}")
        for id, start, end, wording in self.pieces:
            self.checks += 1
            if id in texts and texts[id][start:end] != wording.encode():
                found.append(f"obs:{id}@{start}-{end} is not what was shown")
        stored = b"".join(path.read_bytes() for path in sorted(folder.glob("sessions/*/transcript.jsonl")))
        there = {path.parent.name.rpartition("-")[2] for path in folder.glob("observations/**/meta.json")}
        found += [f"obs:{id} is not stored" for id in self.ids if id not in there]
        found += [f"obs:{id} has no line of its own" for id in self.stubs if f'"id":"{id}"'.encode() not in stored]
        return found

    def _stub(self, folder: Path, id: str, named: dict[str, str]) -> bytes:
        place = folder / named["path"]
        meta = json.loads((place / "meta.json").read_bytes())
        raw = (place / meta["files"]["raw"]["name"]).read_bytes()
        text = (place / meta["files"]["text"]["name"]).read_bytes()
        if named["kind"] == "web" and raw != self.page(named["url"]):
            raise ValueError("the raw bytes are not what the server sent")
        if sha256(raw).hexdigest()[:8] != named["sha256"]:
            raise ValueError("the raw bytes do not match the stub's hash")
        if len(text) != int(named["bytes"]):
            raise ValueError(f"{len(text)} bytes of text, the stub said {named['bytes']}")
        return text

    def broken_lines(self, folder: Path) -> int:
        """Return how many transcript lines do not prove themselves or do not follow the one before.

        Raises:
            ValueError: a line that proves itself has a number that does not rise.
        """
        broken = 0
        for path in folder.glob("sessions/*/transcript.jsonl"):
            last = 0
            for line in filter(None, path.read_bytes().split(b"\n")):
                match = _SEALED.search(line)
                if match is None or int(match[1], 16) != zlib.crc32(line[: match.start()]):
                    broken += 1
                    continue
                event: dict[str, Any] = json.loads(line)
                if event["seq"] <= last:
                    raise ValueError(f"{path.parent.name}: line {event['seq']} after line {last}")
                last = event["seq"]
        return broken


def _attributes(raw: str) -> dict[str, str]:
    return {name: html.unescape(value) for name, value in _ATTRIBUTE.findall(raw)}
