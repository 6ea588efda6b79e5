"""Which addresses may be dialled: I7, case n15."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manusfs.errors import ConfigError
from manusfs.fetch import Allowed, is_public

REFUSED = """
127.0.0.1 127.255.255.254 10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 169.254.169.254 100.64.0.1 100.100.100.200
168.63.129.16 192.0.0.192 192.0.0.9 192.0.0.170 192.0.2.1 192.88.99.0 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1
224.0.0.1 240.0.0.1 255.255.255.255 0.0.0.0 0.1.2.3
:: ::1 ::ffff:127.0.0.1 ::ffff:169.254.169.254 ::ffff:10.0.0.1 ::127.0.0.1 ::169.254.169.254 64:ff9b::7f00:1
64:ff9b::808:808 64:ff9b:1::7f00:1 2002:7f00:1:: 2002:808:808:: 2001:0:7f00:1:: 2001:0::5601:5601 fe80::1
fe80::1%1 fec0::1 fc00::1 fd00:ec2::254 ff02::1 2001:db8::1 2001:1::1 2001:20::1 3fff::1 5f00::1 100::1
2620:4f:8000::1 2606:4700::1111%eth0
""".split()
PUBLIC = "8.8.8.8 93.184.216.34 1.1.1.1 168.63.129.17 2606:4700::1111 2001:4860:4860::8888 2a00:1450::1 ::ffff:8.8.8.8"
NO_ADDRESSES = ["", "localhost", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "8.8.8.8.", "8.8.8.8/32", "[::1]"]


@pytest.mark.parametrize("address", REFUSED)
def test_an_address_that_is_not_public_is_refused(address: str) -> None:
    """I7, n15: loopback, private, link-local, metadata, multicast, and IPv6 forms that carry such an address."""
    assert not is_public(address)


@pytest.mark.parametrize("address", PUBLIC.split())
def test_a_public_address_is_allowed(address: str) -> None:
    """n15."""
    assert is_public(address)


@pytest.mark.parametrize("text", NO_ADDRESSES)
def test_what_is_no_address_is_never_public(text: str) -> None:
    """n17: short and numeric spellings are judged after they were resolved, never before."""
    assert not is_public(text)


@given(st.ip_addresses(v=4))
def test_no_refused_ipv4_address_hides_in_an_ipv6_one(address: ipaddress.IPv4Address) -> None:
    """I7: mapped forms follow the IPv4 address; 6to4, NAT64, Teredo and compatible ones are always refused."""
    number = int(address)
    assert is_public(f"::ffff:{address}") == is_public(str(address))
    for other in (number, (0x64FF9B << 96) | number, (0x2002 << 112) | (number << 80), (0x20010000 << 96) | number):
        assert not is_public(str(ipaddress.IPv6Address(other)))


@given(st.ip_addresses())
def test_python_calls_every_public_address_global_too(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    """I7: our lists are at least as strict as the standard library's."""
    if is_public(str(address)):
        assert address.is_global or getattr(address, "ipv4_mapped", None)


@pytest.mark.parametrize(
    ("entry", "host", "port", "address", "allowed"),
    [
        ("localhost", "localhost", 8000, "127.0.0.1", True),
        ("localhost", "LOCALHOST.", 8000, "::1", True),
        ("localhost", "127.0.0.1", 80, "127.0.0.1", False),
        ("localhost:8000", "localhost", 8000, "127.0.0.1", True),
        ("localhost:8000", "localhost", 22, "127.0.0.1", False),
        ("127.0.0.1", "any.example", 80, "127.0.0.1", True),
        ("127.0.0.1", "any.example", 80, "127.0.0.2", False),
        ("127.0.0.1:80", "x", 81, "127.0.0.1", False),
        ("10.0.0.0/8", "x", 443, "10.9.8.7", True),
        ("10.0.0.0/8", "x", 443, "11.0.0.1", True),
        ("10.0.0.0/8", "x", 443, "192.168.0.1", False),
        ("10.0.0.0/8:443", "x", 80, "10.9.8.7", False),
        ("10.0.0.0/8", "x", 443, "::ffff:10.1.1.1", True),
        ("::1", "x", 80, "::1", True),
        ("[::1]:8000", "x", 8000, "::1", True),
        ("[::1]:8000", "x", 8001, "::1", False),
        ("[::1]", "x", 8001, "::1", True),
        ("fd00::/8", "x", 80, "fd12::1", True),
        ("intra.example", "intra.example", 80, "10.0.0.1", True),
        ("intra.example", "evil.intra.example", 80, "10.0.0.1", False),
    ],
)
def test_an_entry_allows_its_host_and_port_and_no_other(
    entry: str, host: str, port: int, address: str, allowed: bool
) -> None:
    """I7: `allow_hosts` takes names, addresses or networks with an optional port."""
    assert Allowed([entry]).permits(host, port, address) is allowed


@pytest.mark.parametrize(
    "entry", ["http://x/", "*.example", "a b", "x:port", "x:0", "x:99999", "[::1", "10.0.0.0/99", "é"]
)
def test_an_entry_that_is_none_is_a_settings_error(entry: str) -> None:
    """I9: a typing error in the settings does not silently allow nothing, or all."""
    with pytest.raises(ConfigError) as error:
        Allowed([entry])
    assert repr(entry) in str(error.value) and error.value.hint
