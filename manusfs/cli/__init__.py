"""The command line: the only place that reads the environment and the terminal."""

from __future__ import annotations

from manusfs.cli.main import main

__all__ = ["main"]
