"""A web server on this machine for tests: pages, redirects, broken bodies, slow ones, TLS; it records what was asked.

    with WebServer({"/": "<p>hello", "/old": redirect("/")}) as web:
        web.url("/old")          # "http://127.0.0.1:<port>/old"
        web.requests             # what came, in order

A page is a text (HTML), bytes, a `Reply`, a `Raw`, or a function of the request that returns one of these.
"""

from __future__ import annotations

import mimetypes
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Request:
    """What a client asked; header names are lower-cased."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes = b""


@dataclass(frozen=True)
class Reply:
    """A well-formed answer with its length."""

    body: bytes | str = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "text/html; charset=utf-8"


@dataclass(frozen=True)
class Raw:
    """An answer as its bytes: each part is sent, each number is seconds of silence; then the connection closes."""

    parts: Iterable[bytes | float]


Page = str | bytes | Reply | Raw | Callable[[Request], Any]


def redirect(to: str, status: int = 302) -> Reply:
    """Return an answer that sends the client to `to`."""
    return Reply(status=status, headers={"Location": to})


def folder(root: Path) -> Callable[[Request], Reply]:
    """Return a page that serves the files under `root` by their path."""

    def serve(request: Request) -> Reply:
        path = (root / request.path.partition("?")[0].lstrip("/")).resolve()
        if not path.is_relative_to(root.resolve()) or not path.is_file():
            return Reply("not found", 404)
        kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        return Reply(path.read_bytes(), content_type=kind)

    return serve


class WebServer:
    """Serves `pages` by exact path (with its query, else without) on 127.0.0.1; "*" is for all others."""

    def __init__(self, pages: Mapping[str, Page] | None = None, *, tls: ssl.SSLContext | None = None) -> None:
        self.pages: dict[str, Page] = dict(pages or {})
        self.requests: list[Request] = []
        self.connections = 0
        self._tls = tls
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = int(self._listener.getsockname()[1])
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._closed = False
        self._threads = [threading.Thread(target=self._accept, daemon=True)]

    def __enter__(self) -> WebServer:
        self._threads[0].start()
        return self

    def __exit__(self, *error: object) -> None:
        self._closed = True
        # A plain close does not wake a thread that stands in accept().
        with socket.socket() as knock:
            knock.connect(("127.0.0.1", self.port))
        self._threads[0].join(5)
        self._listener.close()
        with self._lock:
            for connection in self._open:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
        for thread in self._threads[1:]:
            thread.join(5)

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        """Return the URL of `path` on this server, spelled with `host`."""
        return f"{'https' if self._tls else 'http'}://{host}:{self.port}{path}"

    def asked(self, path: str) -> list[Request]:
        """Return the requests for `path`."""
        return [request for request in self.requests if request.path == path]

    def _accept(self) -> None:
        while not self._closed:
            connection, _ = self._listener.accept()
            if self._closed:
                connection.close()
                return
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(30)
        with self._lock:
            self.connections += 1
            self._open.add(connection)
        try:
            if self._tls is not None:
                wrapped = self._tls.wrap_socket(connection, server_side=True)
                with self._lock:
                    self._open.add(wrapped)
                connection = wrapped
            with connection.makefile("rb") as reader:
                while (request := _read(reader)) is not None and self._answer(connection, request):
                    pass
        except OSError:
            pass  # the client went away, as some tests want it to
        finally:
            connection.close()

    def _answer(self, stream: socket.socket, request: Request) -> bool:
        with self._lock:
            self.requests.append(request)
        page = self.pages.get(request.path, self.pages.get(request.path.partition("?")[0], self.pages.get("*")))
        while callable(page):
            page = page(request)
        if isinstance(page, Raw):
            for part in page.parts:
                if self._closed:
                    break
                time.sleep(part) if isinstance(part, int | float) else stream.sendall(part)
            return False
        reply = page if isinstance(page, Reply) else Reply("not found", 404) if page is None else Reply(page)
        stream.sendall(_wire(reply, request.method))
        return "close" not in (request.headers.get("connection", ""), reply.headers.get("Connection", ""))


def _read(reader: Any) -> Request | None:
    line = reader.readline(65_536).split()
    if len(line) != 3:
        return None
    headers: dict[str, str] = {}
    while (header := reader.readline(65_536).strip()) != b"":
        name, _, value = header.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    body = reader.read(int(headers.get("content-length", "0")))
    return Request(line[0].decode("latin-1"), line[1].decode("latin-1"), headers, body)


def _wire(reply: Reply, method: str) -> bytes:
    body = reply.body.encode() if isinstance(reply.body, str) else reply.body
    headers = {"Content-Type": reply.content_type, "Content-Length": str(len(body)), **reply.headers}
    if reply.status in (204, 304):
        body = b""
        headers.pop("Content-Length")
    head = f"HTTP/1.1 {reply.status} Status\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return head.encode("latin-1") + b"\r\n" + (b"" if method == "HEAD" else body)
