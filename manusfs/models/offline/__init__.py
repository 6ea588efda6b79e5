"""The embedded default: a deterministic, extractive researcher. No key, no network, no language model."""

from manusfs.models.offline.model import OfflineModel

__all__ = ["OfflineModel"]
