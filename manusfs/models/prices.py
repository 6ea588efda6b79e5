"""The offline price list: what a token of a model costs, and how large its window is."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

__all__ = ["Listed", "listed"]


@dataclass(frozen=True, slots=True)
class Listed:
    """What a list says of a model: tokens of its window, US dollars per million tokens; 0 where it does not say."""

    window: int
    input: float
    output: float
    cache_read: float
    cache_write: float


def listed(name: str) -> Listed | None:
    """Return what `genai-prices` says of the Anthropic model `name`, None when it does not know it.

    Of prices that depend on the size of the request the first tier is taken. Nothing is fetched.
    """
    from genai_prices import data_snapshot

    try:
        _, model = data_snapshot.get_snapshot().find_provider_model(name, None, "anthropic", None)
    except LookupError:
        return None
    prices = model.get_prices(datetime.now(UTC))
    read, written, cached, saved = (
        _base(getattr(prices, f"{kind}_mtok", None)) for kind in ("input", "output", "cache_read", "cache_write")
    )
    return Listed(model.context_window or 0, read, written, cached, saved)


def _base(price: Any) -> float:
    return float(getattr(price, "base", price) or 0)
