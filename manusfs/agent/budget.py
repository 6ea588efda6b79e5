"""Makes the results of one turn share what is left of the window: what does not fit is sent as a ref."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from manusfs.context import sent
from manusfs.memory import stubs
from manusfs.records import Event, ImagePart, MsgRef, ObsRef, Part, TextPart, ViewPart, part_from_json, part_to_json
from manusfs.records.tokens import estimate

if TYPE_CHECKING:
    from manusfs.memory import Intake, Taken

__all__ = ["TURN_PICTURES", "TURN_PICTURE_BYTES", "Offer", "few_pictures", "fit"]

TURN_PICTURES = 10
TURN_PICTURE_BYTES = 12 << 20
"""As base64."""
_FRAME_TOKENS = 12
"""What the result block costs round its text."""
_FEW_CHARS = 1_000


@dataclass(frozen=True, slots=True)
class Offer:
    """One result on its way into the window: its event, what it costs, and a smaller form if there is one."""

    event: Event
    tokens: int
    line: str = ""
    """One line for people."""
    details: dict[str, Any] = field(default_factory=dict)
    taken: Taken | None = None
    chars: int = 0
    """What it takes in characters."""
    smaller: tuple[Event, int] | None = None
    """The event of the smallest form of a new observation, and its tokens."""

    @property
    def saved_tokens(self) -> int:
        """Tokens of the observation that its stub keeps out of the window."""
        return max(0, self.taken.meta.tokens - self.tokens) if self.taken is not None else 0

    @classmethod
    def of_taken(cls, taken: Taken, call: str, intake: Intake) -> Offer:
        """Return the offer of a stored observation."""
        part, text = stubs.folded(taken.meta, ObsRef(taken.meta.id))
        small = replace(taken, part=part, text=text)
        details = {
            "ref": f"obs:{taken.meta.id}",
            "bytes": taken.meta.raw_size,
            "status": taken.status,
            "url": taken.meta.source.url,
            "title": taken.meta.title,
            "is_error": taken.is_error,
        }
        tokens = estimate(taken.notice) + estimate(taken.text) + _FRAME_TOKENS
        less = estimate(taken.notice) + estimate(text) + _FRAME_TOKENS
        caption, chars = taken.meta.title or taken.meta.source.key, len(taken.notice) + len(taken.text)
        offer = cls(intake.event(taken, call), tokens, caption, details, taken, chars)
        return replace(offer, smaller=(intake.event(small, call), less)) if less < tokens else offer

    @classmethod
    def of_event(cls, event: Event) -> Offer:
        """Return the offer of something shown."""
        parts = [part_from_json(part) for part in event.data["parts"]]
        texts = [part.text for part in parts if isinstance(part, TextPart)]
        tokens = _FRAME_TOKENS + sum(
            estimate(part.text) if isinstance(part, TextPart) else part.tokens for part in parts
        )
        first = _caption(texts[0]) if texts and texts[0] else " ".join(event.data["reads"])
        details = {"is_error": event.data["is_error"], "wrote": event.data["wrote"], "reads": event.data["reads"]}
        return cls(event, tokens, first, details, chars=sum(map(_chars, parts)))


def _chars(part: Part) -> int:
    if isinstance(part, TextPart):
        return len(part.text)
    return sum(map(len, part.spans)) if isinstance(part, ViewPart) else 0


def _caption(text: str) -> str:
    """Return the first line of a result for people; of a list of ours, what it is and how long."""
    line = text.splitlines()[0]
    match = re.match(r'<(\w+) (?:\w+="([^"]*)" )total="(\d+)"', line)
    if match:
        return f"{match[3]} {match[1]} for {match[2]}" if match[1] != "listing" else f"{match[3]} {match[2]}"
    if line == "<todo>":
        boxes = re.findall(r"^[-*] \[([ xX])\]", text, re.MULTILINE)
        return f"plan: {sum(box != ' ' for box in boxes)} of {len(boxes)} done"
    hint = text.splitlines()[1:2]
    if line.startswith("Error: ") and hint and hint[0].startswith("Try: "):
        return f"{line} ({hint[0].removeprefix('Try: ')})"
    return line


def fit(offers: Sequence[Offer], left: int, session: str, first_seq: int, chars: int = 0) -> list[Offer]:
    """Return `offers` so that together they cost at most `left` tokens, if that can be; the largest shrink first.

    With `chars` they take at most so many characters together, too (CC-18). One place cuts for both, and what it says
    of a result counts the result as it came, so that no cut hides another. `first_seq` is the transcript number that
    the first event will get: what is not sent is kept whole under its `msg:` ref.
    """
    fitted = list(offers)
    for at in sorted(range(len(fitted)), key=lambda i: -fitted[i].tokens):
        fits = sum(offer.tokens for offer in fitted) <= left
        if fits and not (chars and sum(offer.chars for offer in fitted) > chars):
            break
        # A short one of many makes no room for characters.
        if fits and fitted[at].chars <= _FEW_CHARS:
            continue
        fitted[at] = _smaller(fitted[at], str(MsgRef(session, first_seq + at)), left)
    return fitted


def few_pictures(offers: Sequence[Offer], session: str, first_seq: int) -> list[Offer]:
    """Return `offers` with no more pictures than one turn may bring: those beyond are named by their refs.

    The next epoch can carry what the model has not seen yet, and a request may hold only so much.
    """
    count, size, kept = 0, 0, list[Offer]()
    for at, offer in enumerate(offers):
        found = [part for part in sent(offer.event.data) if isinstance(part, ImagePart)]
        count, size = count + len(found), size + sum((part.size + 2) // 3 * 4 for part in found)
        if found and (count > TURN_PICTURES or size > TURN_PICTURE_BYTES):
            count, size = count - len(found), size - sum((part.size + 2) // 3 * 4 for part in found)
            offer = _unseen_picture(offer, str(MsgRef(session, first_seq + at)))
        kept.append(offer)
    return kept


def _unseen_picture(offer: Offer, ref: str) -> Offer:
    text = (
        f"NOT SENT: one turn may bring {TURN_PICTURES} pictures and {TURN_PICTURE_BYTES >> 20} MB of them. This one is "
        f"kept ({ref}); read it again in the next turn."
    )
    event = replace(offer.event, data={**offer.event.data, "sent": [part_to_json(TextPart(text))]})
    tokens = estimate(text) + _FRAME_TOKENS
    return replace(offer, event=event, tokens=tokens, chars=len(text), details={**offer.details, "sent": False})


def _smaller(offer: Offer, ref: str, left: int) -> Offer:
    if offer.smaller is not None:
        event, tokens = offer.smaller
        return replace(offer, event=event, tokens=tokens, chars=0, details={**offer.details, "folded": True})
    if offer.taken is not None:
        return offer
    reads = offer.event.data["reads"]
    also = f" It shows {', '.join(reads[:3])}." if reads else ""
    text = (
        f"NOT SENT: this result has about {offer.tokens} tokens, the context {max(0, left)} left for the results of "
        f'this turn.{also} It is kept whole: read(ref="{ref}") shows it, with `limit` in smaller pieces.'
    )
    tokens = estimate(text) + _FRAME_TOKENS
    if tokens >= offer.tokens:
        return offer
    event = replace(offer.event, data={**offer.event.data, "sent": [part_to_json(TextPart(text))]})
    return replace(offer, event=event, tokens=tokens, chars=len(text), details={**offer.details, "sent": False})
