"""What a run says while it goes on: one line a step, and on a terminal a status that is always true."""

from __future__ import annotations

import re
from types import TracebackType
from typing import Any

from manusfs.agent import AgentEvent
from manusfs.cli.named import typed
from manusfs.cli.out import human_bytes, line, masked, on_terminal, say, unwatched
from manusfs.records import escape

__all__ = ["Live"]

_ARGUMENT_CUT = 100
_RESULT_CUT = 120
_ERROR_CUT = 300
_ONE = {"hits": "hit", "matches": "match", "listing": "listing"}
_TOTAL = re.compile(r'<(hits|matches|listing)\b[^>]*\btotal="(\d+)"')


def _plain(text: str) -> str:
    """Return the first line of a result in words: what a person need not see as a tag."""
    if match := _TOTAL.match(text):
        return f"{match[2]} {_ONE[match[1]] if match[2] == '1' else match[1]}"
    cut = _ERROR_CUT if text.startswith("Error: ") else _RESULT_CUT
    return "the plan" if text.startswith("<todo") else escape.terminal(masked(" ".join(text.split())))[:cut]


class Live:
    """Prints a run's events to stderr. On a terminal a status line shows turn, window, saved tokens and cost."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._console: Any = None
        self._status: Any = None
        self._prefix = ""
        """Which sub-agent a line is about."""

    def __enter__(self) -> Live:
        if not self._quiet and on_terminal():
            from rich.console import Console

            self._console = Console(stderr=True, highlight=False, markup=False)
            self._status = self._console.status("starting")
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status is not None:
            with unwatched():
                self._status.stop()

    def __call__(self, event: AgentEvent) -> None:
        """Print `event`."""
        # What ended the run is said at its end, once.
        if self._quiet and event.kind != "warning":
            return
        method = getattr(self, f"_on_{event.kind}", None)
        # The number alone: the session's own name stands in its first line.
        child = str(event.data.get("child") or "")
        self._prefix = f"[{child.partition('.')[2]}] " if child else ""
        if method is not None:
            with unwatched():
                method(event)

    def _on_start(self, event: AgentEvent) -> None:
        data = event.data
        if data.get("child"):
            verb = "goes on" if data.get("resumed") else "begins"
            self._line(f"sub-agent {data['child']} {verb} · model {data.get('model')} · {line(str(data['title']), 80)}")
            return
        verb = "resuming" if data.get("resumed") else "session"
        self._line(
            f"{verb} {data.get('session')} · model {data.get('model')} · window {data.get('window', 0):,} tokens"
        )

    def _on_text(self, event: AgentEvent) -> None:
        # The answer goes to stdout when it is whole; here only the first line tells what the model is about.
        first = event.text.strip().splitlines()[0] if event.text.strip() and not self._prefix else ""
        if self._status is not None and first:
            self._status.update(line(first, 80))

    def _on_restart(self, event: AgentEvent) -> None:
        self._line(f"no whole reply yet: {event.text}")

    def _on_call(self, event: AgentEvent) -> None:
        arguments = event.data.get("arguments")
        shown = (
            ", ".join(f"{name}={value!r}" for name, value in arguments.items()) if isinstance(arguments, dict) else ""
        )
        self._line(
            f"→ {event.text}({escape.terminal(shown)[:_ARGUMENT_CUT]}{'…' if len(shown) > _ARGUMENT_CUT else ''})"
        )

    def _on_result(self, event: AgentEvent) -> None:
        data = event.data
        size = f" · {human_bytes(data['bytes'])}" if data.get("bytes") else ""
        saved = f" · {data['saved_tokens']:,} tokens kept out" if data.get("saved_tokens") else ""
        why = f" · no text: {line(str(data['no_text']), _RESULT_CUT)}" if data.get("no_text") else ""
        mark = "✗" if data.get("is_error") else "←"
        self._line(f"{mark} {data.get('tool') or 'stored'}: {_plain(event.text)}{size}{saved}{why}")

    def _on_usage(self, event: AgentEvent) -> None:
        data = event.data
        cost = f" · ${data['total_usd']:.4f}" if data.get("total_usd") is not None else ""
        window, size = data.get("window_tokens", 0), data.get("window", 0)
        share = f" ({100 * window // size} %)" if size else ""
        saved = f"saved by stubs {data.get('saved_tokens', 0):,}"
        text = f"turn {data.get('turn')} · window {window:,} tokens{share} · {saved}{cost}"
        if self._status is not None and not self._prefix:
            self._status.update(text)
        elif self._status is None:
            self._line(f"  {text}")

    def _on_done(self, event: AgentEvent) -> None:
        why = f": {event.text}" if event.text else ""
        self._line(f"{event.data.get('state')}{why}")

    def _on_compaction(self, event: AgentEvent) -> None:
        self._line(f"compacted: {event.text}")

    def _on_warning(self, event: AgentEvent) -> None:
        self._line(f"note: {typed(event.text)}")

    def _line(self, text: str) -> None:
        text = f"{self._prefix}{text}"
        if self._console is not None:
            # Through rich, which lifts the status line out of the way.
            self._console.print(escape.terminal(masked(text)), soft_wrap=True)
        else:
            say(text)
