"""A web server with as many different texts of 50 KB as are asked for, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

from _texts import english

__all__ = ["Server", "text_of"]

_TEXTS = 40
_MADE: list[bytes] = []


def text_of(number: int) -> bytes:
    """Return the text behind `/number`."""
    if not _MADE:
        _MADE.extend(text.encode() for text in english(_TEXTS, seed=7))
    return b"Page number %d of the long run.\n\n" % number + _MADE[number % _TEXTS]


class Server:
    """The server while it runs; `url(n)` is where text `n` is."""

    def __enter__(self) -> Self:
        self._child = subprocess.Popen([sys.executable, __file__], stdout=subprocess.PIPE, stdin=subprocess.PIPE)
        assert self._child.stdout is not None
        self._port = int(self._child.stdout.readline())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._child.communicate()

    def url(self, number: int) -> str:
        """Return the address of text `number`."""
        return f"http://127.0.0.1:{self._port}/{number}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Or each body waits for the acknowledgement of its headers.
    wbufsize = -1

    def do_GET(self) -> None:
        """Send the text."""
        body = text_of(int(self.path.rsplit("/", 1)[-1]))
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    # With the five of the default, a turn of eight fetches waits seconds for a lost handshake.
    request_queue_size = 128


def _serve() -> None:
    import threading

    text_of(0)
    server = _Server(("127.0.0.1", 0), _Handler)
    print(server.server_address[1], flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    # Until the parent closes its end, however it ends.
    sys.stdin.read()


if __name__ == "__main__":
    _serve()
