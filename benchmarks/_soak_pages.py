"""The pages of the soak, the same for the same number, and a web server for them in a process of its own."""

from __future__ import annotations

import random
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

__all__ = ["Pages", "page"]

_WORDS = (
    "the bridge plant river opened closed north mill valley report figure year council water engine paper iron stone "
    "first last about under over between market letter station harbour kiln cotton wages repair weight timber"
).split()
_SIZES = (900, 6_000, 50_000, 18_000, 1_200, 30_000)


def page(number: int) -> tuple[bytes, str]:
    """Return body and media type of page `number`: plain text of 1 to 50 KB, every fourth one HTML."""
    source = random.Random(number)
    lines, size = [], 0
    while size < _SIZES[number % len(_SIZES)]:
        words = " ".join(source.choice(_WORDS) for _ in range(source.randint(8, 20)))
        lines.append(f"Line {len(lines)} of page {number}: {words}.")
        size += len(lines[-1])
    if number % 4 == 3:
        inner = "".join(f"<p>{line}</p>\n" for line in lines)
        body = f"<html><head><title>Page {number}</title></head><body><h1>Page {number}</h1>{inner}</body></html>"
        return body.encode(), "text/html; charset=utf-8"
    return f"Page {number}\n\n{chr(10).join(lines)}\n".encode(), "text/plain; charset=utf-8"


class Pages:
    """The server while it runs; `url(n)` is where page `n` is."""

    def __enter__(self) -> Self:
        self._child = subprocess.Popen([sys.executable, __file__], stdout=subprocess.PIPE, stdin=subprocess.PIPE)
        assert self._child.stdout is not None
        self.port = int(self._child.stdout.readline())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._child.communicate()

    def url(self, number: int) -> str:
        """Return the address of page `number`."""
        return f"http://127.0.0.1:{self.port}/{number}"


class _Http(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: a client that was killed is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Or each body waits for the acknowledgement of its headers.
    wbufsize = -1

    def do_GET(self) -> None:
        """Send the page."""
        body, kind = page(int(self.path.rsplit("/", 1)[-1]))
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def _serve() -> None:
    import threading

    server = _Http(("127.0.0.1", 0), _Handler)
    print(server.server_address[1], flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()  # until whoever started us is gone


if __name__ == "__main__":
    _serve()
