"""The extractors by name, each imported when it is first wanted."""

from __future__ import annotations

from functools import cache

from manusfs.registry import Entry, Registry

__all__ = ["EXTRACTORS", "foreign"]

EXTRACTORS = Registry(
    "extractors",
    (
        Entry("text", "manusfs.extract.text:Text"),
        Entry("image", "manusfs.extract.image:Image"),
        Entry("notebook", "manusfs.extract.notebook:Notebook"),
        Entry("html", "manusfs.extract.html:Html"),
        Entry("pdf", "manusfs.extract.pdf:Pdf"),
        Entry("gzip", "manusfs.extract.gzipped:Gzip"),
    ),
)
"""Third parties join through the entry point group `manusfs.extractors`, named by the media type that they read."""


@cache
def foreign() -> frozenset[str]:
    """Return the media types that installed packages of others read."""
    from importlib.metadata import entry_points

    return frozenset(point.name for point in entry_points(group="manusfs.extractors"))
