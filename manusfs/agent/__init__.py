"""The agent: the loop over a model, its tools, its limits, and the report at its end."""

from manusfs.agent.agent import Access, Agent
from manusfs.agent.events import AgentEvent, AgentEventKind, OnEvent
from manusfs.agent.interrupt import Interrupt, Stop
from manusfs.agent.result import EXIT_CODES, Citations, Result

__all__ = [
    "EXIT_CODES",
    "Access",
    "Agent",
    "AgentEvent",
    "AgentEventKind",
    "Citations",
    "Interrupt",
    "OnEvent",
    "Result",
    "Stop",
]
