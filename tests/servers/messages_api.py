"""A strict local server that speaks the Anthropic Messages API, for tests and for trying things by hand.

    with MessagesServer(research_brain) as server:
        model = AnthropicModel("claude-sonnet-5-5", key="any", base_url=server.url)
        server.plan("429", times=2)      # the next two requests are refused
        server.accepted                  # the bodies of the requests that were answered
        server.refused                   # what was refused and why: empty when all went well

By hand, with any client (`--help` shows more):

    python tests/servers/messages_api.py --port 8765
    ANTHROPIC_BASE_URL=http://127.0.0.1:8765 ANTHROPIC_API_KEY=fake manusfs run "…" --source https://…

A brain is a function of the request's body that returns content blocks and a stop reason. The server checks each
request as strictly as the API does, signs thinking over everything before it, plays a toy prompt cache, and fails on
purpose when a fault is planned.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from servers.messages_blocks import ApiError, Json, bad, content_of
from servers.messages_http import Fault, Handler, Http, Seen
from servers.messages_memory import PromptCache, Signer, canon, request_tokens, tokens
from servers.messages_rules import VERSIONS, Card, check, parse
from servers.research_brain import research_brain

__all__ = ["ApiError", "Card", "Fault", "MessagesServer", "echo_brain", "research_brain"]

Brain = Callable[[Json], tuple[list[Json], str]]

MODELS: Mapping[str, Card] = {
    "claude-opus-5-5": Card(thinks="always"),
    "claude-fable-5-2": Card(thinks="always"),
    "claude-sonnet-5-5": Card(bound_to_account=True),
    "claude-haiku-5-5": Card(bound_to_account=True),
    "claude-haiku-4-5": Card(window=200_000, max_output=64_000, thinks="manual"),
}
STATUS_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    503: "api_error",
    529: "overloaded_error",
}
STOPS = ("refusal", "pause_turn", "max_tokens", "model_context_window_exceeded")


def echo_brain(body: Json) -> tuple[list[Json], str]:
    """Answer with the newest text of the user, thinking first."""
    texts = [block["text"] for block in content_of(body["messages"][-1]) if block["type"] == "text"]
    answer = {"type": "text", "text": f"You said: {texts[-1] if texts else 'nothing'}"}
    return [{"type": "thinking", "thinking": "I shall repeat it."}, answer], "end_turn"


class MessagesServer:
    """The server; a context manager that listens on a free port of 127.0.0.1."""

    def __init__(
        self,
        brain: Brain = echo_brain,
        *,
        port: int = 0,
        window: int = 0,
        keys: Mapping[str, str] | None = None,
        models: Mapping[str, Card] = MODELS,
        cache_minimum: int = 512,
    ) -> None:
        """Take the brain. `window` overrides that of every model; `keys` maps the keys that are taken to accounts."""
        self.brain = brain
        self.keys = keys
        self.models = {n: replace(card, window=window or card.window) for n, card in models.items()}
        self.seen: list[Seen] = []
        self.accepted: list[Json] = []
        self.refused: list[str] = []
        self._faults: deque[Fault] = deque()
        self._signer = Signer(b"local signing key")
        self._cache = PromptCache(cache_minimum)
        self._paused: set[bytes] = set()
        self._lock = threading.Lock()
        self._answers = 0
        self._http = Http(("127.0.0.1", port), Handler)
        self._http.owner = self
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> MessagesServer:
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    def plan(self, *faults: Fault | str, **options: Any) -> None:
        """Let the next requests fail: one fault after the other, each as often as its `times` says."""
        for fault in faults:
            planned = fault if isinstance(fault, Fault) else Fault(fault, **options)
            self._faults.extend([planned] * planned.times)

    def account(self, headers: Mapping[str, str]) -> str:
        """Return the account behind the key of a request, which may come in either header."""
        bearer = headers.get("authorization", "")
        key = headers.get("x-api-key") or (bearer[7:] if bearer.startswith("Bearer ") else "")
        if not key:
            raise ApiError(401, "authentication_error", "x-api-key header is required")
        if bearer and headers.get("x-api-key", key) != bearer[7:]:
            raise ApiError(401, "authentication_error", "two different keys were given")
        if self.keys is not None and key not in self.keys:
            raise ApiError(401, "authentication_error", "invalid x-api-key")
        return key if self.keys is None else self.keys[key]

    def card(self, name: Any) -> Card:
        """Return the model called `name`."""
        if not isinstance(name, str):
            raise bad("model", "Field required")
        if name not in self.models:
            raise ApiError(404, "not_found_error", f"model: {name}")
        return self.models[name]

    def count(self, raw: bytes, headers: Mapping[str, str]) -> Json:
        """Answer a request to count tokens."""
        body = parse(raw)
        check(body, self.card(body.get("model")), _version(headers), counting=True)
        return {"input_tokens": request_tokens(body)}

    def answer(self, raw: bytes, headers: Mapping[str, str], account: str) -> tuple[Json, bool, Fault]:
        """Return the message that answers `raw`, whether to stream it, and what goes wrong on the way."""
        if "application/json" not in headers.get("content-type", ""):
            raise bad("", "Content-Type must be application/json")
        body = parse(raw)
        card = self.card(body.get("model"))
        check(body, card, _version(headers))
        with self._lock:
            size = request_tokens(body)
            if size > card.window:
                raise bad("", f"prompt is too long: {size} tokens > {card.window} maximum")
            self._check_last(body)
            running, last = self._signer.check(body, card, account)
            fault = self._faults.popleft() if self._faults else Fault("none")
            if fault.kind.isdigit():
                status = int(fault.kind)
                planned = fault.headers if fault.headers is not None else {"retry-after-ms": "5"}
                message = fault.message or f"planned {status}"
                raise ApiError(status, STATUS_KINDS.get(status, "api_error"), message, dict(planned))
            self.accepted.append(body)
            content, stop = self._said(body, card, fault, card.window - size)
            content = self._signer.sign(content, body, running, last, account)
            if stop == "pause_turn":
                self._paused.add(canon(content))
            return self._message(body, content, stop), bool(body.get("stream")), fault

    def _check_last(self, body: Json) -> None:
        last = body["messages"][-1]
        if last["role"] == "assistant" and canon(content_of(last)) not in self._paused:
            raise bad(
                "",
                "This model does not support assistant message prefill. The conversation must end with a user message.",
            )

    def _said(self, body: Json, card: Card, fault: Fault, room: int) -> tuple[list[Json], str]:
        if fault.kind == "refusal":
            return [], "refusal"
        if fault.kind == "pause_turn":
            return [{"type": "text", "text": "Working on it."}], "pause_turn"
        content, stop = self.brain(json.loads(json.dumps(body)))
        thinking = (body.get("thinking") or {}).get("type") in ("adaptive", "enabled") or card.thinks == "always"
        if not thinking:
            content = [block for block in content if "thinking" not in block["type"]]
        elif not any("thinking" in block["type"] for block in content):
            content = [{"type": "thinking", "thinking": "Let me think."}, *content]
        limit, why = min((body["max_tokens"], "max_tokens"), (room, "model_context_window_exceeded"))
        if fault.kind in STOPS:
            limit, why = max(1, tokens(content) * 2 // 3), fault.kind
        content, cut = _cut(content, limit)
        content = [
            {"caller": {"type": "direct"}, **block} if block["type"] == "tool_use" else block for block in content
        ]
        return content, why if cut else stop

    def _message(self, body: Json, content: list[Json], stop: str) -> Json:
        self._answers += 1
        message = {
            "id": f"msg_{self._answers:08d}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": content,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": self._cache.usage(body, tokens(content)),
        }
        if stop == "refusal":
            message["stop_details"] = {"type": "refusal", "category": None, "explanation": "planned refusal"}
        return message


def _version(headers: Mapping[str, str]) -> str:
    version = headers.get("anthropic-version", "")
    if version not in VERSIONS:
        raise bad("anthropic-version", "header is required" if not version else f'"{version}" is not a valid version')
    return version


def _cut(content: list[Json], limit: int) -> tuple[list[Json], bool]:
    """Return what of `content` fits into `limit` tokens, and whether something did not."""
    kept: list[Json] = []
    for block in content:
        size = tokens(block)
        if size <= limit:
            kept.append(block)
            limit -= size
            continue
        if block["type"] == "text" and limit > 8:
            kept.append({**block, "text": block["text"][: int(limit * 2)] or "…"})
        elif block["type"] == "tool_use":
            written = json.dumps(block["input"], ensure_ascii=False)
            kept.append({**block, "_cut": written[: len(written) * 2 // 3]})
        return kept, True
    return kept, False


def main() -> None:
    """Serve until Ctrl-C, telling each request."""
    parser = argparse.ArgumentParser(description="A local server that speaks the Anthropic Messages API.")
    parser.add_argument("--port", type=int, default=8765)
    parser.add_argument("--brain", choices=("research", "echo"), default="research")
    parser.add_argument("--window", type=int, default=0, help="tokens of every model's window")
    parser.add_argument("--fault", action="append", default=[], help="429x2, midstream, drop, refusal, … in order")
    given = parser.parse_args()
    brain = research_brain if given.brain == "research" else echo_brain
    with MessagesServer(brain, port=given.port, window=given.window) as server:
        for fault in given.fault:
            kind, _, times = fault.partition("x")
            server.plan(kind, times=int(times or 1))
        print(f"ANTHROPIC_BASE_URL={server.url} ANTHROPIC_API_KEY=fake", flush=True)
        told = 0
        try:
            while True:
                time.sleep(0.2)
                for seen in server.seen[told:]:
                    why = f" {server.refused[-1]}" if seen.status >= 400 else ""
                    print(f"{seen.status} {seen.method} {seen.path} {len(seen.raw)} bytes{why}", flush=True)
                    told += 1
        except KeyboardInterrupt:
            print("stopped")


if __name__ == "__main__":
    main()
