"""Sessions as people look at them."""

from manusfs.view.steps import request_at, totals
from manusfs.view.timeline import Entry, timeline

__all__ = ["Entry", "request_at", "timeline", "totals"]
