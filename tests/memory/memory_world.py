"""A workspace for tests, with an extractor and a network that do as they are told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from manusfs.errors import ManusfsError, Unavailable
from manusfs.memory.workspace import Doors, Workspace
from manusfs.records import Extracted, Fetched, HttpMeta, Source

CLOCK = "2026-11-30T12:00:00Z"


class Plain:
    """Text is the bytes; HTML-like bytes get a reading view that differs from them; `calls` are counted."""

    def __init__(self) -> None:
        self.calls = 0
        self.version = 1

    def extract(self, raw: bytes, *, media_type: str, charset: str, name: str, source_url: str) -> Extracted:
        self.calls += 1
        if raw.startswith(b"<html>"):
            text = f"v{self.version} " + raw.decode("utf-8").replace("<html>", "").strip() + "\n"
            full = f"full: {text}"
            return Extracted("text/html", text, full, title="A page", extractor=f"test/{self.version}")
        if raw.startswith(b"\x89PNG"):
            return Extracted("image/png", "", extractor="test/1")
        return Extracted("text/plain", raw.decode("utf-8"), extractor="test/1")


class Net:
    """Answers by URL; a missing one cannot be reached."""

    def __init__(self) -> None:
        self.pages: dict[str, Fetched | ManusfsError] = {}
        self.asked: list[str] = []

    def put(self, url: str, raw: bytes, status: int = 200, complete: bool = True) -> Fetched:
        fetched = page(url, raw, status, complete)
        self.pages[url] = fetched
        return fetched

    def fetch(self, url: str) -> Fetched:
        self.asked.append(url)
        answer = self.pages.get(url, Unavailable(f"{url!r} could not be fetched"))
        if isinstance(answer, ManusfsError):
            raise answer
        return answer


def page(url: str, raw: bytes, status: int = 200, complete: bool = True) -> Fetched:
    return Fetched(Source.web(url), raw, "text/html", http=HttpMeta(status, url), complete=complete)


class World:
    """A workspace in a folder, its network, its extractor, and what was told."""

    def __init__(self, path: Path, make: Callable[..., Workspace] = Workspace.create) -> None:
        self.net = Net()
        self.extractor = Plain()
        self.told: list[str] = []
        doors = Doors(self.extractor, self.net, lambda: CLOCK)  # type: ignore[arg-type]
        self.workspace = make(path, told=self.told.append, doors=doors)

    def reopened(self) -> Workspace:
        """Return the same workspace as another process sees it."""
        return Workspace.open(self.path, doors=Doors(self.extractor, self.net, lambda: CLOCK))  # type: ignore[arg-type]

    @property
    def path(self) -> Path:
        return self.workspace.folder.path

    def store(self, url: str, raw: bytes) -> str:
        """Store a page and return its ref."""
        self.net.put(url, raw)
        added = self.workspace.add(url)
        assert not added.error
        return added.ref

    def files(self, ref: str) -> dict[str, Path]:
        """Return the files of an observation by name."""
        folder = self.path / self.workspace.observations.path(ref.removeprefix("obs:"))
        return {file.name: file for file in sorted(folder.iterdir())}
