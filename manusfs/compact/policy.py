"""What a compaction policy is, what it is told of the budget, and which there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from manusfs.compact.moves import Move
from manusfs.context import Caps, Window
from manusfs.messages import Profile
from manusfs.registry import Entry, Registry
from manusfs.workspace.settings import Settings

__all__ = ["Birth", "Budget", "Policy", "birth", "load_policy", "pays", "policy_names", "words"]


@dataclass(frozen=True, slots=True)
class Budget:
    """The tokens that a request may take."""

    window: int
    """Of the model."""
    reserve: int
    """Kept for the reply and for the estimate's error."""
    idle_s: float = 0.0
    """Seconds since the model was asked last: after some minutes the provider's cache is gone."""
    price_write: float = 1.25
    """Of an input token that is written to the cache, in units of one that is not cached."""
    price_read: float = 0.1
    """Of one that is read from it."""

    @classmethod
    def of(cls, profile: Profile, max_tokens: int, idle_s: float = 0.0) -> Budget:
        """Return the budget for a model's window: the reserve is `max_tokens` and 5 % of the window."""
        reserve = max_tokens + profile.window // 20
        if not profile.caches:
            return cls(profile.window, reserve, idle_s, 1.0, 1.0)
        if not (profile.price_input and profile.price_cache_read):
            return cls(profile.window, reserve, idle_s)
        write, read = profile.price_cache_write or profile.price_input, profile.price_cache_read
        return cls(profile.window, reserve, idle_s, write / profile.price_input, read / profile.price_input)

    @property
    def limit(self) -> int:
        """The most tokens of a request, never negative."""
        return max(0, self.window - self.reserve)


@dataclass(frozen=True, slots=True)
class Birth:
    """How large results may stand when they are new. In characters."""

    inline_chars: int
    """Up to this size a result stands whole."""
    preview_chars: int
    """What a larger one shows."""
    message_chars: int = 0
    """All results of one turn together; 0: as the settings say."""
    tail_chars: int = 0
    """Of what a larger one shows, this much from its end where that looks important."""


class Policy(Protocol):
    """Decides when to compact and what to fold. It looks and proposes; it writes nothing and reads no clock.

    Four more methods are looked for: `of(settings)`, a class method, which makes it with its figures,
    `birth(budget)`, a `Birth`, for a policy with its own mind on how large new results may stand, `words(budget)`, the
    `Caps` of the user's words that an epoch repeats, and `pays(window, budget)`, True when an epoch should open below
    the mark.
    """

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
        Entry("auto", "manusfs.compact.auto:Auto"),
        Entry("claude-code", "manusfs.compact.claude_code:ClaudeCode"),
        Entry("gemini-cli", "manusfs.compact.gemini_cli:GeminiCli"),
        Entry("openclaw", "manusfs.compact.openclaw:OpenClaw"),
        Entry("none", "manusfs.compact.none:NoPolicy"),
    ),
)


def policy_names() -> tuple[str, ...]:
    """Return the names of our own policies."""
    return _POLICIES.names()


def load_policy(name: str, settings: Settings | None = None) -> Policy:
    """Return the policy called `name`, ours or one of an entry point in the group `manusfs.policies`.

    With `settings` it has the figures that these give it.

    Raises:
        UsageError: there is none of that name.
    """
    kind = _POLICIES.load(name)
    make = getattr(kind, "of", None)
    policy: Policy = make(settings) if make is not None and settings is not None else kind()
    return policy


def pays(policy: Policy, window: Window, budget: Budget) -> bool:
    """Return True if `policy` wants an epoch now, whatever its mark says."""
    wants = getattr(policy, "pays", None)
    return wants is not None and bool(wants(window, budget))


def words(policy: Policy, budget: Budget) -> Caps | None:
    """Return how much of the user's words an epoch repeats under `policy`; None: as the compactor does by itself."""
    make = getattr(policy, "words", None)
    made: Caps | None = make(budget) if make is not None else None
    return made


def birth(policy: Policy, budget: Budget) -> Birth | None:
    """Return how large new results may stand under `policy`; None: as the settings say."""
    make = getattr(policy, "birth", None)
    made: Birth | None = make(budget) if make is not None else None
    return made
