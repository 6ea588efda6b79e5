"""Sessions as people look at them."""

from manusfs.view.timeline import Entry, timeline

__all__ = ["Entry", "timeline"]
