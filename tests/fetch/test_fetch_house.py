"""The house rules of the network: one door for each library, and a light way in."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import manusfs

ROOT = Path(manusfs.__file__).parent
DOORS = {
    "httpx": ROOT / "fetch",
    "httpcore": ROOT / "fetch",
    "h11": ROOT / "fetch",
    "protego": ROOT / "fetch" / "robots.py",
    "diskcache": ROOT / "fetch" / "cache.py",
    "ddgs": ROOT / "fetch" / "providers" / "ddgs.py",
}


def imported(file: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names | {name.partition(".")[0] for name in names}


def test_the_network_has_one_door() -> None:
    """I7: whoever else imported httpx would go round the guard; no socket is opened anywhere else either."""
    for file in ROOT.rglob("*.py"):
        names = imported(file)
        for library, door in DOORS.items():
            assert library not in names or file == door or door in file.parents, f"{file} imports {library}"
        dials = names & {"urllib3", "requests", "aiohttp", "ftplib", "urllib.request", "http.client"}
        assert not dials, f"{file} imports {dials}"


def test_only_the_guard_builds_clients() -> None:
    """F6, I7: no client, transport or backend of httpx's own is ever made."""
    makers = ("httpx.Client(", "httpx.HTTPTransport(", "httpx.get(", "httpx.stream(", "SyncBackend(", "ConnectionPool(")
    used = [
        (file.name, maker) for file in (ROOT / "fetch").rglob("*.py") for maker in makers if maker in file.read_text()
    ]
    assert sorted(used) == [("network.py", "SyncBackend("), ("transport.py", "ConnectionPool(")]


def test_naming_the_room_loads_nothing_heavy() -> None:
    """STYLE 7."""
    code = "import sys, manusfs.fetch, manusfs.fetch.providers; print(*set(sys.argv[1:]) & set(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code, *DOORS], capture_output=True, text=True, check=True).stdout
    assert out.strip() == ""
