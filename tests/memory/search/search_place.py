"""A real workspace with search over it, for the tests of this folder."""

from __future__ import annotations

from pathlib import Path

from manusfs.memory.search import Search
from manusfs.records import Event, HttpMeta, Meta, Source
from manusfs.session import Transcript
from manusfs.store import Draft, Index, Observations
from manusfs.workspace import Folder


class Place:
    """A new workspace; `said` collects what search tells the person."""

    def __init__(self, path: Path, *, existing: bool = False) -> None:
        self.folder = Folder.open(path) if existing else Folder.create(path)
        self.index = Index(self.folder)
        self.observations = Observations(self.folder)
        self.said: list[str] = []
        self.search = Search(self.observations, self.index, self.folder, self.said.append)

    def put(self, text: str, name: str = "page", *, url: str = "", title: str = "", full: str | None = None) -> Meta:
        """Commit a text as an observation, without telling the index."""
        texts = {"text": text.encode()} | ({} if full is None else {"full": full.encode()})
        source = Source.web(url) if url else Source.user(name)
        http = HttpMeta(200, url) if url else None
        draft = Draft(source, text.encode(), "txt", texts, title=title, http=http, created="2026-01-02T03:04:05Z")
        (done,) = self.observations.commit([self.observations.stage(draft)])
        return done.meta

    def add(self, text: str, name: str = "page", *, url: str = "", title: str = "", full: str | None = None) -> Meta:
        """Commit a text and index it."""
        meta = self.put(text, name, url=url, title=title, full=full)
        self.search.add(meta, self.index.next_order())
        return meta

    def say(self, *texts: str, role: str = "user") -> str:
        """Write messages into a new session and return its name."""
        with Transcript.create(self.folder) as transcript:
            for text in texts:
                content = [{"type": "text", "text": text}]
                transcript.append([Event("message", {"role": role, "content": content})])
            return transcript.session

    def texts(self, query: str, **options: object) -> list[str]:
        """Return the snippets of a query."""
        return [hit.snippet for hit in self.search.search(query, **options)]  # type: ignore[arg-type]

    def close(self) -> None:
        """Let go of it."""
        self.index.close()
        self.folder.close()
