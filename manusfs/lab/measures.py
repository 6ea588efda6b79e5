"""What a replay found: sizes, cost, breaks of the prefix, and how far away was what the agent needed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from manusfs.lab.cost import Bill, Prices

__all__ = ["REACHES", "Measures", "Reach", "total"]

REACHES = ("visible", "read", "search", "reads", "lost")
"""Where a needed span was: in the request, one `read` of a ref in the request away, one `search` away, two `read`s away
(the first one brings a collapsed ledger, or the lines that a summary stands for), or nowhere."""


@dataclass(frozen=True, slots=True)
class Reach:
    """Needed spans, counted by where they were."""

    visible: int = 0
    read: int = 0
    search: int = 0
    reads: int = 0
    lost: int = 0

    @property
    def all(self) -> int:
        """How many spans were needed."""
        return sum(getattr(self, name) for name in REACHES)

    def plus(self, where: str) -> Reach:
        """Return the counts with one more span found at `where`."""
        return Reach(*(getattr(self, name) + (name == where) for name in REACHES))

    def __add__(self, other: Reach) -> Reach:
        return Reach(*(getattr(self, name) + getattr(other, name) for name in REACHES))


@dataclass(slots=True)
class Measures:
    """One policy on one run, or on many of them together."""

    policy: str
    requests: int = 0
    bill: Bill = field(default_factory=Bill)
    summaries: Bill = field(default_factory=Bill)
    """Of requests for summaries, beside `bill`."""
    peak: int = 0
    """Tokens of the largest request."""
    sum_input: int = 0
    extra_reads: int = 0
    epochs: int = 0
    """Requests that did not begin with the one before: prefix breaks."""
    invalid: int = 0
    """Thinking blocks that an edit of what was sent made invalid, if each reply began with one."""
    left_bytes: int = 0
    back_bytes: int = 0
    """Of those that left the window, how many come back exactly."""
    reach: Reach = field(default_factory=Reach)
    old: Reach = field(default_factory=Reach)
    """Of spans that first stood six results or more before."""
    searched: int = 0
    """Of the old spans that are in observations, those that one search shows among its first five hits."""
    first: int = 0
    """Of these, those for which a hit is where they first stood; others stand in several places."""
    searchable: int = 0
    runs: int = 1
    history: list[int] = field(default_factory=list)
    """Tokens of each request, for the plot."""

    @property
    def mean(self) -> float:
        """Mean tokens of a request."""
        return self.sum_input / self.requests if self.requests else 0.0

    def cost(self, prices: Prices) -> float:
        """Return the cost in units of one uncached input token, summaries and extra reads included."""
        return self.bill.cost(prices) + self.summaries.cost(prices)

    def sent(self, tokens: int, bill: Bill) -> None:
        """Take in one request."""
        self.requests += 1
        self.bill += bill
        self.sum_input += tokens
        self.peak = max(self.peak, tokens)
        self.history.append(tokens)

    def to_json(self, prices: Prices) -> dict[str, Any]:
        """Return the members that `replay --json` prints; shares are of all input tokens."""
        all_tokens = max(1, self.bill.input)
        return {
            "policy": self.policy,
            "runs": self.runs,
            "requests": self.requests,
            "peak_tokens": self.peak,
            "mean_tokens": round(self.mean),
            "input_tokens": self.sum_input,
            "read_share": round(self.bill.read / all_tokens, 4),
            "written_share": round(self.bill.written / all_tokens, 4),
            "uncached_share": round(self.bill.uncached / all_tokens, 4),
            "cost": round(self.cost(prices)),
            "summary_cost": round(self.summaries.cost(prices)),
            "extra_reads": self.extra_reads,
            "prefix_breaks": self.epochs,
            "thinking_invalid": self.invalid,
            "left_bytes": self.left_bytes,
            "back_bytes": self.back_bytes,
            "needs": {name: getattr(self.reach, name) for name in REACHES},
            "needs_old": {name: getattr(self.old, name) for name in REACHES},
            "search_top5": {"shown": self.searched, "where_first": self.first, "of": self.searchable},
        }


def total(policy: str, parts: Iterable[Measures]) -> Measures:
    """Return the sums of `parts`; the peak is the greatest."""
    whole = Measures(policy, runs=0)
    for part in parts:
        whole.requests += part.requests
        whole.bill += part.bill
        whole.summaries += part.summaries
        whole.peak = max(whole.peak, part.peak)
        for name in (
            "sum_input",
            "extra_reads",
            "epochs",
            "invalid",
            "left_bytes",
            "back_bytes",
            "searched",
            "first",
            "searchable",
            "runs",
        ):
            setattr(whole, name, getattr(whole, name) + getattr(part, name))
        whole.reach += part.reach
        whole.old += part.old
    return whole
