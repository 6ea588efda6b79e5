"""The texts behind the index: bytes from the tree and the transcripts, checked, with their line numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from manusfs.errors import NotFound
from manusfs.memory.reading import block_reader
from manusfs.records import Event, FileMeta, Meta, MsgRef, ObsRef, PathRef, Span, parse_ref, secrets
from manusfs.session import read_event, transcript_path

if TYPE_CHECKING:
    from manusfs.workspace import Folder

__all__ = ["Body", "Observed", "Stored", "Texts", "message_texts", "spoken"]


class Observed(Protocol):
    """What search needs of `store.Observations`."""

    def meta(self, id: str) -> Meta:
        """Return what is known of an observation."""

    def read(self, id: str, view: str = "text", span: Span | None = None) -> bytes:
        """Return the checked bytes of a view, or of a span of it."""


class Stored(Observed, Protocol):
    """What listing all texts needs of it."""

    def ids(self) -> Iterator[str]:
        """Return the ids of all observations in the tree."""

    def path(self, id: str) -> str:
        """Return the workspace path of an observation's folder."""


@dataclass(frozen=True, slots=True)
class Body:
    """One text that can be read by span, and what a hit in it says about where it is from."""

    read: Callable[[Span], bytes]
    size: int
    path: str
    title: str
    url: str = ""
    kind: str = ""
    host: str = ""
    session: str = ""
    created: str = ""
    line: int = 0
    """The line of `path` that holds all of it, for what is one line there; 0 for texts with lines of their own."""
    newlines: tuple[int, ...] = ()

    def line_of(self, offset: int) -> int:
        """Return the number, from 1, of the line of `path` that holds the byte `offset`."""
        if self.line:
            return self.line
        from manusfs.store.lines import line_of

        return line_of(FileMeta("", self.size, "", (), self.newlines), self.read, offset)


class Texts:
    """Opens the texts of one search; each is opened once, and its last blocks are kept."""

    def __init__(self, folder: Folder, observations: Observed) -> None:
        self._folder = folder
        self._observations = observations
        self._open: dict[tuple[str, str], Body] = {}

    def body(self, owner: str, view: str = "text") -> Body:
        """Return the text of an observation's view, a workspace file or a transcript block.

        Raises:
            NotFound: it is not there (any more).
            Damaged: it does not match its hashes.
        """
        if (owner, view) not in self._open:
            self._open[owner, view] = self._opened(owner, view)
        return self._open[owner, view]

    def forget(self) -> None:
        """Let go of what is open, so that going through everything needs the memory of one text."""
        self._open.clear()

    def _opened(self, owner: str, view: str) -> Body:
        ref = parse_ref(owner)
        if isinstance(ref, ObsRef):
            return self._observation(ref.id, view)
        if isinstance(ref, PathRef):
            return _in_memory(self._folder.root.read_edited(ref.path), ref.path, ref.path.split("/")[0].rstrip("s"))
        return self._message(ref)

    def _observation(self, id: str, view: str) -> Body:
        meta = self._observations.meta(id)
        file = meta.files.get(view)
        if file is None:
            raise NotFound(f"observation {id} has no view {view!r}")
        read = block_reader(lambda span: self._observations.read(id, view, span), file.size)
        return Body(
            read,
            file.size,
            f"{meta.folder}/{file.name}",
            secrets.text(meta.title),
            secrets.url(meta.source.url),
            meta.source.kind,
            meta.source.host,
            meta.session,
            meta.created,
            newlines=file.newlines,
        )

    def _message(self, ref: MsgRef) -> Body:
        event = read_event(self._folder, ref.session, ref.seq)
        for number, text in message_texts(event):
            if number == (ref.block or 0):
                return spoken(ref.session, event, text)
        raise NotFound(f"{ref} is no text")


def message_texts(event: Event) -> Iterator[tuple[int, str]]:
    """Yield number and text of each text block that a user or a model said in `event`."""
    content = event.data.get("content") if event.kind == "message" else None
    for number, block in enumerate(content if isinstance(content, list) else ()):
        if isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str):
            yield number, block["text"]


def spoken(session: str, event: Event, text: str) -> Body:
    """Return the text of a block that was said in `event` of `session`."""
    data = text.encode("utf-8", "replace")
    return Body(
        lambda span: data[span.start : span.end],
        len(data),
        transcript_path(session),
        f"{event.data.get('role', '')} in session {session}",
        kind="message",
        session=session,
        created=event.time,
        line=event.seq,
    )


def _in_memory(data: bytes, path: str, kind: str) -> Body:
    from manusfs.memory.reading import Text

    return Body(
        lambda span: data[span.start : span.end],
        len(data),
        path,
        _title(data) or path,
        kind=kind if kind in ("note", "report") else "note",
        newlines=Text.of(data).newlines,
    )


def _title(data: bytes) -> str:
    """Return the first heading of a note."""
    for line in data[:4_000].decode("utf-8", "replace").splitlines():
        if line.startswith("#"):
            return line.strip("# \t")[:200]
    return ""
