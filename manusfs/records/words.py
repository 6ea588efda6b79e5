"""How a number of things is said."""

from __future__ import annotations

__all__ = ["counted"]


def counted(number: int, noun: str, many: str = "") -> str:
    """Return `number` and `noun`, in the plural (`many`, else with an s) unless it is one: "1 ref", "2,000 refs"."""
    return f"{number:,} {noun if number == 1 else many or noun + 's'}"
