"""How the local Messages server speaks HTTP: endpoints, JSON and event streams, and streams that break on purpose."""

from __future__ import annotations

import json
import socket
import struct
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol

from servers.messages_blocks import ApiError, Json
from servers.messages_memory import events
from servers.messages_rules import Card


@dataclass(frozen=True)
class Fault:
    """Something that goes wrong with the next request to /v1/messages.

    `kind` is an HTTP status ("429"), "midstream" (an error event after `after` events), "drop" (the connection is
    reset after `after` events; 0: before the answer), "end" (the stream just ends), "slow" (`delay_s` between events),
    "html" (a page in place of an answer), "garbage" (an event that is no JSON), or a stop reason.
    """

    kind: str
    times: int = 1
    after: int = 4
    delay_s: float = 0.02
    error: str = "overloaded_error"
    headers: Mapping[str, str] | None = None
    message: str = ""


@dataclass(frozen=True)
class Seen:
    """One request as it came, and the status that it was answered with."""

    method: str
    path: str
    headers: Mapping[str, str]
    raw: bytes
    status: int


class Owner(Protocol):
    """What the handler needs of the server."""

    models: Mapping[str, Card]
    seen: list[Seen]
    refused: list[str]

    def account(self, headers: Mapping[str, str]) -> str: ...
    def card(self, name: Any) -> Card: ...
    def count(self, raw: bytes, headers: Mapping[str, str]) -> Json: ...
    def answer(self, raw: bytes, headers: Mapping[str, str], account: str) -> tuple[Json, bool, Fault]: ...


class Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    owner: Owner

    def handle_error(self, request: Any, client_address: Any) -> None:
        del request, client_address  # a client that went away is no news


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Http

    def log_message(self, format: str, *args: Any) -> None:
        del format, args

    def do_GET(self) -> None:
        self._respond(b"")

    def do_POST(self) -> None:
        self._respond(self.rfile.read(int(self.headers.get("content-length") or 0)))

    def _respond(self, raw: bytes) -> None:
        owner, path = self.server.owner, self.path.split("?")[0]
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            account = owner.account(headers)
            if self.command == "POST" and path == "/v1/messages":
                message, stream, fault = owner.answer(raw, headers, account)
                owner.seen.append(Seen(self.command, path, headers, raw, 200))
                self._deliver(message, stream, fault)
            else:
                answer = self._other(path, raw, headers)
                owner.seen.append(Seen(self.command, path, headers, raw, 200))
                self._send_json(200, answer)
        except ApiError as error:
            owner.refused.append(f"{error.status} {error}")
            owner.seen.append(Seen(self.command, path, headers, raw, error.status))
            self._send_json(error.status, error.body(), error.headers)

    def _other(self, path: str, raw: bytes, headers: Mapping[str, str]) -> Json:
        owner = self.server.owner
        if self.command == "POST" and path == "/v1/messages/count_tokens":
            return owner.count(raw, headers)
        if self.command == "GET" and path == "/v1/models":
            return {"data": [_model_info(n, c) for n, c in owner.models.items()], "has_more": False}
        if self.command == "GET" and path.startswith("/v1/models/"):
            name = path.rsplit("/", 1)[1]
            return _model_info(name, owner.card(name))
        raise ApiError(404, "not_found_error", f"Not found: {path}")

    def _send_json(self, status: int, body: Json, headers: Mapping[str, str] | None = None) -> None:
        self._send(status, "application/json", json.dumps(body).encode(), headers or {})

    def _send(self, status: int, kind: str, data: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {"content-type": kind, "content-length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.send_header("request-id", "req_local")
        self.end_headers()
        self.wfile.write(data)

    def _deliver(self, message: Json, stream: bool, fault: Fault) -> None:
        if fault.kind == "html":
            self._send(200, "text/html", b"<p>a page", {})
        elif fault.kind == "drop" and not fault.after:
            self._reset()
        elif stream:
            self._stream(_broken(events(message), fault), fault)
        else:
            content = [{k: v for k, v in block.items() if k != "_cut"} for block in message["content"]]
            self._send_json(200, {**message, "content": content})

    def _stream(self, told: Iterator[Json | str], fault: Fault) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.send_header("request-id", "req_local")
        self.end_headers()
        for event in told:
            if event == "reset":
                self._reset()
                return
            data = event if isinstance(event, str) else json.dumps(event, ensure_ascii=False)
            name = event["type"] if isinstance(event, dict) else "content_block_delta"
            raw = f"event: {name}\ndata: {data}\n\n".encode()
            middle = len(raw) // 2  # two chunks: a client must not count on whole events, nor on whole characters
            for part in (raw[:middle], raw[middle:]):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            self.wfile.flush()
            if fault.kind == "slow":
                time.sleep(fault.delay_s)
        self.wfile.write(b"0\r\n\r\n")

    def _reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()


def _broken(told: Iterator[Json], fault: Fault) -> Iterator[Json | str]:
    """Yield the events of a stream, and what the fault puts in their place after the first few."""
    for number, event in enumerate(told):
        if number < fault.after or fault.kind not in ("midstream", "drop", "end", "garbage"):
            yield event
            continue
        if fault.kind == "midstream":
            yield {"type": "error", "error": {"type": fault.error, "message": fault.message or "planned error"}}
        elif fault.kind == "drop":
            yield "reset"
        elif fault.kind == "garbage":
            yield '{"type": "content_block_delta", '
        return


def _model_info(name: str, card: Card) -> Json:
    return {
        "id": name,
        "type": "model",
        "display_name": name,
        "created_at": "2026-09-22T00:00:00Z",
        "lifecycle": "active",
        "max_input_tokens": card.window,
        "max_tokens": card.max_output,
    }
