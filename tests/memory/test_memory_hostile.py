"""What hostile servers send costs the agent little memory and ends; what came is kept and told."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

_CHILD = """
    import json, resource, sys
    sys.path.insert(0, sys.argv[1])
    from manusfs.memory import Workspace
    from manusfs.workspace.settings import Settings

    def peak():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> (20 if sys.platform == "darwin" else 10)

    settings = Settings(
        allow_hosts=("127.0.0.1",), robots=False, host_delay_s=0.0, fetch_retries=0, fetch_timeout_s=15.0,
        extract_seconds=5,
    )
    base, told = sys.argv[3], {}
    with Workspace.create(sys.argv[2], settings) as workspace:
        for path in ("/small", "/text"):
            assert workspace.add(base + path).ok
        before = peak()
        for path in sys.argv[4:]:
            added = workspace.add(base + path)
            told[path] = [peak() - before, added.ref, added.error, added.note, added.bytes]
        ok = workspace.verify().ok
    print(json.dumps([told, ok]))
"""
_SERVER = """
    import gzip, sys, time, zlib
    sys.path.insert(0, sys.argv[1])
    from servers.web import Raw, Reply, WebServer

    def packed(size, times=1):
        made = zlib.compressobj(9, wbits=31)
        data = b"".join(made.compress(bytes(1 << 20)) for _ in range(size)) + made.flush()
        for _ in range(times - 1):
            data = gzip.compress(data)
        return data

    def endless(kind, part):
        def parts():
            yield b"HTTP/1.1 200 OK\\r\\nContent-Type: " + kind + b"\\r\\n\\r\\n"
            while True:
                yield part * 4096
        return lambda request: Raw(parts())

    def drip(head):
        def parts():
            yield head
            while True:
                yield b"X-Drip: 1\\r\\n" if head.endswith(b"OK\\r\\n") else b"x"
                yield 0.2
        return lambda request: Raw(parts())

    OK = b"HTTP/1.1 200 OK\\r\\n"
    pages = {
        "/small": "<p>" + "small words " * 2000,
        "/text": Reply(b"words " * 5000, content_type="text/plain"),
        "/bomb": Reply(packed(300), headers={"Content-Encoding": "gzip"}, content_type="text/html"),
        "/nested": Reply(packed(300, 3), headers={"Content-Encoding": "gzip, gzip, gzip"}),
        "/layers": Reply(packed(1, 3), headers={"Content-Encoding": ", ".join(["gzip"] * 200)}),
        "/inside": Reply(packed(300, 2), headers={"Content-Encoding": "gzip"}, content_type="application/gzip"),
        "/endless": endless(b"text/plain", b"words of a page \\n"),
        "/lying": endless(b"application/pdf", b"words of a page \\n"),
        "/html": endless(b"text/html", b"<p>words of a page"),
        "/pdf": endless(b"application/pdf", b"%PDF-1.7 1 0 obj "),
        "/deep": "<div>" * 100_000 + "deep" + "</div>" * 100_000,
        "/siblings": "<p>word</p>" * 100_000,
        "/entities": Reply(
            '<!DOCTYPE x [<!ENTITY a "' + "a" * 1000 + '">' + "".join(
                f'<!ENTITY {chr(98 + n)} "{("&" + chr(97 + n) + ";") * 10}">' for n in range(10)
            ) + "]><x>&k;</x>", content_type="application/xml"),
        "/headers": lambda request: Raw([OK + b"".join(b"H%d: %s\\r\\n" % (n, b"x" * 900) for n in range(5000))]),
        "/drip": drip(OK + b"Content-Type: text/plain\\r\\n\\r\\n"),
        "/drip-headers": drip(OK),
    }
    with WebServer(pages) as web:
        print(web.url("").rstrip("/"), flush=True)
        sys.stdin.read()
"""
HOSTILE = "/bomb /nested /layers /inside /endless /lying /html /pdf /deep /siblings /entities /headers".split()
DRIPS = ["/drip", "/drip-headers"]


@pytest.mark.slow
def test_hostile_answers_cost_at_most_50_mb_and_end(tmp_path: Path) -> None:
    """Promise 8: bombs in one coding and in several, bodies and headers without end, deep and long pages, entities."""
    tests = str(Path(__file__).parents[1])
    server = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(_SERVER), tests],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    base = server.stdout.readline().strip()
    try:
        command = [sys.executable, "-c", textwrap.dedent(_CHILD), tests, str(tmp_path / "w"), base, *HOSTILE, *DRIPS]
        done = subprocess.run(command, capture_output=True, text=True, timeout=270, check=False)
    finally:
        server.kill()
        server.communicate()
    assert done.returncode == 0, done.stderr[-2_000:]
    told, whole = json.loads(done.stdout)
    assert whole
    for path, (grown, _, error, note, _) in told.items():
        assert grown <= 50, (path, told)
        assert error or note or path in ("/deep", "/siblings", "/entities", "/inside"), (path, told[path])
    for path in ("/endless", "/bomb", "/drip"):
        assert "incomplete" in told[path][2] and told[path][1], "what came is kept"
    for path in ("/nested", "/layers", "/headers", "/drip-headers"):
        assert told[path][2] and not told[path][1], "nothing half-written"
