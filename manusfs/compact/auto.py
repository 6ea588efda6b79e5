"""The policy that folds when it pays: when a new epoch costs less than carrying on what could be folded."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from manusfs.compact.moves import Fold, Move, span
from manusfs.compact.policy import Birth, Budget
from manusfs.context import Caps, Exchange, Item, Window, estimate, estimate_setup
from manusfs.workspace.settings import Settings

__all__ = ["Auto"]

_LINE = 34
"""Tokens of a ledger line."""
_STATEMENT = 30
"""Most tokens that a ledger keeps of the agent's own words in a turn."""
_CALL = 180
"""Most tokens by which a call is carried over; of a larger input, a file just written, only the head is."""
_LARGE_CALL = 400
_READ = 1_300
"""Tokens of a read of 4,000 characters."""
_STAYS = 5
"""Turns for which what was read stays in the window."""
_CACHE_S = 300.0
"""Seconds after which a prefix that was not used is no longer cached."""
_HEADER = 250
"""Tokens of a stub beside its preview: they name what was not read, which no fold can hide."""
_AT_ALL = 0.01
"""Share of the window below which not even an epoch that costs nothing is opened."""
_TELLING = 800
"""Tokens of a result from which on it is as likely as any to be needed again."""
_WIDE = 200_000
"""Tokens of a window beyond which shares of it grow no more: what it costs to carry a token does not depend on it."""


@dataclass(frozen=True, slots=True)
class Auto:
    """Opens an epoch when the prices of cached and written input say that it pays; see docs/compaction.md."""

    name: str = "auto"
    keep: int = 3
    """Newest turns that may stay in full; how many do is part of the decision."""
    rent: float = 1.0
    """An epoch is not opened before what it would fold has cost this many times its price."""
    hope: float = 0.25
    """Turns that are expected to come for each that has been."""
    again: float = 0.2
    """Chance that a large folded result is read again."""
    least: float = 0.11
    """Share of the window that an epoch has to free, unless it costs nothing: each one is felt by the agent."""
    worth: float = 1.5
    """Times what ledgers take that an epoch has to free, unless it costs nothing: else it would mostly write copies."""
    ledgers: float = 0.22
    """Share of the window that ledgers may take; beyond it the oldest collapse to one line each."""
    inline_chars: int = 5_000
    """Results up to this size are shown whole: one read brings back 4,000, and the stub before it takes 1,000."""
    preview_chars: int = 600
    """Of a larger result the stub shows this much."""
    user_chars: int = 400
    """Of the user's messages but the task and the newest ten an epoch repeats this much each."""

    @classmethod
    def of(cls, settings: Settings) -> Auto:
        """Return the policy with the figures of `settings`."""
        return cls(
            keep=max(1, settings.auto_keep),
            hope=settings.auto_hope,
            again=settings.auto_again,
            least=settings.auto_least,
            ledgers=settings.auto_ledgers,
            inline_chars=settings.auto_inline_chars,
            user_chars=settings.auto_user_chars,
        )

    def mark(self, budget: Budget) -> int:
        """Return the hard limit: size alone is no reason to fold."""
        return budget.limit

    def pays(self, window: Window, budget: Budget) -> bool:
        """Return True if a new epoch costs less than going on, by what the turns so far let expect."""
        return self._keep(window, budget) > 0

    def plan(self, window: Window, budget: Budget) -> list[Move]:
        """Return one fold of all turns before the cut into a ledger."""
        keep = self._keep(window, budget) or self.keep
        first = max(1, window.oldest_full)
        old = [exchange for exchange in window.exchanges(first) if exchange.turn <= window.turn - keep]
        moves: list[Move] = [Fold((span(old[0].first, old[-1].last),), "ledger")] if old else []
        return [*moves, *self._collapsed(window, budget, sum(map(_lines, old)))]

    def _collapsed(self, window: Window, budget: Budget, new: float) -> list[Move]:
        """Return one collapse for each of the oldest ledgers until the others fit their share.

        `new` are the tokens of the ledger that is being made.
        """
        full = [ledger for _, ledger in window.ledgers if ledger.form == "ledger"]
        room = self.ledgers * min(budget.window, _WIDE)
        over = _past(window) + new - room / window.meter.calibration.ratio
        moves: list[Move] = []
        for ledger in full:
            if over <= 0:
                break
            moves.append(Fold((span(ledger.first, ledger.last),), "collapsed"))
            over -= _size(ledger.lines)
        return moves

    def words(self, budget: Budget) -> Caps:
        """Return how much of the user's words an epoch repeats: they would be its largest part in a long dialogue."""
        return Caps(older_chars=self.user_chars, tokens=budget.window // 10)

    def birth(self, budget: Budget) -> Birth:
        """Return how large a new result may stand."""
        return Birth(self.inline_chars, self.preview_chars)

    def _keep(self, window: Window, budget: Budget) -> int:
        """Return how many of the newest turns stay in the epoch that pays most, 0 if none pays.

        All tokens are as estimated: the ratio to what is billed is the same in all that is compared.
        """
        since = len(window.turns) - 1
        if since < 1:
            return 0
        turns = list(window.exchanges(max(1, window.oldest_full)))
        newest = turns[-self.keep :]
        # What is cut of large inputs even where the turn is kept; of the last turn it would never be sent at all.
        cut = [sum(map(_cut_off, exchange.items)) for exchange in newest]
        unsent = sum(item.tokens for item in newest[-1].items) if newest else 0
        total = window.tokens / window.meter.calibration.ratio
        sent = total - estimate_setup(window.setup) - unsent
        write, read = budget.price_write, budget.price_read
        # What is no longer cached has to be written again, folded or not.
        kept_up = 0.0 if budget.idle_s >= _CACHE_S else write - read
        dropped = write if budget.idle_s >= _CACHE_S else read
        saved = rent = risk = 0.0
        best, found = 0.0, 0
        for at, exchange in enumerate(turns[:-1]):
            tokens = _saving(exchange)
            saved += tokens
            rent += tokens * min(window.turn - exchange.turn, since)
            risk += _risk(window, exchange)
            keep = len(turns) - 1 - at
            if keep > self.keep:
                continue
            large = sum(cut[-keep:-1])
            carried = max(0.0, sent - saved - large)
            price = kept_up * carried - dropped * (saved + large) - write * cut[-1]
            price += self.again * risk * (read * (total - saved) + (write + _STAYS * read) * _READ)
            gain = read * (saved + large + cut[-1]) * self.hope * window.turn - price
            freed = saved + large + (cut[-1] if price <= 0 else 0)
            pays = read * (rent + large) >= self.rent * price and gain > best
            if pays and freed >= self._least(window, budget, free=price <= 0):
                best, found = gain, keep
        return found

    def _least(self, window: Window, budget: Budget, *, free: bool) -> float:
        """Return the tokens that an epoch has to free; `free` is for one that costs nothing."""
        wide = min(budget.window, _WIDE)
        return _AT_ALL * wide if free else max(self.least * wide, self.worth * _past(window))


def _past(window: Window) -> float:
    """Return the tokens that the ledgers take which each epoch writes anew, line by line."""
    return sum(_size(ledger.lines) for _, ledger in window.ledgers if ledger.form == "ledger")


@lru_cache(maxsize=256)
def _size(lines: tuple[str, ...]) -> int:
    """Return the tokens of a ledger's lines, which are asked for at every turn."""
    return estimate("\n".join(lines))


def _saving(exchange: Exchange) -> float:
    """Return the tokens that a ledger frees of the turn."""
    full = sum(item.tokens for item in exchange.items if item.form == "full" and not item.fixed)
    return max(0.0, full - _lines(exchange))


def _lines(exchange: Exchange) -> float:
    """Return the tokens that the turn takes in a ledger."""
    full = [item for item in exchange.items if item.form == "full" and not item.fixed]
    words = sum(min(item.tokens, _STATEMENT) for item in full if item.kind == "text")
    return words + _LINE * sum(item.kind == "result" for item in full)


def _risk(window: Window, exchange: Exchange) -> float:
    """Return how many results the turn shows in full; a small one counts for its share, a stub for its preview."""
    risk = 0.0
    for item in exchange.items:
        if item.form == "full" and item.kind == "result":
            part = window.events[item.seq].data.get("part") or {}
            told = item.tokens - _HEADER if part.get("form") == "stub" else item.tokens
            risk += min(1.0, max(0, told) / _TELLING)
    return risk


def _cut_off(item: Item) -> int:
    return item.tokens - _CALL if item.kind == "call" and item.form == "full" and item.tokens > _LARGE_CALL else 0
