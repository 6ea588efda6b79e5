"""Text from bytes: what they are, in which charset, and the views that people and models read."""

from manusfs.extract.extractor import Extractor, extract
from manusfs.extract.formats import EXTRACTORS
from manusfs.extract.job import FormatExtractor, Job, Limits, Page
from manusfs.extract.sniff import Sniffed, sniff

__all__ = ["EXTRACTORS", "Extractor", "FormatExtractor", "Job", "Limits", "Page", "Sniffed", "extract", "sniff"]
