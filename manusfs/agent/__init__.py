"""The agent: the loop over a model, its tools, its limits, and the report at its end."""

from manusfs.agent.agent import Access, Agent
from manusfs.agent.by_hand import Changed, Compaction, compact_session, compactions, undo_compaction
from manusfs.agent.events import AgentEvent, AgentEventKind, OnEvent
from manusfs.agent.interrupt import Interrupt, Stop
from manusfs.agent.result import EXIT_CODES, Citations, Result

__all__ = [
    "EXIT_CODES",
    "Access",
    "Agent",
    "AgentEvent",
    "AgentEventKind",
    "Changed",
    "Citations",
    "Compaction",
    "Interrupt",
    "OnEvent",
    "Result",
    "Stop",
    "compact_session",
    "compactions",
    "undo_compaction",
]
