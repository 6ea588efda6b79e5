"""What a compaction policy is, what it is told of the budget, and which there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from manusfs.compact.moves import Move
from manusfs.context import Window
from manusfs.messages import Profile
from manusfs.registry import Entry, Registry

__all__ = ["Budget", "Policy", "load_policy", "policy_names"]


@dataclass(frozen=True, slots=True)
class Budget:
    """The tokens that a request may take."""

    window: int
    """Of the model."""
    reserve: int
    """Kept for the reply and for the estimate's error."""

    @classmethod
    def of(cls, profile: Profile, max_tokens: int) -> Budget:
        """Return the budget for a model's window: the reserve is `max_tokens` and 5 % of the window."""
        return cls(profile.window, max_tokens + profile.window // 20)

    @property
    def limit(self) -> int:
        """The most tokens of a request, never negative."""
        return max(0, self.window - self.reserve)


class Policy(Protocol):
    """Decides when to compact and what to fold. It looks and proposes; it writes nothing and reads no clock."""

    name: str

    def mark(self, budget: Budget) -> int:
        """Return the size of the window, in tokens, at which to compact; above `budget.limit` means never by itself."""
        ...

    def plan(self, window: Window, budget: Budget) -> list[Move]:
        """Return the moves to make first. The compactor goes on by itself when they free too little."""
        ...


_POLICIES = Registry(
    "policies",
    (
        Entry("manus", "manusfs.compact.manus:Manus"),
        Entry("none", "manusfs.compact.none:NoPolicy"),
    ),
)


def policy_names() -> tuple[str, ...]:
    """Return the names of our own policies."""
    return _POLICIES.names()


def load_policy(name: str) -> Policy:
    """Return the policy called `name`, ours or one of an entry point in the group `manusfs.policies`.

    Raises:
        UsageError: there is none of that name.
    """
    policy: Policy = _POLICIES.load(name)()
    return policy
