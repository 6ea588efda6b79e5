"""What a fetcher may be told: limits, manners, and which hosts that are not public it may reach."""

from __future__ import annotations

from dataclasses import dataclass

from manusfs.version import __version__

__all__ = ["FetchOptions"]


@dataclass(frozen=True, slots=True)
class FetchOptions:
    """How to fetch. The fields that are also settings have the meaning and the default that the settings give them."""

    user_agent: str = ""
    """User-Agent sent to web servers; empty: the truthful default."""
    robots: bool = True
    """Respect robots.txt."""
    allow_hosts: tuple[str, ...] = ()
    """Names, addresses or networks (with an optional :port) that may be reached although they are not public."""
    host_delay_s: float = 1.0
    """Least time between the starts of two requests to one host; 0: no waiting, not even for a Crawl-delay."""
    timeout_s: float = 60.0
    """Most time of one attempt in all: looking up names, connecting, TLS, headers, body, redirects."""
    retries: int = 2
    """How often what can pass by waiting is tried again."""
    max_wire_bytes: int = 40_000_000
    """Most bytes taken from the network for one body."""
    max_body_bytes: int = 40_000_000
    """Most bytes of one decoded body."""
    cache_fresh_s: float = 3_600
    """A cached page this young is served without asking its server; a shorter max-age counts."""
    ca_file: str = ""
    """File of certificate authorities to trust instead of the bundled ones; empty: the bundled ones."""

    @property
    def agent(self) -> str:
        """The User-Agent to send."""
        if self.user_agent:
            return self.user_agent
        manners = "; respects robots.txt" if self.robots else ""
        return f"manusfs/{__version__} (research agent{manners})"
