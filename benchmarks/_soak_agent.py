"""The agent that the soak kills: a long scripted run that fetches, reads, searches, writes notes and compacts."""

from __future__ import annotations

import errno
import json
import os
import random
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from manusfs.errors import ManusfsError, NotFound, UsageError
from manusfs.workspace import FileSystem, storage_error

__all__ = ["ERRORS", "Brain", "Plan", "go", "settings", "texts_of"]

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

_REF = re.compile(r'<(?:observation|folded) ref="(obs:[0-9a-f]+)')
ERRORS = ("ENOSPC", "EIO", "EMFILE", "EDQUOT", "EFBIG", "EROFS")
WINDOW = 40_000


@dataclass(frozen=True, slots=True)
class Plan:
    """One life of the agent, as the soak orders it."""

    folder: str
    pages: str
    """Where page `n` is, up to its number."""
    log: str
    """File outside the workspace: one JSON line for each request, written before it is answered."""
    first: int
    """Number of the first page to fetch."""
    seed: int
    fail_at: int = 0
    """Number of the file-system operation from which on some fail; 0: none."""
    error: str = ""
    model: str = ""
    """Base URL of a Messages server; empty: a script in the process itself."""
    html: bool = True


class Failing(FileSystem):
    """Refuses three operations in a row from number `at` on; a write is half done."""

    def __init__(self, at: int, error: str) -> None:
        self._left, self._at, self._error = 3, at, error

    def _fails(self, name: str, half: Callable[[], Any] | None = None) -> None:
        self._at -= 1
        if self._at < 0 < self._left:
            self._left -= 1
            if half is not None:
                half()
            raise storage_error(OSError(getattr(errno, self._error), self._error), name, "a file")

    def mkdir(self, dirfd: int, name: str) -> None:
        self._fails("make the folder")
        super().mkdir(dirfd, name)

    def create(self, dirfd: int, name: str) -> int:
        self._fails("create")
        return super().create(dirfd, name)

    def append(self, dirfd: int, name: str) -> int:
        self._fails("append to")
        return super().append(dirfd, name)

    def write(self, fd: int, data: bytes | memoryview) -> None:
        self._fails("write to", lambda: os.write(fd, data[: len(data) // 2]))
        super().write(fd, data)

    def sync(self, fd: int) -> None:
        self._fails("sync")
        super().sync(fd)

    def sync_dir(self, dirfd: int) -> None:
        self._fails("sync the folder")
        super().sync_dir(dirfd)

    def rename(self, src_dirfd: int, src: str, dst_dirfd: int, dst: str) -> None:
        self._fails("rename to")
        super().rename(src_dirfd, src, dst_dirfd, dst)

    def truncate(self, fd: int, size: int) -> None:
        self._fails("cut")
        super().truncate(fd, size)

    def unlink(self, dirfd: int, name: str) -> None:
        self._fails("remove")
        super().unlink(dirfd, name)


@dataclass
class Brain:
    """What the model says, turn by turn, from what the request shows."""

    pages: str
    next: int
    seed: int
    html: bool = True
    turn: int = 0
    dice: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)

    def say(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the content of the next reply."""
        self.turn += 1
        near, all_of_it = (texts_of(body["messages"][at:]) for at in (-1, 0))
        refs = _REF.findall("\n".join(near)) or _REF.findall("\n".join(all_of_it))
        kind = self.dice.choice(
            ("fetch", "fetch", "fetch", "read", "write", "look", "answer" if self.turn > 12 else "fetch")
        )
        if kind == "answer":
            return [{"type": "text", "text": "So far nothing new was found."}]
        calls = self._calls(kind, refs) or [("web_fetch", {"url": self._url()})]
        mark = sha256(f"{self.seed} {self.turn} {self.next}".encode()).hexdigest()[:16]
        made = [
            {"type": "tool_use", "id": f"toolu_{mark}_{n}", "name": name, "input": arguments}
            for n, (name, arguments) in enumerate(calls)
        ]
        return [{"type": "text", "text": f"Turn {self.turn}."}, *made]

    def _calls(self, kind: str, refs: list[str]) -> list[tuple[str, dict[str, Any]]]:
        if kind == "fetch":
            return [("web_fetch", {"url": self._url()}) for _ in range(self.dice.randint(1, 4))]
        if kind == "read" and refs:
            return [("read", {"ref": self.dice.choice(refs), "offset": self.dice.randrange(900), "limit": 3_000})]
        if kind == "write":
            text = f"Turn {self.turn}: {' '.join(refs[:2])} has nothing new.\n"
            path = f"notes/findings/{self.dice.randrange(9)}.md"
            plan = ("todo", {"items": [f"[x] up to {self.next}", "the rest"]})
            return [("write", {"path": path, "content": text, "append": True}), plan]
        if kind == "look":
            return [("search", {"query": "bridge river council"}), ("grep", {"pattern": f"page {self.next - 1}:"})]
        return []

    def _url(self) -> str:
        self.next += 1
        while not self.html and self.next % 4 == 3:
            self.next += 1
        # Now and then a page that was fetched before: the same bytes again.
        back = self.dice.random() < 0.1
        number = self.next - 4 if back and (self.html or self.next % 4 != 3) else self.next
        return f"{self.pages}{number}"


def texts_of(messages: Any) -> list[str]:
    """Return every text that the user's side of `messages` shows."""
    found: list[str] = []
    for message in messages:
        if message["role"] != "user":
            continue
        for block in message["content"] if isinstance(message["content"], list) else [{"text": message["content"]}]:
            inner = block.get("content", ()) if block.get("type") == "tool_result" else (block,)
            found += [inner] if isinstance(inner, str) else [part["text"] for part in inner if "text" in part]
    return found


def settings() -> Any:
    """Return the settings of every life."""
    from manusfs.workspace.settings import Settings

    return Settings(
        window=WINDOW,
        max_tokens=2_000,
        allow_hosts=("127.0.0.1",),
        host_delay_s=0.0,
        robots=False,
        summary_tokens=0,
        max_turns=0,
        fetch_retries=0,
    )


class _Log:
    def __init__(self, path: str) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._told: set[str] = set()

    def take(self, body: dict[str, Any]) -> None:
        """Write down what is new in `body`, and whether the API would refuse it, before it is answered."""
        from servers.messages_blocks import ApiError
        from servers.messages_rules import VERSIONS, Card, check, parse

        problem = ""
        try:
            raw = json.dumps(body, ensure_ascii=False).encode("utf-8")
            check({**parse(raw), "model": "claude-sonnet-5-5"}, Card(), VERSIONS[0])
        except (ApiError, UnicodeEncodeError) as error:
            problem = str(error)
        new = [text for text in texts_of(body["messages"]) if text not in self._told]
        self._told.update(new)
        os.write(self._fd, json.dumps({"new": new, "problem": problem}).encode() + b"\n")


def _model(plan: Plan) -> Any:
    from manusfs import models
    from manusfs.messages import Profile
    from manusfs.models import ScriptedModel

    if plan.model:
        return models.load("claude-sonnet-5-5", key="soak", base_url=plan.model, window=WINDOW)
    log, brain = _Log(plan.log), Brain(plan.pages, plan.first, plan.seed, plan.html)

    def answer(request: Any) -> Any:
        body = request.to_json()
        log.take(body)
        return brain.say(body)

    return ScriptedModel(answer, profile=Profile("scripted", window=WINDOW))


def go(plan: Plan) -> int:
    """Live as `plan` says, until the end, an error or the kill; return an exit code."""
    from manusfs.agent import Agent
    from manusfs.memory import Workspace

    disk = Failing(plan.fail_at, plan.error) if plan.fail_at else None
    try:
        with Workspace.open(plan.folder, settings(), fs=disk) as workspace:
            agent = Agent(workspace, _model(plan))
            for _ in range(50):
                _once(agent, plan)
    except ManusfsError as error:
        print(f"{type(error).__name__}: {error}", flush=True)
        return error.exit_code
    return 0


def _once(agent: Any, plan: Plan) -> None:
    try:
        agent.resume()
    except NotFound:
        agent.run("Read all pages, and say what is new.")
    except UsageError:
        # It was finished, or died before its task stood there.
        if plan.seed % 3:
            agent.resume(message="Go on with the rest.")
        else:
            agent.run("Begin anew with the rest.")


if __name__ == "__main__":
    sys.exit(go(Plan(**json.loads(sys.argv[1]))))
