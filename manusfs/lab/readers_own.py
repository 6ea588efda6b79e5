"""Runs that manusfs itself recorded: a session's transcript, with the bodies of its observations from the workspace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from manusfs.errors import ManusfsError, UsageError
from manusfs.lab.recording import Call, Recording, Said, steps_of
from manusfs.memory import Doors, Workspace
from manusfs.records import Event, TextPart, part_from_json
from manusfs.session import Transcript

if TYPE_CHECKING:
    from manusfs.memory import Renderer

__all__ = ["own_run"]


def own_run(path: Path) -> Recording:
    """Return the run that the transcript at `path` tells; its workspace lies above and is only read.

    Raises:
        UsageError: it lies in no workspace.
    """
    session = path.parent.name
    if path.parent.parent.name != "sessions":
        raise UsageError(f"{path.name!r} does not lie in a session of a workspace", hint="give sessions/<session>")
    with Workspace.open(path.parent.parent.parent, doors=Doors(network=False)) as workspace:
        with Transcript.open(workspace.folder, session) as transcript:
            events = transcript.events
        first = next((event for event in events if event.kind == "epoch"), None)
        if first is None:
            raise UsageError(f"session {session!r} has no epoch", hint="it never began to run")
        said = [*_opening(first), *_said(events, workspace)]
        system = first.data.get("system") or ""
        return Recording("manusfs", session, system if isinstance(system, str) else "", *steps_of(said))


def _opening(epoch: Event) -> Iterator[Said]:
    for part in epoch.data.get("opening", ()):
        if part.get("type") == "text" and part.get("as") in ("user", "instructions", "date", "source"):
            yield Said("user", part["text"])


def _said(events: Sequence[Event], workspace: Workspace) -> Iterator[Said]:
    for event in events:
        data = event.data
        if event.kind == "message" and data["role"] == "assistant":
            blocks = data["content"]
            calls = tuple(
                (block["id"], Call(block["name"], dict(block["input"])))
                for block in blocks
                if block.get("type") == "tool_use" and isinstance(block.get("input"), dict)
            )
            thinking = tuple(block for block in blocks if block.get("type") in ("thinking", "redacted_thinking"))
            words = "\n\n".join(block["text"] for block in blocks if block.get("type") == "text")
            yield Said("assistant", words, thinking, calls)
        elif event.kind == "message":
            yield Said("user", "\n\n".join(block.get("text", "") for block in data["content"]))
        elif event.kind == "observation" and data.get("call"):
            yield Said("tool", _body(workspace, data), id=data["call"], is_error=bool(data.get("is_error")))
        elif event.kind == "shown" and data.get("call"):
            text = "\n".join(_shown(workspace.renderer, part) for part in data["parts"])
            yield Said("tool", text, id=data["call"], is_error=bool(data.get("is_error")), stored=False)


def _body(workspace: Workspace, data: dict[str, Any]) -> str:
    try:
        return workspace.observations.read(data["id"], "text").decode("utf-8", "replace")
    except ManusfsError:
        return ""  # an observation without text: a picture, or bytes that no extractor reads


def _shown(renderer: Renderer, part: dict[str, Any]) -> str:
    made = part_from_json(part)
    return made.text if isinstance(made, TextPart) else renderer.text(made)
