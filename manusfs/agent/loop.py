"""The loop: assemble, ask, write down, run what was called for, until the model ends its turn."""

from __future__ import annotations

from dataclasses import dataclass

from manusfs.agent.compaction import make_room
from manusfs.agent.dispatch import dispatch
from manusfs.agent.interrupt import Left
from manusfs.agent.reply import Kept, keep, usage_data
from manusfs.agent.running import Running, Stopped, notice, now
from manusfs.errors import ModelError
from manusfs.messages import Delta, Reply, validate
from manusfs.records import Event

__all__ = ["Ended", "loop"]

_CONTINUATIONS = 2
"""How often a reply that reached its limit, or had no words, is asked to go on before the run ends."""
_CUT = (
    "Your last reply reached the limit of {limit} tokens and was cut there.{lost} Go on from where it stopped; "
    "keep replies shorter, and put long texts into notes or reports in several calls."
)
_LOST = " The call that it was writing was not complete and did not run."
_NOTED = "That turn was for notes. Go on with the task; if it is done, give the whole answer."
_FILLED = "Your last reply filled the context's window and was left out. Give it again, shorter."
_SILENT = "Your last reply had no text and no call. Go on with the task, or give the answer."
_FULL = (
    "even compacted the context does not fit the model's window of {window} tokens; {left} "
    "with a model of a larger window or a smaller `max_tokens`"
)
_RESUME = "nothing is lost; `manusfs resume` goes on"


@dataclass(frozen=True, slots=True)
class Ended:
    """Why the loop ended, the answer so far, and what to tell people."""

    stop: str
    answer: str = ""
    message: str = ""


def loop(run: Running) -> Ended:
    """Return how the session's turn ended. Everything up to there is in the transcript; the run can be resumed."""
    pieces: list[str] = []
    patience = _CONTINUATIONS
    while True:
        if (reached := run.limits.reached()) is not None:
            return Ended(reached.stop, message=reached.message)
        if run.stop.is_set():
            return Ended("interrupted", message=f"stopped on request; {_RESUME}")
        try:
            reply = _ask(run)
        except (Stopped, Left):
            continue
        except ModelError as error:
            hint = f"; {error.hint}" if error.hint else ""
            return Ended("model_error", message=f"{error}{hint}; {_RESUME}")
        if reply is None:
            return Ended("window", message=_FULL.format(window=run.profile.window, left=_RESUME))
        kept = _write_down(run, reply)
        noted, run.asking = run.asking, False
        if kept.calls:
            pieces, patience = [], _CONTINUATIONS
            dispatch(run, kept.calls)
            continue
        if noted:
            run.record([notice(_NOTED)])
            continue
        pieces.append(kept.text)
        ended, asked = _after_words(run, reply, kept, pieces, patience)
        if ended is not None:
            return ended
        patience -= asked


def _ask(run: Running) -> Reply | None:
    """Return the reply to the window as it is; None when it cannot be made to fit."""
    for attempt in range(2):
        make_room(run)
        if run.window_left() < 0:
            return None
        request = run.assembler.request(run.window)
        validate(request, paused=run.window.paused)
        try:
            reply = run.tree.ask(run.model, request, lambda delta: _on_delta(run, delta))
        except ModelError as error:
            if error.kind != "context_overflow" or attempt:
                raise
            run.tell("warning", f"{error}; compacting and trying once more")
            run.window_cap = run.window.tokens
            continue
        if reply.stop_reason != "model_context_window_exceeded" or keep(reply, (), 0).calls or attempt:
            return reply
        run.window_cap = run.window.tokens
        _write_down(run, reply)
        # Where there is nothing to fold the epoch goes on, and a request must not end with the model's own turn.
        run.record([notice(_FILLED)])
        run.tell("warning", "the reply filled the model's window; compacting and trying once more")
    return None


def _on_delta(run: Running, delta: Delta) -> None:
    if run.stop.is_set():
        raise Stopped
    if delta.kind != "tool":
        run.tell(delta.kind, delta.text)


def _write_down(run: Running, reply: Reply) -> Kept:
    run.asked_at = now()
    cost = run.profile.cost(reply.usage)
    kept = keep(reply, run.call_ids, run.window.seq + 1, run.window.waiting)
    run.call_ids.update(kept.ids)
    usage = {**usage_data(reply, run.profile.name, cost), "stubbed_tokens": run.saved_tokens}
    run.record([kept.event, Event("usage", usage)])
    run.limits.add(reply.usage, cost)
    run.tell(
        "usage",
        turn=run.limits.turns,
        window_tokens=run.window.tokens,
        window=run.profile.window,
        saved_tokens=run.saved_tokens,
        total_usd=run.limits.cost_usd,
        **usage,
    )
    for line in run.limits.warnings():
        run.tell("warning", line)
        if kept.calls:
            run.notices.append(f"{line}. Bring the work to an end and answer before the limit is reached.")
    return kept


def _after_words(run: Running, reply: Reply, kept: Kept, pieces: list[str], patience: int) -> tuple[Ended | None, int]:
    """Return how a reply without calls ends the loop, or None to ask on and how much patience that takes."""
    answer = "\n\n".join(piece for piece in pieces if piece)
    if reply.stop_reason == "pause_turn":
        return None, 0
    if reply.stop_reason == "refusal":
        why = str(reply.stop_details.get("category") or reply.stop_details.get("type") or "no reason given")
        return Ended(
            "refusal", message=f"the model refused to answer ({why}); its words were not kept in the context"
        ), 0
    if reply.stop_reason in ("max_tokens", "model_context_window_exceeded"):
        if patience <= 0:
            message = (
                f"the reply reached its limit of {run.max_tokens} tokens {_CONTINUATIONS + 1} times; raise `max_tokens`"
            )
            return Ended("max_tokens", answer, message), 0
        lost = _LOST if any(b.get("type") == "tool_use" for b in kept.event.data.get("dropped", ())) else ""
        run.record([notice(_CUT.format(limit=run.max_tokens, lost=lost))])
        return None, 1
    if not answer:
        if patience <= 0:
            return Ended("empty", message=f"the model gave no answer; {_RESUME}"), 0
        run.record([notice(_SILENT)])
        return None, 1
    return Ended(reply.stop_reason if reply.stop_reason != "tool_use" else "end_turn", answer), 0
