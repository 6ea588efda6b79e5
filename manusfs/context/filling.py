"""What fills the window: its tokens by kind and by source, in sums that come to the window's own count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from manusfs.context.carried import pieces
from manusfs.context.items import Exchange, Item, ItemKind, Section, sent
from manusfs.context.ledger import Known
from manusfs.context.tokens import estimate_part
from manusfs.context.turns import estimate_setup
from manusfs.context.window import Window
from manusfs.messages.sendable import id_text
from manusfs.records import ImagePart, MsgRef, Part, TextPart, ViewPart

__all__ = ["KINDS", "Filling", "Kind", "Large", "Share", "filling"]

Kind = Literal[
    "system",
    "tools",
    "instructions",
    "user",
    "assistant",
    "thinking",
    "results",
    "stubs",
    "ledgers",
    "summaries",
    "to-do",
    "notices",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
_SAID: Mapping[ItemKind, Kind] = {
    "date": "instructions",
    "instructions": "instructions",
    "user": "user",
    "todo": "to-do",
    "recite": "to-do",
    "text": "assistant",
    "call": "assistant",
    "other": "assistant",
    "thinking": "thinking",
    "changed": "notices",
}
_LARGEST = 10


@dataclass(frozen=True, slots=True)
class Share:
    """Tokens of one kind, of results and stubs also of one host or tool."""

    kind: Kind
    source: str
    """Unescaped; "" where the kind says all."""
    tokens: int


@dataclass(frozen=True, slots=True)
class Large:
    """One of the largest blocks of the window."""

    ref: str
    kind: Kind
    source: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Filling:
    """The window by kind and source, largest first within a kind; `tokens` is their sum and the window's count."""

    tokens: int
    shares: tuple[Share, ...]
    largest: tuple[Large, ...]

    def by_kind(self) -> dict[Kind, int]:
        """Return the tokens of each kind that is there, in fixed order."""
        counts = Counter[Kind]()
        for share in self.shares:
            counts[share.kind] += share.tokens
        return {kind: counts[kind] for kind in KINDS if counts[kind]}

    def to_json(self) -> dict[str, Any]:
        """Return the filling as the command line prints it."""
        return {
            "tokens": self.tokens,
            "by_kind": dict(self.by_kind()),
            "by_source": [{"kind": s.kind, "source": s.source, "tokens": s.tokens} for s in self.shares],
            "largest": [
                {"ref": one.ref, "kind": one.kind, "source": one.source, "tokens": one.tokens} for one in self.largest
            ],
        }


Place = tuple[Kind, str]


def filling(window: Window) -> Filling:
    """Return what fills `window`: estimates of its parts, brought to the window's count, to which bills belong."""
    counts = Counter[Place]()
    counts["system", ""] = sum(estimate_part(TextPart(str(block.get("text", "")))) for block in window.setup.system)
    counts["tools", ""] = estimate_setup(window.setup) - counts["system", ""]
    for section in window.opening:
        if section.label not in ("turn", "stub"):
            counts[_opened(window, section)] += estimate_part(section.part)
    large: list[tuple[int, Item, Place]] = []
    for exchange in window.exchanges():
        for item, place, tokens in _stands(window, exchange):
            counts[place] += tokens
            if item is not None and place[0] in ("results", "assistant", "thinking"):
                large.append((tokens, item, place))
    ratio = window.tokens / (sum(counts.values()) or 1)
    large.sort(key=lambda one: (-one[0], one[1].key))
    largest = [
        Large(str(MsgRef(window.session, item.seq, item.block)), *place, round(tokens * ratio))
        for tokens, item, place in large[:_LARGEST]
    ]
    return Filling(window.tokens, _scaled(counts, window.tokens), tuple(largest))


def _stands(window: Window, exchange: Exchange) -> Iterator[tuple[Item | None, Place, int]]:
    """Yield what the window shows of a turn: carried into the epoch, or sent in it."""
    paired = any(first == exchange.first for first, _ in window.pairs)
    before = () if paired else tuple(item for item in exchange.items if item.seq < window.epoch_seq)
    names = _tool_names(window, exchange)
    if before:
        frame: Place | None = None
        carried = pieces(window, Exchange(exchange.turn, before))
        found = [(item, part, _place(window, item, part, names) if item else None) for item, part in carried]
        frame = next((place for _, _, place in found if place is not None), ("assistant", ""))
        for item, part, place in found:
            yield item, place or frame, estimate_part(part)
    for item in exchange.items:
        if item.seq > window.epoch_seq or (paired and item.kind not in ("user", "thinking", "recite")):
            yield item, _place(window, item, _part(window, item), names), item.tokens


def _opened(window: Window, section: Section) -> Place:
    if section.label == "ledger":
        text = section.part.text if isinstance(section.part, TextPart) else ""
        return ("summaries" if text.startswith("<summary") else "ledgers"), ""
    if section.label == "source":
        if isinstance(section.part, TextPart):
            return "user", ""
        return _kind_of(section.part), _where(window, section.part, "")
    kinds: dict[str, Kind] = {"user": "user", "todo": "to-do"}
    return kinds.get(section.label, "instructions"), ""


def _place(window: Window, item: Item, part: Part | None, names: Mapping[str, str]) -> Place:
    if item.kind not in ("result", "source"):
        return _SAID[item.kind], ""
    original = _part(window, item)
    call = id_text(window.events[item.seq].data.get("call"))
    where = _where(window, original, names.get(call, "") or "user")
    folded = item.form == "stub" or (isinstance(original, ImagePart) and isinstance(part, TextPart))
    return ("stubs" if folded else _kind_of(original)), where


def _kind_of(part: Part | None) -> Kind:
    return "stubs" if isinstance(part, ViewPart) and part.form in ("stub", "folded") else "results"


def _where(window: Window, part: Part | None, tool: str) -> str:
    if isinstance(part, ViewPart | ImagePart):
        return (window.seen.known.get(part.ref.id) or Known(part.ref.id)).where
    return tool


def _part(window: Window, item: Item) -> Part | None:
    if item.kind not in ("result", "source"):
        return None
    data = window.events[item.seq].data
    if "opening" in data:
        return Section.of(data["opening"][item.block]).part
    parts = sent(data)
    return parts[item.block] if item.block < len(parts) else None


def _tool_names(window: Window, exchange: Exchange) -> dict[str, str]:
    blocks = [window.events[item.seq].data["content"][item.block] for item in exchange.items if item.kind == "call"]
    return {id_text(block.get("id")): str(block.get("name")) for block in blocks}


def _scaled(counts: Mapping[Place, int], total: int) -> tuple[Share, ...]:
    """Return `counts` so that they come to `total` exactly: what rounding leaves goes to the largest remainders."""
    places = sorted((place for place in counts if counts[place] > 0), key=lambda p: (KINDS.index(p[0]), -counts[p], p))
    whole = sum(counts[place] for place in places)
    if not whole:
        return ()
    shares = {place: counts[place] * total // whole for place in places}
    left = total - sum(shares.values())
    for place in sorted(places, key=lambda p: -(counts[p] * total % whole))[:left]:
        shares[place] += 1
    return tuple(Share(kind, source, shares[kind, source]) for kind, source in places)
