"""The tool by which the model sees what its context holds and costs."""

from __future__ import annotations

from manusfs.records import Shown, TextPart, escape
from manusfs.tools.env import ToolEnv
from manusfs.tools.schema import tool

__all__ = ["context_status"]


@tool
def context_status(env: ToolEnv) -> Shown:
    """Show how full your context is, what stubs save, and what is left of the run's limits.

    Useful before a long read, and to decide when to write notes. Nothing is lost when the context is compacted: every
    observation keeps its ref.
    """
    lines = "\n".join(f"{name}: {escape.field(str(value))}" for name, value in env.status().items())
    return Shown((TextPart(f'<listing of="context">\n{lines}\n</listing>'),))
