"""A fork: its session begins as a copy of its parent's lines, so that its requests begin as its parent's last did."""

from __future__ import annotations

from collections.abc import Sequence

from manusfs.agent.opening import user_text
from manusfs.context import fold
from manusfs.errors import ToolError
from manusfs.records import Event, TextPart, part_to_json
from manusfs.session import Transcript

__all__ = ["PLACEHOLDER", "begin_fork"]

PLACEHOLDER = "(This call is answered in the session that this one is a fork of. Do not make it again.)"
"""The result of each call that was open when the fork was made: the same for all, so that forks of one turn agree."""

_WORD = (
    "(manusfs: You are now a fork of the session above: all that stands there is known to you, and the session itself "
    "goes on without you. Do only what follows. Your last reply, without tool calls, is handed back to it, whole. You "
    "can't change its plan, and no file that others wrote.)"
)


def begin_fork(transcript: Transcript, parent: Sequence[Event], at: int, prompt: str, form: str) -> None:
    """Let `transcript` begin as the lines of `parent` before line `at` and what the fork is to do.

    Each line stands under the number that it has there, so that whatever names lines of the session names the right
    ones. A copy that a crash cut off is gone on with.

    Raises:
        ToolError: lines of the parent are missing, so that the copy would be another session.
    """
    source = [event for event in parent if event.seq < at]
    if [event.seq for event in source] != list(range(1, len(source) + 1)):
        raise ToolError(
            "this session can't be forked: lines of its transcript are damaged",
            retry=False,
            hint='use mode="isolated", and say in the prompt what must be known',
        )
    have = transcript.events[-1].seq
    # The mark stands first, so that nobody takes the line for one of the fork's own.
    transcript.append([Event(e.kind, {"copied": e.seq, **e.data}) for e in source if e.seq > have])
    part = part_to_json(TextPart(PLACEHOLDER))
    events = [
        Event("shown", {"call": call, "parts": [part], "is_error": False, "wrote": [], "reads": []})
        for call in fold(transcript.events).open_calls
    ]
    texts = [_WORD, user_text(prompt), *([form] if form else [])]
    content = [{"type": "text", "text": text} for text in texts]
    transcript.append([*events, Event("message", {"role": "user", "content": content, "fork": at})])
