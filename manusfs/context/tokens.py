"""How full the window is: what was billed last, and an estimate of what came since, corrected by the bills so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from manusfs.messages import Block, Usage
from manusfs.records import ImagePart, Part, TextPart, canonical
from manusfs.records.tokens import estimate

__all__ = ["Calibration", "Meter", "estimate", "estimate_block", "estimate_blocks", "estimate_part"]

_IMAGE = 1_600
_CALL_OVERHEAD = 12
_SEALED_CHARS_PER_TOKEN = 6
"""Signatures and redacted thinking are base64 of something encrypted: their own wording says nothing of their cost."""


def estimate_block(block: Block) -> int:
    """Return the estimated tokens of a content block, uncalibrated."""
    kind = block.get("type")
    if kind == "text" and isinstance(block.get("text"), str):
        return estimate(block["text"])
    if kind == "thinking" and isinstance(block.get("thinking"), str):
        return max(estimate(block["thinking"]), len(block.get("signature", "")) // _SEALED_CHARS_PER_TOKEN)
    if kind == "redacted_thinking":
        return len(block.get("data", "")) // _SEALED_CHARS_PER_TOKEN
    if kind == "tool_use" and isinstance(block.get("name"), str) and "input" in block:
        return _CALL_OVERHEAD + estimate(block["name"]) + estimate(canonical(block["input"]))
    if kind == "image":
        return _IMAGE
    if kind == "tool_result":
        content = block.get("content") or ()
        return _CALL_OVERHEAD + (estimate(content) if isinstance(content, str) else estimate_blocks(content))
    return estimate(canonical(block))


def estimate_blocks(blocks: Sequence[Block]) -> int:
    """Return the estimated tokens of `blocks` together."""
    return sum(map(estimate_block, blocks))


def estimate_part(part: Part) -> int:
    """Return the estimated tokens of a part as it is rendered, uncalibrated."""
    if isinstance(part, TextPart):
        return estimate(part.text)
    if isinstance(part, ImagePart):
        return part.tokens
    # A part that was never measured: two characters and a half a token, and the header round it.
    return part.tokens or 120 + sum(map(len, part.spans)) * 2 // 5


@dataclass(frozen=True, slots=True)
class Calibration:
    """A moving ratio of billed to estimated tokens, from the session's own usage; 1 before there is any."""

    real: float = 1_000.0
    estimated: float = 1_000.0
    model: str = ""

    _DECAY = 0.75
    _LEAST = 40

    @property
    def ratio(self) -> float:
        """What an estimate is to be multiplied by; held between 0.4 and 3."""
        return min(3.0, max(0.4, self.real / self.estimated))

    def observe(self, real: int, estimated: int, model: str) -> Calibration:
        """Return the calibration that has also seen `estimated` tokens billed as `real` by `model`.

        Too small a piece says nothing, nor does one that a provider shrank (old thinking that it no longer counts).
        Another model begins anew.
        """
        base = self if self.model in ("", model) else Calibration()
        if estimated < self._LEAST or real <= 0:
            return replace(base, model=model)
        kept = self._DECAY
        return Calibration(base.real * kept + real, base.estimated * kept + estimated, model)


@dataclass(frozen=True, slots=True)
class Meter:
    """The size of the next request: `billed` and what was added since. Estimates in it are uncalibrated."""

    calibration: Calibration = Calibration()
    estimated: int = 0
    """Of the whole request."""
    billed: int | None = None
    """Real tokens up to and with the last reply that was billed in this epoch."""
    before: int = 0
    """Estimate of what came after `billed` and before the reply that is not billed yet."""
    reply: int | None = None
    """Estimate of that reply."""
    after: int = 0
    """Estimate of what came after it."""
    expects: int | None = None
    """Billed output tokens of a reply whose message is yet to come."""

    @property
    def tokens(self) -> int:
        """The calibrated size of the next request."""
        ratio = self.calibration.ratio
        if self.billed is None:
            return round(self.estimated * ratio)
        return self.billed + round((self.before + (self.reply or 0) + self.after) * ratio)

    def opened(self, estimated: int) -> Meter:
        """Return the meter of a new epoch whose first request is estimated at `estimated` tokens."""
        return Meter(self.calibration, estimated)

    def grown(self, estimated: int) -> Meter:
        """Return the meter after something of the user's side joined the window."""
        grown = replace(self, estimated=self.estimated + estimated, expects=None)
        if self.reply is None:
            return replace(grown, before=self.before + estimated)
        return replace(grown, after=self.after + estimated)

    def replied(self, estimated: int) -> Meter:
        """Return the meter after an assistant turn."""
        total = self.estimated + estimated
        if self.expects is not None and self.billed is not None:
            return replace(self, estimated=total, billed=max(self.billed + self.expects, total // 2), expects=None)
        unbilled = self.before + (self.reply or 0) + self.after
        return replace(self, estimated=total, before=unbilled, reply=estimated, after=0)

    def bill(self, usage: Usage, model: str) -> Meter:
        """Return the meter after the bill of a request; it may come before or after the reply's message."""
        if not usage.window:
            return self
        asked = self.before if self.billed is not None else self.estimated - (self.reply or 0) - self.after
        real = usage.window - (self.billed or 0)
        output = usage.output_tokens if self.reply is not None else 0
        # A server that bills only what it did not cache would make a full window look empty.
        billed = max(usage.window + output, (self.estimated - self.after) // 2)
        return Meter(
            calibration=self.calibration.observe(real, asked, model),
            estimated=self.estimated,
            billed=billed,
            before=self.after,
            expects=usage.output_tokens if self.reply is None else None,
        )
