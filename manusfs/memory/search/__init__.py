"""Finding things again: ranked search, grep and listings over everything that the workspace ever saw."""

from manusfs.memory.search.grep import Match, Matches
from manusfs.memory.search.hits import Hit, Hits
from manusfs.memory.search.listing import Listing
from manusfs.memory.search.passages import passages
from manusfs.memory.search.reorder import Scorer
from manusfs.memory.search.search import Search

__all__ = ["Hit", "Hits", "Listing", "Match", "Matches", "Scorer", "Search", "passages"]
