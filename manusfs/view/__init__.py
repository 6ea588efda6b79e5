"""Sessions as people look at them."""

from manusfs.view.steps import open_calls, request_at, totals, window_at
from manusfs.view.timeline import Entry, timeline
from manusfs.view.tree import Branch, tree

__all__ = ["Branch", "Entry", "open_calls", "request_at", "timeline", "totals", "tree", "window_at"]
