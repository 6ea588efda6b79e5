"""The tool by which the model sees what its context holds, and says what the next compaction is to fold or to keep."""

from __future__ import annotations

from typing import Any, cast

from manusfs.errors import ManusfsError, ToolError
from manusfs.records import Part, Ref, Shown, TextPart, counted, escape
from manusfs.tools.env import ToolEnv
from manusfs.tools.read import read
from manusfs.tools.schema import tool

__all__ = ["context_status"]

_MOST = 20
"""Refs in one call."""
_FOLDED_TOKENS = 50
"""What a folded block leaves."""


@tool
def context_status(env: ToolEnv, fold: list[str] | None = None, bring_back: list[str] | None = None) -> Shown:
    """Show how full your context is, what stubs save, what is left of the limits; fold or bring back parts of it.

    Useful before a long read, and to decide when to write notes. Nothing is lost when the context is compacted: every
    observation keeps its ref.

    Args:
        fold: Refs (obs:ID, msg:…) that you are done with. At the next compaction they leave the context whatever their
            age; until then nothing changes. The answer says what that will save, and when.
        bring_back: Refs whose text you need before you in full. It is shown now, as by read, and stays in full over the
            next compaction as far as there is room.
    """
    if len(fold or ()) + len(bring_back or ()) > _MOST:
        raise ToolError(f"more than {_MOST} refs in one call", hint="name those that matter most")
    told = _Told()
    for ref in fold or ():
        _fold(env, ref, told)
    share = _Share(env, len(bring_back or ()))
    for ref in bring_back or ():
        _bring_back(env, share, ref, told)
    lines = [f"{name}: {escape.field(str(value))}" for name, value in env.status().items()] + told.lines
    text = "\n".join(lines)
    parts = (TextPart(f'<listing of="context">\n{text}\n</listing>'), *told.parts)
    return Shown(parts, details=told.details())


class _Told:
    """What the answer says, and what stands in its event."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.parts: list[Part] = []
        self.reads: list[str] = []
        self.folds: list[str] = []
        self.keeps: list[str] = []

    def details(self) -> dict[str, Any]:
        """Return the members of the event that `context` goes by."""
        pins = list(range(1, 1 + len(self.parts)))
        known = {"reads": self.reads, "folds": self.folds, "keeps": self.keeps, "pins": pins}
        return {name: value for name, value in known.items() if value}


class _Share:
    """The environment of one of several reads: each may show its share of what is left."""

    def __init__(self, env: ToolEnv, shares: int) -> None:
        self._env = env
        self._shares = max(1, shares)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._env, name)

    def window_left(self) -> int:
        """Return the tokens that this read may show."""
        return self._env.window_left() // self._shares


def _fold(env: ToolEnv, ref: str, told: _Told) -> None:
    name = escape.field(ref, 200)
    found = _parsed(env, ref)
    blocks = env.in_full(found) if found is not None else ()
    if not blocks:
        told.lines.append(f"fold {name}: nothing of it stands in full in the context")
        return
    told.folds += [block for block, _ in blocks]
    saved = sum(max(0, tokens - _FOLDED_TOKENS) for _, tokens in blocks)
    told.lines.append(
        f"fold {name}: {counted(len(blocks), 'block')}, saves about {saved:,} tokens from the next compaction on"
    )


def _bring_back(env: ToolEnv, share: _Share, ref: str, told: _Told) -> None:
    name = escape.field(ref, 200)
    try:
        shown = read.run(cast(ToolEnv, share), ref=ref)
    except (ManusfsError, ToolError) as error:
        hint = getattr(error, "hint", "")
        told.lines.append(
            f"bring back {name}: {escape.field(str(error), 300)}{f' ({escape.field(hint)})' if hint else ''}"
        )
        return
    if not isinstance(shown, Shown):
        return
    if "standing" not in shown.details:
        told.parts += shown.parts
        told.reads += shown.details.get("reads", ())
        told.lines.append(f"bring back {name}: shown below, kept in full over the next compaction if there is room")
        return
    found = _parsed(env, ref)
    blocks = env.in_full(found, read=True) if found is not None else ()
    told.keeps += [block for block, _ in blocks]
    where = shown.details["standing"]
    told.lines.append(f"bring back {name}: it stands above in full ({where}) and is kept over the next compaction")


def _parsed(env: ToolEnv, ref: str) -> Ref | None:
    try:
        return env.workspace.resolver.parse(ref)
    except ManusfsError:
        return None
