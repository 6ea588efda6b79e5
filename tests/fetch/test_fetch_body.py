"""Reading bodies with limits: F4, cases n01, n03, n04, n14."""

from __future__ import annotations

import gzip
import itertools
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from servers.web import Raw, Reply, WebServer

from manusfs.errors import Refused
from manusfs.fetch import Fetcher
from manusfs.fetch.body import Body, read_body

Make = Callable[..., Fetcher]
LIMIT = 1_000_000


class Parts(httpx.SyncByteStream):
    def __init__(self, parts: list[bytes], error: Exception | None = None) -> None:
        self.parts, self.error, self.closed = parts, error, False

    def __iter__(self) -> Iterator[bytes]:
        yield from self.parts
        if self.error:
            raise self.error

    def close(self) -> None:
        self.closed = True


def read(
    data: bytes | list[bytes], coding: str = "", wire: int = LIMIT, most: int = LIMIT, error: Exception | None = None
) -> Body:
    stream = Parts([data] if isinstance(data, bytes) else data, error)
    headers = {"content-encoding": coding} if coding else {}
    request = httpx.Request("GET", "http://example.org/page")
    body = read_body(httpx.Response(200, headers=headers, stream=stream, request=request), max_wire=wire, max_body=most)
    assert stream.closed
    return body


def bare(data: bytes) -> bytes:
    engine = zlib.compressobj(wbits=-15)
    return engine.compress(data) + engine.flush()


PACKERS = {"gzip": gzip.compress, "x-gzip": gzip.compress, "deflate": zlib.compress, "bare deflate": bare, "": bytes}


@given(data=st.binary(max_size=2_000), name=st.sampled_from(sorted(PACKERS)), cuts=st.lists(st.integers(0, 2_000)))
def test_what_was_packed_comes_out_whatever_the_pieces(data: bytes, name: str, cuts: list[int]) -> None:
    """I1: byte for byte, for gzip, deflate in both forms, and identity, cut anywhere on the wire."""
    packed = PACKERS[name](data)
    borders = [0, *sorted(min(cut, len(packed)) for cut in cuts), len(packed)]
    pieces = [packed[a:b] for a, b in itertools.pairwise(borders)]
    body = read(pieces, name.removeprefix("bare "))
    assert (body.data, body.complete) == (data, True)


@pytest.mark.parametrize("name", ["gzip", "deflate", "bare deflate"])
def test_a_coding_that_stops_early_is_told_and_what_came_is_kept(name: str) -> None:
    """I9: a clean end of the connection does not make a torn body whole."""
    packed = PACKERS[name](bytes(range(256)) * 50)
    body = read(packed[: len(packed) // 2], name.removeprefix("bare "))
    assert not body.complete and "stops before its end" in body.notes[0]
    assert (bytes(range(256)) * 50).startswith(body.data)


def test_several_gzip_members_are_one_body() -> None:
    """RFC 1952: members may follow each other."""
    assert read(gzip.compress(b"one ") + gzip.compress(b"two"), "gzip").data == b"one two"


def test_what_follows_the_end_of_a_coding_is_told() -> None:
    """I9: left out, and said so; padding with zeros is no content."""
    body = read(gzip.compress(b"page") + b"trailer", "gzip")
    assert (body.data, body.complete, body.notes) == (
        b"page",
        True,
        ("7 bytes after the end of the gzip data were left out",),
    )
    assert read(gzip.compress(b"page") + b"\0" * 9, "gzip").notes == ()


def test_endless_empty_members_end() -> None:
    """F4: members without content cost time, and no size limit sees them."""
    body = read(gzip.compress(b"") * 20_000, "gzip")
    assert not body.complete and "members" in body.notes[0]


def test_a_body_that_is_not_packed_as_declared_is_kept_as_it_came() -> None:
    """I1: the bytes that came are the truth, the header a claim."""
    for coding in ("gzip", "deflate"):
        body = read(b"<p>plain", coding)
        assert (body.data, body.complete, body.coding) == (b"<p>plain", True, "") and "declared" in body.notes[0]


def test_damaged_data_keeps_what_came_before() -> None:
    """I9."""
    packed = bytearray(gzip.compress(bytes(1_000) + b"end" * 1_000, 0))
    packed[-3] ^= 0xFF
    body = read(bytes(packed), "gzip")
    assert not body.complete and "damaged" in body.notes[0]
    assert body.data == bytes(1_000) + b"end" * 1_000, "only the checksum behind it is wrong"
    packed = bytearray(gzip.compress(b"".join(b"%d words of a page\n" % n for n in range(20_000))))
    packed[len(packed) // 2 : len(packed) // 2 + 9] = b"\xff" * 9
    for parts in ([bytes(packed)], [bytes(packed[at : at + 1_000]) for at in range(0, len(packed), 1_000)]):
        body = read(parts, "gzip")
        assert not body.complete and body.data.startswith(b"0 words of a page\n1 words")
        assert len(body.data) > 100_000


@pytest.mark.parametrize("coding", ["utf-8", "none", "binary", "aws-chunked", "x-\x1b[1mred", "UTF-8, gzip"])
def test_a_word_that_is_no_coding_takes_nothing_away(coding: str) -> None:
    """I1: servers write a charset or any other word there; the bytes are the page all the same."""
    page = b"<p>plain"
    body = read(gzip.compress(page) if "gzip" in coding else page, coding)
    assert (body.data, body.complete) == (page, True)
    assert "no coding" in body.notes[0] and body.notes[0].isprintable()


@pytest.mark.parametrize("coding", ["br", "zstd", "compress", "dcb"])
def test_a_coding_that_is_not_unpacked_is_refused_by_its_name(coding: str) -> None:
    with pytest.raises(Refused, match=f"the coding '{coding}', which was not asked for"):
        read(b"\x0b\x02\x80", coding)


@given(st.integers(0, 300), st.integers(1, 200))
def test_the_decoded_limit_cuts_exactly(size: int, most: int) -> None:
    """F4: a body that just fits is whole, one byte more is cut, at the limit."""
    for coding, packed in (("", bytes(size)), ("gzip", gzip.compress(bytes(size)))):
        body = read(packed, coding, most=most)
        assert body.complete is (size <= most) and len(body.data) == min(size, most)


def test_the_wire_limit_cuts_and_says_so() -> None:
    """n14."""
    body = read([b"a" * 600, b"b" * 600], wire=1_000)
    assert (body.data, body.complete) == (b"a" * 600 + b"b" * 400, False)
    assert "1000 bytes from the network (max_wire_bytes)" in body.notes[0]


@pytest.mark.parametrize("coding", ["gzip, gzip", "gzip, identity, br", "br", "zstd", "gzip, " * 2_000 + "gzip"])
def test_more_than_one_coding_or_a_strange_one_is_refused(coding: str) -> None:
    """n01, n03: refused before a byte is unpacked."""
    stream = Parts([b"x"])
    request = httpx.Request("GET", "http://example.org/page")
    with pytest.raises(Refused) as error:
        response = httpx.Response(200, headers={"content-encoding": coding}, stream=stream, request=request)
        read_body(response, max_wire=LIMIT, max_body=LIMIT)
    assert stream.closed and error.value.hint and "example.org" in str(error.value) and len(str(error.value)) < 300


def test_a_lost_connection_keeps_what_came() -> None:
    """n04."""
    body = read(b"<p>only", error=httpx.RemoteProtocolError("peer closed connection"))
    assert (body.data, body.complete, body.broken) == (b"<p>only", False, True) and "7 bytes" in body.notes[0]


def test_a_bomb_costs_no_more_memory_than_its_limit(fetcher: Make) -> None:
    """n01, F4: 256 MiB behind a small body, a limit of 10 MB, less than 50 MB more memory in a fresh process."""
    engine = zlib.compressobj(9, wbits=31)
    bomb = b"".join(engine.compress(bytes(1 << 20)) for _ in range(256)) + engine.flush()
    child = """
import resource, sys
from manusfs.fetch import Fetcher, FetchOptions
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
options = FetchOptions(allow_hosts=("127.0.0.1",), robots=False, max_body_bytes=10_000_000)
with Fetcher(options) as fetcher:
    fetcher.fetch(sys.argv[1] + "/plain")
    before = peak()
    fetched = fetcher.fetch(sys.argv[1] + "/bomb")
    print(len(fetched.raw), fetched.complete, (peak() - before) // 1024)
"""
    with WebServer({"/plain": "x", "/bomb": Reply(bomb, headers={"Content-Encoding": "gzip"})}) as web:
        out = subprocess.run(
            [sys.executable, "-c", child, web.url("")], capture_output=True, text=True, check=True, timeout=120
        ).stdout.split()
    assert out[:2] == ["10000000", "False"]
    assert int(out[2]) < 50


def test_an_endless_body_ends_at_the_limit(fetcher: Make) -> None:
    """n14: chunk after chunk, until the limit."""

    def endless() -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        while True:
            yield b"1000\r\n" + b"a" * 4_096 + b"\r\n"

    with WebServer({"/": lambda _: Raw(endless())}) as web:
        fetched = fetcher(max_wire_bytes=300_000).fetch(web.url())
    assert len(fetched.raw) == 300_000 and not fetched.complete and "max_wire_bytes" in fetched.notes[0]
