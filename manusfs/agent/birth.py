"""How large new results may stand: as the settings say, or as the policy of another system has it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from manusfs.agent.running import Running
from manusfs.compact import birth
from manusfs.memory import stubs

if TYPE_CHECKING:
    from manusfs.memory.stubs import StubLimits

__all__ = ["most_chars", "stub_limits"]


def stub_limits(run: Running) -> StubLimits | None:
    """Return what a new observation may show under the policy; None: as the settings say."""
    born = birth(run.policy, run.budget)
    if born is None:
        return None
    usual = stubs.StubLimits.of(run.settings)
    return replace(
        usual,
        inline_chars=born.inline_chars,
        preview_chars=born.preview_chars,
        tail_chars=born.tail_chars,
        read_chars=max(usual.read_chars, born.preview_chars),
    )


def most_chars(run: Running) -> int:
    """Return the characters that all results of a turn may take together; 0: only the window limits them."""
    born = birth(run.policy, run.budget)
    return (born.message_chars if born is not None else 0) or run.settings.message_chars
