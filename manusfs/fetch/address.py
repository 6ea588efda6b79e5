"""Which addresses may be dialled: the public ones by explicit lists, and those that the user allowed."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass

from manusfs.errors import ConfigError

__all__ = ["Allowed", "is_public"]

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network

# `is_global` is no filter: on Python 3.11.7 it is True for multicast, for 168.63.129.16 (a cloud's metadata server)
# and for IPv6 forms that carry a loopback address inside. So every range that is refused stands here.
_V4_REFUSED = tuple(
    ipaddress.IPv4Network(network)
    for network in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "168.63.129.16/32",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "192.175.48.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
    )
)
# Global unicast only. What is outside (loopback, link- and site-local, unique local, multicast, NAT64, IPv4-compatible)
# is refused without a list.
_V6_PUBLIC = ipaddress.IPv6Network("2000::/3")
_V6_REFUSED = tuple(
    ipaddress.IPv6Network(network)
    for network in (
        "2001::/23",  # Teredo, ORCHID, benchmarking and other special purposes
        "2001:db8::/32",
        "2002::/16",  # 6to4 carries any IPv4 address
        "2620:4f:8000::/48",
        "3fff::/20",
    )
)


def is_public(address: str) -> bool:
    """Return True if `address`, the text of an IPv4 or IPv6 address, is one of the public internet.

    Decides on resolved addresses only; a name, a short form such as "127.1" or an address with a scope id is False.
    The ranges are IANA's special-purpose registries, plus one cloud's metadata address that they do not list.
    """
    parsed = _parse(address)
    if isinstance(parsed, ipaddress.IPv4Address):
        return not any(parsed in network for network in _V4_REFUSED)
    if parsed is None or parsed.scope_id is not None:
        return False
    return parsed in _V6_PUBLIC and not any(parsed in network for network in _V6_REFUSED)


def _parse(address: str) -> _Address | None:
    """Return the address, an IPv4-mapped one as the IPv4 address that it stands for."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return None
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.scope_id is None and parsed.ipv4_mapped is not None:
        return parsed.ipv4_mapped
    return parsed


@dataclass(frozen=True, slots=True)
class _Entry:
    network: _Network | None
    name: str
    port: int | None


class Allowed:
    """What the user allowed beyond the public internet: names, addresses and networks, each with an optional port.

    `localhost`, `intra.example:8080`, `10.1.2.3`, `10.0.0.0/8:443`, `::1`, `fd00::/8`, `[::1]:8000`. An IPv6 entry with
    a port stands in brackets.

    Raises:
        ConfigError: an entry is none of these.
    """

    def __init__(self, hosts: Iterable[str] = ()) -> None:
        self._entries = tuple(_entry(host) for host in hosts if host.strip())

    def permits(self, host: str, port: int, address: str) -> bool:
        """Return True if `address`, which `host` resolved to, may be dialled on `port`."""
        if is_public(address):
            return True
        parsed = _parse(address)
        return parsed is not None and any(_matches(entry, _bare(host), port, parsed) for entry in self._entries)


def _matches(entry: _Entry, host: str, port: int, address: _Address) -> bool:
    if entry.port is not None and entry.port != port:
        return False
    if entry.network is None:
        return entry.name == host
    return address.version == entry.network.version and address in entry.network


def _bare(host: str) -> str:
    return host.lower().rstrip(".")


def _entry(text: str) -> _Entry:
    host, port = _split_port(text.strip())
    try:
        network: _Network | None = ipaddress.ip_network(host, strict=False)
    except ValueError:
        network = None
    plain = host.replace("-", "").replace(".", "").replace("_", "")
    if (port is not None and not 0 < port < 65_536) or (network is None and not (plain.isascii() and plain.isalnum())):
        raise ConfigError(
            f"allow_hosts: {text!r} is no name, address or network",
            hint="write for example localhost, 10.0.0.0/8, intra.example:8080 or [::1]:8000",
        )
    return _Entry(network, "" if network else _bare(host), port)


def _split_port(text: str) -> tuple[str, int | None]:
    if text.startswith("["):
        host, bracket, rest = text[1:].partition("]")
        if not bracket:
            return text, None
        if rest:
            return host, int(rest[1:]) if rest[0] == ":" and rest[1:].isdecimal() else -1
        return host, None
    if text.count(":") == 1:
        host, _, port = text.partition(":")
        return host, int(port) if port.isdecimal() else -1
    return text, None
