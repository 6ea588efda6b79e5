"""A recorded run in one shape: steps of what the model said, what its calls brought, what a user said then."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from manusfs.messages import Block

__all__ = ["Call", "Recording", "Result", "Said", "Step", "steps_of"]

_NO_RESULT = "(no result was recorded)"


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call. Arguments that the record has as a text stand under the one name `arguments`."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Result:
    """What a call brought. `stored` is False for what a tool of ours printed from the workspace."""

    text: str
    is_error: bool = False
    stored: bool = True


@dataclass(frozen=True, slots=True)
class Step:
    """One reply of the model, what its calls brought, in call order, and what a user said next."""

    text: str = ""
    thinking: tuple[Block, ...] = ()
    calls: tuple[Call, ...] = ()
    results: tuple[Result, ...] = ()
    user: str = ""


@dataclass(frozen=True, slots=True)
class Recording:
    """A whole run: each step is one request and its reply."""

    source: str
    id: str
    system: str
    task: str
    """What stood before the first reply: the user's words."""
    steps: tuple[Step, ...]

    @property
    def name(self) -> str:
        """What a table calls it."""
        return f"{self.source}/{self.id}"


@dataclass(frozen=True, slots=True)
class Said:
    """One message of a record, in the order in which they came."""

    role: Literal["user", "assistant", "tool"]
    text: str = ""
    thinking: tuple[Block, ...] = ()
    calls: tuple[tuple[str, Call], ...] = ()
    """Each with the id by which its result names it, "" when the record has none."""
    tool: str = ""
    """Of a result: the tool's name, where the record tells."""
    id: str = ""
    """Of a result: the call that it answers."""
    is_error: bool = False
    stored: bool = True


@dataclass(slots=True)
class _Open:
    """A step that is being put together."""

    texts: list[str] = field(default_factory=list)
    thinking: list[Block] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    results: dict[int, Result] = field(default_factory=dict)
    users: list[str] = field(default_factory=list)
    spoke: bool = False

    def answer(self, said: Said) -> None:
        """Put a result behind the call it names, else the first that is open, else a call that is not in the record."""
        free = [at for at in range(len(self.calls)) if at not in self.results]
        named = [at for at in free if said.id and self.ids[at] == said.id]
        if not (named or free):
            self.calls.append(Call(said.tool or "tool", {}))
            self.ids.append(said.id)
            free = [len(self.calls) - 1]
        self.results[(named or free)[0]] = Result(said.text, said.is_error, said.stored)

    def step(self) -> Step:
        missing = Result(_NO_RESULT, is_error=True, stored=False)
        results = tuple(self.results.get(at, missing) for at in range(len(self.calls)))
        return Step(_joined(self.texts), tuple(self.thinking), tuple(self.calls), results, _joined(self.users))


def steps_of(messages: Iterable[Said]) -> tuple[str, tuple[Step, ...]]:
    """Return the task and the steps of a run; neighbours of one reply become one, calls and results are paired."""
    task: list[str] = []
    steps: list[_Open] = []
    for said in messages:
        if said.role == "user":
            (steps[-1].users if steps else task).append(said.text)
        elif said.role == "tool":
            if not steps or steps[-1].users:
                steps.append(_Open(spoke=True))
            steps[-1].answer(said)
        else:
            if not steps or steps[-1].users or steps[-1].results:
                steps.append(_Open())
            _speak(steps[-1], said)
    return _joined(task), tuple(step.step() for step in steps)


def _speak(step: _Open, said: Said) -> None:
    step.spoke = True
    if said.text.strip():
        step.texts.append(said.text)
    step.thinking += said.thinking
    for id, call in said.calls:
        step.ids.append(id)
        step.calls.append(call)


def _joined(texts: Sequence[str]) -> str:
    return "\n\n".join(text for text in texts if text.strip())
