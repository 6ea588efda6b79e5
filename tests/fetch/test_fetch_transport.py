"""The guarded network: rebinding, deadlines, headers, TLS names. I7, F5, F6; cases n05, n07, n12."""

from __future__ import annotations

import datetime
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from servers.web import Raw, Reply, WebServer, redirect

from manusfs.errors import AddressRefused, ConfigError, Unavailable
from manusfs.fetch import Allowed, Fetcher
from manusfs.fetch.network import look_up
from manusfs.fetch.transport import GuardedTransport

Make = Callable[..., Fetcher]
Dials = list[tuple[str, int]]


class Names:
    """A resolver that gives the answers that it was told to, one after the other; the last stays."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers, self.asked = list(answers), []

    def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def test_a_name_that_changes_its_address_is_dialled_at_the_judged_one(fetcher: Make, dialled: Dials) -> None:
    """I7: resolved once, and that very address is dialled; rebinding has no second look-up to win."""
    names = Names(["93.184.216.34"], ["127.0.0.1"])
    with pytest.raises(Unavailable):
        fetcher(allow_hosts=(), resolve=names, retries=0).fetch("http://rebind.example/")
    assert names.asked == ["rebind.example"] and dialled == [("93.184.216.34", 80)]


def test_a_retry_judges_anew(fetcher: Make, dialled: Dials) -> None:
    """I7: the second attempt resolves again, and refuses what it then gets."""
    names = Names(["93.184.216.34"], ["169.254.169.254"])
    with pytest.raises(AddressRefused):
        fetcher(allow_hosts=(), resolve=names).fetch("http://rebind.example/")
    assert dialled == [("93.184.216.34", 80)]


def test_one_bad_address_among_good_ones_refuses_the_name(fetcher: Make, dialled: Dials) -> None:
    """I7: any answer that is not allowed refuses, wherever it stands."""
    for answer in (["93.184.216.34", "10.0.0.1"], ["10.0.0.1", "93.184.216.34"], ["2606:4700::1111", "::1"]):
        with pytest.raises(AddressRefused):
            fetcher(allow_hosts=(), resolve=Names(answer)).fetch("http://mixed.example/")
    assert dialled == []


def test_a_redirect_inside_is_refused_before_a_connection(fetcher: Make, dialled: Dials) -> None:
    """n05, n07: metadata address, other schemes, credentials; the only connection is the first one."""
    targets = ["http://169.254.169.254/latest/", "http://10.0.0.1/", "file:///etc/hostname", "http://u:p@127.0.0.1/"]
    for target in targets:
        dialled.clear()
        with WebServer({"/": redirect(target)}) as web:
            with pytest.raises(AddressRefused):
                fetcher().fetch(web.url())
            assert dialled == [("127.0.0.1", web.port)]


def test_an_allowed_port_opens_no_other(fetcher: Make, dialled: Dials) -> None:
    """I7: `allow_hosts` with a port."""
    with WebServer({"/": "in"}) as web, WebServer({"/": "secret"}) as other:
        web.pages["/go"] = redirect(other.url())
        careful = fetcher(allow_hosts=(f"127.0.0.1:{web.port}",))
        assert careful.fetch(web.url()).raw == b"in"
        with pytest.raises(AddressRefused) as error:
            careful.fetch(web.url("/go"))
        assert other.requests == [] and f"127.0.0.1:{other.port}" in error.value.hint


def test_a_proxy_of_the_environment_is_not_used(fetcher: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """I7: a proxy would dial what it likes; nothing of the environment is read."""
    with WebServer({"/": "direct"}) as web, WebServer({"*": "proxied"}) as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url())
        assert fetcher().fetch(web.url()).raw == b"direct" and proxy.requests == []


def test_an_unknown_host_is_told_at_once(fetcher: Make, slept: list[float]) -> None:
    """I9: named, with a hint, and not tried again."""
    with pytest.raises(Unavailable) as error:
        fetcher().fetch("http://no-such-host.example/")
    assert "no-such-host.example" in str(error.value) and error.value.hint and slept == []


def test_a_resolver_that_hangs_is_left_behind(fetcher: Make) -> None:
    """F5: the look-up is inside the deadline too."""
    hang = threading.Event()

    def resolve(host: str, port: int) -> Sequence[str]:
        hang.wait(20)
        return ["127.0.0.1"]

    with pytest.raises(Unavailable) as error:
        fetcher(resolve=resolve, timeout_s=0.2, retries=0).fetch("http://slow.example/")
    assert "within 0.2 s" in str(error.value) and not hang.is_set()
    hang.set()


def test_the_next_address_is_tried_when_one_is_dead(fetcher: Make, dialled: Dials) -> None:
    """A host with several addresses is reached if any is alive."""
    with WebServer({"/": "alive"}) as web:
        found = fetcher(resolve=Names(["93.184.216.34", "127.0.0.1"])).fetch(web.url(host="two.example"))
    assert found.raw == b"alive" and [host for host, _ in dialled] == ["93.184.216.34", "127.0.0.1"]
    assert web.requests[0].headers["host"] == f"two.example:{web.port}"


def drip(head: bytes, piece: bytes, sent: list[int], times: int = 200) -> Iterator[bytes | float]:
    yield head
    for number in range(times):
        sent.append(number)
        yield piece
        yield 0.1


def test_a_body_that_drips_is_cut_at_the_deadline_and_kept(fetcher: Make) -> None:
    """n12, F5: every read succeeds, and still the whole ends."""
    sent: list[int] = []
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"
    with WebServer({"/": Raw(drip(head, b"x", sent))}) as web:
        fetched = fetcher(timeout_s=0.5).fetch(web.url())
        assert len(sent) < 100
    assert fetched.raw == b"x" * len(fetched.raw) and 0 < len(fetched.raw) < 100
    assert not fetched.complete and "fetch_timeout_s" in fetched.notes[0]


def test_headers_that_drip_end_at_the_deadline(fetcher: Make) -> None:
    """F5: one header line after the other never reaches the caller; the stream itself ends it."""
    sent: list[int] = []
    with WebServer({"/": Raw(drip(b"HTTP/1.1 200 OK\r\n", b"X-A: b\r\n", sent))}) as web:
        with pytest.raises(Unavailable) as error:
            fetcher(timeout_s=0.5, retries=0).fetch(web.url())
        assert len(sent) < 100
    assert "within 0.5 s" in str(error.value)


@pytest.mark.parametrize(
    "head",
    [b"HTTP/1.1 200 OK\r\n" + b"X-Long: " + b"a" * 400_000, b"HTTP/1.1 200 OK\r\n" + b"X-A: b\r\n" * 100_000],
    ids=["one line", "many lines"],
)
def test_huge_headers_are_refused_and_not_tried_again(head: bytes, fetcher: Make, slept: list[float]) -> None:
    """F4: headers have a limit too."""
    with WebServer({"/": Raw([head])}) as web:
        with pytest.raises(Unavailable):
            fetcher().fetch(web.url())
        assert len(web.requests) == 1 and slept == []


def test_endless_interim_answers_end(fetcher: Make) -> None:
    """F4: each is a whole answer to the parser, so only a count of bytes sees them."""

    def interim() -> Iterator[bytes]:
        while True:
            yield b"HTTP/1.1 102 Processing\r\n\r\n" * 100

    with WebServer({"/": Raw(interim())}) as web, pytest.raises(Unavailable) as error:
        fetcher().fetch(web.url())
    assert "100000 bytes" in str(error.value)


def test_a_unix_socket_is_refused() -> None:
    """I7."""
    from manusfs.fetch.network import Clock, GuardedBackend

    with pytest.raises(AddressRefused):
        GuardedBackend(Allowed(), Clock(), look_up).connect_unix_socket("/run/x.sock")


def test_a_deadline_of_one_request_does_not_bind_the_next() -> None:
    """F5: the clock is set anew for each request and each part of a body, though one thread makes both."""
    pages = {"/slow": Raw([b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na", 0.2, b"b"]), "/": "x"}
    transport = GuardedTransport(Allowed(["127.0.0.1"]))
    import time

    with WebServer(pages) as web:
        slow = transport.handle_request(
            httpx.Request("GET", web.url("/slow"), extensions={"manusfs_deadline": time.monotonic() + 20})
        )
        parts = slow.iter_raw()
        first = next(parts)
        with pytest.raises(httpx.TimeoutException):
            transport.handle_request(httpx.Request("GET", web.url(), extensions={"manusfs_deadline": 0.0}))
        assert first + b"".join(parts) == b"ab"
    transport.close()


class Authority:
    """A certificate authority of this test, and certificates for names."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test authority")])
        self.file = folder / "ca.pem"
        basic = x509.BasicConstraints(ca=True, path_length=None)
        certificate = self._builder(self.name, self.key.public_key()).add_extension(basic, critical=True)
        identifier = x509.SubjectKeyIdentifier.from_public_key(self.key.public_key())
        signed = certificate.add_extension(identifier, critical=False).sign(self.key, hashes.SHA256())
        self.file.write_bytes(signed.public_bytes(serialization.Encoding.PEM))

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        day = datetime.timedelta(days=1)
        builder = x509.CertificateBuilder().subject_name(subject).issuer_name(self.name).public_key(key)
        builder = builder.serial_number(x509.random_serial_number())
        return builder.not_valid_before(now - day).not_valid_after(now + day)

    def context(self, host: str) -> ssl.SSLContext:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, host)])
        builder = self._builder(subject, key.public_key())
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        file = self.folder / f"{host}.pem"
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        signed = builder.sign(self.key, hashes.SHA256())
        file.write_bytes(private + signed.public_bytes(serialization.Encoding.PEM))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context


def test_tls_is_checked_against_the_name_on_a_shared_fetcher(fetcher: Make, tmp_path: Path) -> None:
    """F6: two names at one address: the second is not served over the connection that was verified for the first."""
    authority = Authority(tmp_path)
    with WebServer({"/": lambda request: Reply(request.headers["host"])}, tls=authority.context("a.test")) as web:
        shared = fetcher(resolve=Names(["127.0.0.1"]), ca_file=str(authority.file))
        good, bad = web.url(host="a.test"), web.url(host="b.test")
        assert shared.fetch(good).raw.decode() == f"a.test:{web.port}"
        with pytest.raises(Unavailable) as error:
            shared.fetch(bad)
        assert "certificate of 'b.test'" in str(error.value)
        assert shared.fetch(good).raw and len(web.requests) == 2


def test_an_unknown_authority_is_refused_without_a_retry(fetcher: Make, tmp_path: Path, slept: list[float]) -> None:
    """I9: verification is never turned off, and waiting does not mend a certificate."""
    authority = Authority(tmp_path)
    with WebServer({"/": "secret"}, tls=authority.context("a.test")) as web:
        with pytest.raises(Unavailable):
            fetcher(resolve=Names(["127.0.0.1"])).fetch(web.url(host="a.test"))
        assert web.requests == [] and slept == []


def test_a_missing_file_of_authorities_is_a_settings_error(fetcher: Make, tmp_path: Path) -> None:
    """I9."""
    with pytest.raises(ConfigError):
        fetcher(ca_file=str(tmp_path / "none.pem")).fetch("http://127.0.0.1:1/")


def test_a_refused_connection_is_tried_again_and_then_told(fetcher: Make, slept: list[float]) -> None:
    """I9: what was tried, how often, what to do."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(Unavailable) as error:
        fetcher(retries=2).fetch(f"http://127.0.0.1:{port}/page")
    assert "tried 3 times" in str(error.value) and error.value.transient and len(slept) == 2
