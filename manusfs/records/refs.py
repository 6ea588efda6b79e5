"""Addresses: what a ref is, how it is written, and how it is read back."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from manusfs.errors import BadRef

__all__ = ["MsgRef", "ObsRef", "PathRef", "Ref", "Span", "parse_ref"]

_OBS = re.compile(r"obs:([0-9a-f]{12,64})(?:/(text|full|raw))?(?:@(\d{1,18})-(\d{1,18}))?\Z")
_MSG = re.compile(r"msg:([A-Za-z0-9.-]{1,80}):(\d{1,12})(?:\.(\d{1,9}))?(?:-(\d{1,12}))?(?:@(\d{1,18})-(\d{1,18}))?\Z")
_FOLDER = re.compile(r"observations/(?:[^/]+/)*[^/]*-([0-9a-f]{12,64})/([^/]+)\Z")
_VIEW_FILES = {"text.md": "text", "full.md": "full"}


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A half-open range of bytes, `start-end`, of a view's UTF-8."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end:
            raise BadRef(
                f"not a span: {self.start}-{self.end}", hint="a span is start-end in bytes, start not above end"
            )

    def __str__(self) -> str:
        return f"{self.start}-{self.end}"

    def __len__(self) -> int:
        return self.end - self.start

    def holds(self, other: Span) -> bool:
        """Return True if `other` lies wholly inside this span."""
        return self.start <= other.start and other.end <= self.end


@dataclass(frozen=True, slots=True)
class ObsRef:
    """A view of an observation, or a span of one: `obs:<id>[/full|/raw][@<start>-<end>]`."""

    id: str
    view: str = "text"
    span: Span | None = None

    def __str__(self) -> str:
        view = "" if self.view == "text" else f"/{self.view}"
        return f"obs:{self.id}{view}{'' if self.span is None else f'@{self.span}'}"

    @property
    def whole(self) -> ObsRef:
        """The same view without a span."""
        return replace(self, span=None)


@dataclass(frozen=True, slots=True)
class MsgRef:
    """A transcript block or range: `msg:<session>:<seq>[.<block>][-<seq>][@<start>-<end>]`."""

    session: str
    seq: int
    block: int | None = None
    last_seq: int | None = None
    span: Span | None = None

    def __str__(self) -> str:
        block = "" if self.block is None else f".{self.block}"
        last = "" if self.last_seq is None else f"-{self.last_seq}"
        return f"msg:{self.session}:{self.seq}{block}{last}{'' if self.span is None else f'@{self.span}'}"


@dataclass(frozen=True, slots=True)
class PathRef:
    """A file of the workspace as it is now; its path is relative and uses `/`."""

    path: str

    def __str__(self) -> str:
        return self.path


Ref = ObsRef | MsgRef | PathRef


def parse_ref(text: str) -> Ref:
    """Return the ref that `text` writes; anything without a known prefix is a workspace path.

    The path of a view (`observations/…-<id>/text.md`) is its `obs:` ref. A path is not checked here: whoever
    opens it does, component by component.

    Raises:
        BadRef: `text` begins like a ref and is none, or is empty.
    """
    text = text.strip()
    if match := _OBS.match(text):
        return ObsRef(match[1], match[2] or "text", _span(match[3], match[4]))
    if match := _MSG.match(text):
        last = None if match[4] is None else int(match[4])
        block = None if match[3] is None else int(match[3])
        return MsgRef(match[1], int(match[2]), block, last, _span(match[5], match[6]))
    if not text or text.startswith(("obs:", "msg:")):
        raise BadRef(f"not a ref: {text!r}", hint="refs look like obs:3f9c21ab77de@0-580 or msg:20261130-ab12:7")
    path = text.removeprefix("./")
    if match := _FOLDER.match(path):
        view = _VIEW_FILES.get(match[2]) or ("raw" if match[2].startswith("raw.") else None)
        if view is not None:
            return ObsRef(match[1], view)
    return PathRef(path)


def _span(start: str | None, end: str | None) -> Span | None:
    return None if start is None or end is None else Span(int(start), int(end))
