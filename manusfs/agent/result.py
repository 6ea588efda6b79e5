"""What a run comes to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from manusfs.messages import Usage

__all__ = ["EXIT_CODES", "Citations", "Result"]

EXIT_CODES = {
    "end_turn": 0,
    "stop_sequence": 0,
    "refusal": 1,
    "max_tokens": 1,
    "empty": 1,
    "window": 75,
    "max_turns": 75,
    "max_tokens_total": 75,
    "max_seconds": 75,
    "max_usd": 75,
    "model_error": 69,
    "interrupted": 130,
}
"""The exit code of each way in which a run ends."""

NO_SUPPORT = 3
"""The exit code of an answer without a citation, or with one whose quote does not stand in its span."""


@dataclass(frozen=True, slots=True)
class Citations:
    """How many footnotes the answer has, and how many of their quotes stand word for word in their span."""

    total: int = 0
    verified: int = 0


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of one `run` or `resume`; counts and usage are of this call, not of the session's earlier ones."""

    session: str
    workspace: str
    """Path of the workspace's folder."""
    report: str
    """Workspace path of the report, empty when the run ended without an answer."""
    answer: str
    citations: Citations
    turns: int
    tool_calls: int
    observations: int
    usage: Usage
    stop: str
    """Why it ended: a key of `EXIT_CODES`."""
    message: str = ""
    """For people: what ended the run and how to go on; empty when it is done."""
    cost_usd: float | None = None
    """Price of this call, None when the model's prices are not known."""
    problems: tuple[str, ...] = ()
    """What the check of the citations found."""

    @property
    def exit_code(self) -> int:
        """The exit code that tells how the run ended; 3 when its answer has not enough support."""
        code = EXIT_CODES.get(self.stop, 1)
        supported = 0 < self.citations.total == self.citations.verified
        return code if code or supported else NO_SUPPORT

    def to_json(self) -> dict[str, Any]:
        """Return the result as `run --json` prints it."""
        return {
            "session": self.session,
            "workspace": self.workspace,
            "report": self.report,
            "answer": self.answer,
            "citations": {"total": self.citations.total, "verified": self.citations.verified},
            "turns": self.turns,
            "tool_calls": self.tool_calls,
            "observations": self.observations,
            "usage": {
                "input_tokens": self.usage.input_tokens,
                "output_tokens": self.usage.output_tokens,
                "cache_creation_input_tokens": self.usage.cache_creation_input_tokens,
                "cache_read_input_tokens": self.usage.cache_read_input_tokens,
                "cost_usd": self.cost_usd,
            },
            "stop": self.stop,
        }
