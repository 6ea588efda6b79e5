"""What is known of an observation: the content of its `meta.json`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from manusfs.records.refs import Span
from manusfs.records.source import Source

__all__ = ["BLOCK_BYTES", "FORMAT", "FileMeta", "Heading", "HttpMeta", "Meta"]

FORMAT = 1
"""The format of the workspace that this version writes."""

BLOCK_BYTES = 256 * 1024
"""Files are hashed whole and per block of this size, so that a span is checked without reading the rest."""


@dataclass(frozen=True, slots=True)
class FileMeta:
    """One file of an observation: its name, bytes, sha256, and the sha256 and newline count of each block."""

    name: str
    size: int
    sha256: str
    blocks: tuple[str, ...] = ()
    newlines: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Heading:
    """One entry of an outline: byte offset in the reading view, level from 1, wording."""

    offset: int
    level: int
    title: str


@dataclass(frozen=True, slots=True)
class HttpMeta:
    """What an HTTP answer said: status, URL after redirects, validators, the redirects passed, decoded coding."""

    status: int
    final_url: str
    etag: str = ""
    last_modified: str = ""
    redirects: tuple[str, ...] = ()
    content_type: str = ""
    content_encoding: str = ""
    server_date: str = ""


@dataclass(frozen=True, slots=True)
class Meta:
    """An observation as `meta.json` tells it. `files` maps "text", "full" and "raw" to what is on disk.

    `raw` names the text's file when the text is the raw bytes themselves, so that nothing is stored twice.
    """

    id: str
    source: Source
    title: str
    media_type: str
    charset: str
    raw_sha256: str
    raw_size: int
    files: dict[str, FileMeta]
    tokens: int
    """Estimated tokens of the reading view, uncalibrated."""
    extractor: str
    """Name and version, for example "trafilatura/2.3.1"."""
    complete: bool = True
    """False when the body was cut on its way. A text that was not finished says so in `notes`: its bytes are whole."""
    notes: tuple[str, ...] = ()
    """Plain words for the reader: "no text layer", "unreliable text", "pages 1-40 of 1000000"."""
    pages: tuple[int, ...] = ()
    """Byte offset of each page's start in the reading view; empty for what has no pages."""
    page_labels: tuple[str, ...] = ()
    outline: tuple[Heading, ...] = ()
    http: HttpMeta | None = None
    created: str = ""
    """UTC, ISO 8601, ending in Z. For people: nothing is ordered by it."""
    session: str = ""
    call: str = ""
    previous: str = ""
    """The id of the earlier observation of the same source, if any."""
    format: int = FORMAT

    @property
    def views(self) -> tuple[str, ...]:
        """The text views that exist, reading view first."""
        return tuple(view for view in ("text", "full") if view in self.files)

    @property
    def no_text(self) -> str:
        """Why there is no reading view, in plain words; empty when there is one."""
        if "text" in self.files:
            return ""
        if not self.raw_size:
            return "it is empty"
        told = "; ".join(self.notes).removeprefix("no text: ")
        return told or f"no text can be made of {self.media_type or 'its type'}"

    @property
    def folder(self) -> str:
        """The workspace path of the observation's folder."""
        return self.source.folder(self.id)

    @property
    def is_error(self) -> bool:
        """True for an HTTP answer of 4xx or 5xx: kept, but never the latest of its source."""
        return self.http is not None and self.http.status >= 400

    @property
    def latest_allowed(self) -> bool:
        """True if this may be the latest observation of its source: no error page, no cut body."""
        return self.complete and not self.is_error

    def page_span(self, page: int) -> Span:
        """Return the span of page `page`, which counts from 1; a page outside the document is an IndexError."""
        if not 1 <= page <= len(self.pages):
            raise IndexError(page)
        end = self.pages[page] if page < len(self.pages) else self.files["text"].size
        return Span(self.pages[page - 1], end)

    def with_(self, **changes: Any) -> Meta:
        """Return a copy with `changes`."""
        return replace(self, **changes)

    def to_json(self) -> dict[str, Any]:
        """Return what `meta.json` holds."""
        # By hand: `dataclasses.asdict` copies each value deeply, which took longer than writing the file.
        data = _members(self)
        data["source"] = _members(self.source)
        data["files"] = {view: _members(file) for view, file in self.files.items()}
        data["outline"] = [_members(heading) for heading in self.outline]
        data["http"] = None if self.http is None else _members(self.http)
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Meta:
        """Return the Meta that `data` tells; keys of later minor versions are ignored.

        Raises:
            KeyError, TypeError, ValueError: `data` is no meta of format 1.
        """
        known = {name: data[name] for name in cls.__dataclass_fields__ if name in data}
        known["source"] = Source(**data["source"])
        known["files"] = {name: _file(value) for name, value in data["files"].items()}
        known["outline"] = tuple(Heading(**heading) for heading in data.get("outline", ()))
        http = data.get("http")
        known["http"] = None if http is None else HttpMeta(**{**http, "redirects": tuple(http.get("redirects", ()))})
        for name in ("notes", "pages", "page_labels"):
            known[name] = tuple(data.get(name, ()))
        return cls(**known)


def _members(value: Meta | Source | FileMeta | Heading | HttpMeta) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__dataclass_fields__}


def _file(data: dict[str, Any]) -> FileMeta:
    return FileMeta(data["name"], data["size"], data["sha256"], tuple(data["blocks"]), tuple(data["newlines"]))
