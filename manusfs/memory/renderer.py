"""Turns the parts of a transcript back into what the model was shown, and proves that it is the same."""

from __future__ import annotations

import base64
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from manusfs.errors import Damaged, NotFound
from manusfs.memory.evidence import CITE
from manusfs.memory.evidence import blocks as evidence_blocks
from manusfs.memory.images import image_problem, image_type
from manusfs.memory.render import render
from manusfs.records import ImagePart, ObsRef, Part, TextPart, ViewPart, sha256_hex

if TYPE_CHECKING:
    from manusfs.messages import Block
    from manusfs.store import Observations

__all__ = ["Renderer"]

_CACHE_CHARS = 4_000_000
"""Rendered text that is kept: a few windows' worth."""


class Renderer:
    """Gives texts and content blocks of parts. What it returns is the same as when it was first shown, or Damaged."""

    def __init__(self, observations: Observations, mend: Callable[[ObsRef], bool] | None = None) -> None:
        """Read bodies from `observations`; `mend` is asked once to repair a body that is damaged or missing."""
        self._observations = observations
        self._mend = mend
        self._texts: OrderedDict[Part, str] = OrderedDict()
        self._chars = 0

    def text(self, part: Part) -> str:
        """Return the text of `part`; an image is told in words.

        Raises:
            Damaged: the stored bytes no longer give the text that was shown.
            NotFound: the observation is gone.
        """
        if isinstance(part, TextPart):
            return part.text
        if part in self._texts:
            self._texts.move_to_end(part)
            return self._texts[part]
        try:
            text = self._render(part)
        except (Damaged, NotFound):
            if self._mend is None or not self._mend(part.ref):
                raise
            text = self._render(part)
        self._keep(part, text)
        return text

    def blocks(self, parts: Sequence[Part]) -> list[Block]:
        """Return `parts` as content blocks of a request. An image that the API would refuse becomes its description."""
        return [block for part in parts for block in self._blocks(part)]

    def _blocks(self, part: Part) -> list[Block]:
        if isinstance(part, ViewPart) and part.form == "read" and CITE in dict(part.attributes):
            return evidence_blocks(part, self.text(part))
        return [self._block(part)]

    def _block(self, part: Part) -> Block:
        if isinstance(part, ImagePart):
            raw = self._observations.read(part.ref.id, "raw")
            if not image_problem(raw):
                data = base64.b64encode(raw).decode("ascii")
                return {"type": "image", "source": {"type": "base64", "media_type": image_type(raw), "data": data}}
        return {"type": "text", "text": self.text(part)}

    def _render(self, part: ViewPart | ImagePart) -> str:
        meta = self._observations.meta(part.ref.id)
        if isinstance(part, ImagePart):
            raw = self._observations.read(part.ref.id, "raw")
            why = image_problem(raw) or f"{part.media_type}, {len(raw)} bytes"
            stub = ViewPart("folded", part.ref)
            return f"{render(stub, meta, lambda span: b'')}\n[image not shown here: {why}]"
        text = render(part, meta, lambda span: self._observations.read(part.ref.id, part.ref.view, span))
        if part.sha256 and sha256_hex(text.encode("utf-8")) != part.sha256:
            raise Damaged(
                f"{part.ref} no longer gives the text that was shown: expected sha256 {part.sha256[:8]}",
                hint="run `manusfs verify`; the observation's metadata or its text was changed",
            )
        return text

    def _keep(self, part: Part, text: str) -> None:
        self._texts[part] = text
        self._chars += len(text)
        while self._chars > _CACHE_CHARS and len(self._texts) > 1:
            _, gone = self._texts.popitem(last=False)
            self._chars -= len(gone)
