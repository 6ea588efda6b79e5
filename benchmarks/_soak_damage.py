"""What the soak does to a workspace that nobody has open: to its index, its transcripts and its bodies."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

__all__ = ["BODY", "DERIVED", "TAIL", "damage"]


def damage(folder: Path, kind: str, dice: random.Random) -> str:
    """Do the damage called `kind` and return what was hit, "" when there was nothing to hit."""
    targets = {
        **dict.fromkeys(DERIVED, folder / ".manusfs/index.db"),
        **dict.fromkeys(TAIL, max(folder.glob("sessions/*/transcript.jsonl"), default=None, key=_age)),
    }
    target = targets[kind] if kind in targets else _body(folder, dice)
    if target is None or not target.exists() or not target.stat().st_size:
        return ""
    {**DERIVED, **TAIL, **BODY}[kind](target, dice)
    return target.relative_to(folder).as_posix()


def _age(path: Path) -> float:
    return path.stat().st_mtime


def _body(folder: Path, dice: random.Random) -> Path | None:
    bodies = [p for p in folder.glob("observations/**/*") if p.is_file() and p.name != "meta.json"]
    return dice.choice(sorted(bodies)) if bodies else None


def _flip(path: Path, dice: random.Random) -> None:
    data = bytearray(path.read_bytes())
    data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    path.write_bytes(data)


def _cut(path: Path, dice: random.Random) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: dice.randrange(len(data))])


def _zero(path: Path, dice: random.Random) -> None:
    data = path.read_bytes()
    at = dice.randrange(len(data))
    path.write_bytes(data[:at] + bytes(len(data[at : at + 4096])) + data[at + 4096 :])


def _swap(path: Path, dice: random.Random) -> None:
    del dice
    path.write_bytes(path.read_bytes()[::-1])


def _gone(path: Path, dice: random.Random) -> None:
    del dice
    path.unlink()


def _all_derived(path: Path, dice: random.Random) -> None:
    del dice
    shutil.rmtree(path.parent)


def _foreign(path: Path, dice: random.Random) -> None:
    path.write_bytes(b"SQLite format 3\0" + dice.randbytes(5_000))


def _stale(path: Path, dice: random.Random) -> None:
    path.with_name("index.db-wal").write_bytes(dice.randbytes(40_000))


def _append(data: Callable[[bytes], bytes]) -> Callable[[Path, random.Random], None]:
    def act(path: Path, dice: random.Random) -> None:
        whole = path.read_bytes()
        last = whole.rstrip(b"\n").rpartition(b"\n")[2]
        with path.open("ab") as file:
            file.write(data(last[: dice.randrange(1, len(last))]))

    return act


DERIVED: dict[str, Callable[[Path, random.Random], None]] = {
    "index: a bit flipped": _flip,
    "index: cut": _cut,
    "index: a page of zeros": _zero,
    "index: deleted": _gone,
    "index: another file": _foreign,
    "index: a stale log beside it": _stale,
    "all that is derived: deleted": _all_derived,
}
TAIL: dict[str, Callable[[Path, random.Random], None]] = {
    "transcript: half a line at its end": _append(lambda half: half),
    "transcript: zeros at its end": _append(lambda half: bytes(len(half))),
    "transcript: rubbish in a line of its own": _append(lambda half: half + b"\n"),
}
BODY: dict[str, Callable[[Path, random.Random], None]] = {
    "body: a bit flipped": _flip,
    "body: cut": _cut,
    "body: zeros": _zero,
    "body: other bytes": _swap,
}
