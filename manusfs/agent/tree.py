"""What a run shares with its sub-agents: who answers, who is told, and that no page is fetched twice at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from manusfs.agent.events import AgentEvent, OnEvent
from manusfs.agent.interrupt import Interrupt, Stop
from manusfs.agent.roles import Role
from manusfs.errors import UsageError
from manusfs.messages import Delta, Model, Reply, Request
from manusfs.records import Fetched

__all__ = ["Tree"]


def _no_model(name: str) -> Model:
    raise UsageError(f"no model {name!r} can be asked here")


@dataclass(slots=True)
class _Flight:
    """A fetch that is under way."""

    done: threading.Event = field(default_factory=threading.Event)
    fetched: Fetched | None = None


@dataclass(slots=True)
class Tree:
    """Shared by a run and all below it; its sub-agents run in threads of their own. It is the Stop of all of them."""

    stop: Stop = field(default_factory=threading.Event)
    load: Callable[[str], Model] = _no_model
    """Gives the model that an agent file names."""
    on_event: OnEvent | None = None
    roles: tuple[Role, ...] = ()
    """The agents that files define, by name; as they were when the run began."""
    failure: BaseException | None = None
    """What the caller raised when a sub-agent told it something: it ends the run."""
    _telling: threading.Lock = field(default_factory=threading.Lock)
    _guard: threading.Lock = field(default_factory=threading.Lock)
    _flights: dict[str, _Flight] = field(default_factory=dict)

    def is_set(self) -> bool:
        """Return True once the run and all below it are to stop."""
        return self.failure is not None or self.stop.is_set()

    def check(self) -> None:
        """Raise what the caller raised when a sub-agent told it something."""
        if self.failure is not None:
            raise self.failure

    def ask(self, model: Model, request: Request, on_delta: Callable[[Delta], None]) -> Reply:
        """Return the reply of `model`; Ctrl-C ends the wait for it, however long the model is silent.

        Raises:
            ModelError, InvalidRequest: as `Model.reply` does.
            Left: the user asked for a stop.
        """
        stop = self.stop
        if not isinstance(stop, Interrupt) or threading.current_thread() is not threading.main_thread():
            return model.reply(request, on_delta)

        def tell(delta: Delta) -> None:
            with stop.leaving(False):  # what is being printed is not cut
                on_delta(delta)

        with stop.leaving():
            return model.reply(request, tell)

    def tell(self, event: AgentEvent) -> None:
        """Tell the caller, one thread at a time."""
        if self.on_event is not None:
            with self._telling:
                self.on_event(event)

    def tell_of(self, child: str, event: AgentEvent) -> None:
        """Tell the caller what happened in `child`; what it raises is kept for the run's own thread."""
        if self.failure is not None:
            return
        try:
            self.tell(replace(event, data={**event.data, "child": child}))
        except BaseException as error:  # noqa: BLE001 (raised again by the thread that the caller knows)
            self.failure = error

    def fetch(self, url: str, fetch: Callable[[str], Fetched]) -> Fetched:
        """Return what `fetch` gives for `url`; who asks while it is under way waits for the same answer.

        Afterwards the cache answers, as long as it takes a page for fresh.
        """
        with self._guard:
            flight = self._flights.get(url)
            mine = flight is None
            if flight is None:
                flight = self._flights[url] = _Flight()
        if not mine:
            flight.done.wait()
            # The other failed: this one tries for itself, and gets its own words of what went wrong.
            return flight.fetched if flight.fetched is not None else fetch(url)
        try:
            flight.fetched = fetch(url)
            return flight.fetched
        finally:
            with self._guard:
                del self._flights[url]
            flight.done.set()
