"""Sessions as people look at them."""

from manusfs.view.steps import open_calls, request_at, totals, window_at
from manusfs.view.timeline import Entry, timeline

__all__ = ["Entry", "open_calls", "request_at", "timeline", "totals", "window_at"]
