"""The version of manusfs, where every floor may read it."""

__version__ = "0.1.0"
__all__ = ["__version__"]
