"""Every setting: its meaning, default, where its value came from, and which ones a stranger's folder may not set."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

from manusfs.errors import ConfigError, UsageError

__all__ = ["OWNER_ONLY", "PINNED", "Effective", "Settings", "load", "parse_toml"]


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings with their defaults. Sizes are characters unless the name says otherwise."""

    model: str = ""
    """Model to ask; empty: `claude-sonnet-5-5` when a key is set, else `offline`."""
    base_url: str = ""
    """Base URL of a server that speaks the Messages API; empty: the provider's own."""
    max_tokens: int = 16_000
    """Most tokens of one reply."""
    window: int = 0
    """Tokens of the model's window; 0: what is known of the model."""
    policy: str = "manus"
    """Compaction policy: manus, claude-code, gemini-cli, openclaw, auto, none, or one that is installed."""

    inline_chars: int = 2_000
    """A result up to this size stands in the context whole."""
    preview_chars: int = 600
    """What a born stub shows of a larger one."""
    find_passages: int = 3
    """How many passages a stub shows when the call said what it is looking for."""
    find_chars: int = 400
    """Size of each such passage."""
    read_chars: int = 16_000
    """Most that one `read` shows."""
    read_share: float = 0.3
    """Most that one `read` shows, as a share of the window."""
    read_lines: int = 2_000
    """Most lines that one `read` shows; 0: no limit."""
    read_bytes: int = 51_200
    """Most bytes that one `read` shows; 0: no limit."""
    read_tokens: int = 25_000
    """Most tokens, by the estimate, that one `read` shows; 0: no limit."""
    search_results: bool = False
    """Give what is read as `search_result` blocks, which Claude cites by itself; off for servers that lack these."""
    message_chars: int = 200_000
    """Most of all results of one turn together; what is beyond it stands as a ref. 0: only the window limits it."""
    startup_file_chars: int = 12_000
    """Most of one start-up file (AGENTS.md) that goes into the opening; more keeps 75 % head and 25 % tail."""
    startup_total_chars: int = 60_000
    """Most of all start-up files together, the plan included."""
    recite_tokens: int = 20_000
    """The to-do is repeated after this much growth of the window."""

    max_turns: int = 200
    """A run stops, resumable, after this many replies; 0: no limit."""
    max_seconds: int = 0
    """A run stops, resumable, after this many seconds; 0: no limit."""
    max_total_tokens: int = 0
    """A run stops, resumable, after this many tokens in and out; 0: no limit."""
    max_usd: float = 0.0
    """A run stops, resumable, when this much money is spent; 0: no limit. Needs a model with known prices."""
    max_pages: int = 0
    """Pages that the offline model may follow from the given ones; 0: none."""

    user_agent: str = ""
    """User-Agent sent to web servers; empty: the truthful default with the project's address."""
    robots: bool = True
    """Respect robots.txt."""
    allow_hosts: tuple[str, ...] = ()
    """Names, addresses or networks (with an optional :port) that may be reached although they are not public."""
    host_delay_s: float = 1.0
    """Least time between two requests to one host."""
    fetch_timeout_s: float = 60.0
    """Most time of one attempt to fetch, in all."""
    fetch_retries: int = 2
    """How often a fetch that can pass by waiting is tried again."""
    max_wire_bytes: int = 40_000_000
    """Most bytes taken from the network for one body."""
    max_body_bytes: int = 40_000_000
    """Most bytes of one decoded body."""
    cache_bytes: int = 1 << 30
    """Size of the disk cache of HTTP bodies; least recently used go first."""
    cache_fresh_s: int = 3_600
    """A cached page this young is served without asking its server."""
    extract_seconds: int = 20
    """Most CPU and wall time for the text of one document."""
    extract_memory_mb: int = 1_024
    """Most memory for the text of one document."""

    search_provider: str = "none"
    """Web search: none, searxng, brave, tavily or ddgs."""
    searxng_url: str = ""
    """Base URL of a SearXNG server."""
    tavily_keyless: bool = False
    """Use Tavily without a key; queries then go to that company."""
    ddgs_own_network: bool = False
    """Let the web search `ddgs` use its own network client, which our guard on addresses does not see."""
    write_skills: bool = False
    """Let the model write under skills/."""
    shell: bool = False
    """Let the model run commands: in a sandbox where bubblewrap is installed, else with your rights."""
    shell_seconds: int = 60
    """Most seconds, and most of CPU, of one command."""
    shell_output_bytes: int = 1_000_000
    """Most output of one command; at more it is stopped."""
    shell_memory_mb: int = 2_048
    """Most memory of each process of a command, and most of each file that it writes."""

    summary_model: str = ""
    """Model that writes summaries, which may be a cheaper one; empty: the session's. `offline` writes none."""
    summary_tokens: int = 4_000
    """Most tokens of a summary; 0: none is ever asked for."""
    summary_trim: float = 0.2
    """Share of the oldest turns that leaves a request for a summary, again and again, while it would not fit."""
    manus_share: float = 0.5
    """`manus` compacts at this share of the window …"""
    manus_tokens: int = 128_000
    """… or at this many tokens, whichever is less."""
    auto_hope: float = 0.25
    """Turns that `auto` expects to come for each that has been (docs/compaction.md)."""
    auto_again: float = 0.2
    """Chance, as it reckons, that a large result which it folds is read again."""
    auto_least: float = 0.11
    """Share of the window, of 200,000 tokens at most, that it frees at least, unless that costs nothing."""
    auto_ledgers: float = 0.22
    """Share of the same that its ledgers may take before the oldest collapse to one line each."""
    auto_keep: int = 3
    """Newest turns that may stay in full; how many do is part of its decision."""
    auto_inline_chars: int = 5_000
    """Under it, a result up to this size stands in the context whole."""
    auto_user_chars: int = 400
    """What an epoch of it repeats of each of your messages but the task and the newest ten, which have 2,000."""
    claude_code_share: float = 0.92
    """`claude-code` compacts at this share of the window …"""
    claude_code_reserve: int = 13_000
    """… or this many tokens below it, whichever is less."""
    claude_code_messages: int = 5
    """Newest messages that it keeps word for word."""
    claude_code_reads: int = 5
    """Newest reads of the summarised part that it keeps in the window …"""
    claude_code_read_tokens: int = 20_000
    """… while they take at most this many tokens together."""
    claude_code_next_step: bool = True
    """Whether its summary has the ninth part, the next step."""
    claude_code_result_chars: int = 50_000
    """Under it, a result up to this size stands in the context whole …"""
    claude_code_preview_chars: int = 2_000
    """… a larger one shows this much …"""
    claude_code_message_chars: int = 200_000
    """… and all results of one turn take at most this much."""
    gemini_cli_share: float = 0.7
    """`gemini-cli` compacts at this share of the window."""
    gemini_cli_keep: float = 0.3
    """Share of the history, the newest, that it keeps word for word."""
    openclaw_share: float = 0.5
    """`openclaw` compacts at this share of the window."""
    openclaw_parts: int = 2
    """Chunks of equal size of which it drops the oldest, after a summary in as many passes."""
    openclaw_ask_first: bool = True
    """Whether the model gets a turn for notes before that."""
    openclaw_idle_s: float = 300.0
    """After this many seconds without a request, when the provider's cache is gone, it prunes old results; 0: never."""
    openclaw_trim_share: float = 0.3
    """Then, above this share of the window, they are folded …"""
    openclaw_clear_share: float = 0.5
    """… and where that leaves more than this share, they become a ledger."""
    openclaw_keep_turns: int = 3
    """Newest turns that pruning leaves alone."""
    openclaw_result_chars: int = 16_000
    """Under it, a result shows at most this much, head and, where it matters, tail …"""
    openclaw_result_share: float = 0.3
    """… or this share of the window, whichever is less."""

    skills_disabled: tuple[str, ...] = ()
    """Skills that are off, by name; "all" switches skills off altogether."""
    skills_bundled: tuple[str, ...] = ("all",)
    """Those of the skills that ship with manusfs that may be used, by name; an empty list for none."""
    skills_extra_roots: tuple[str, ...] = ()
    """Further folders of skills, which every other place stands before; relative ones begin at the workspace."""
    skills_share: float = 0.02
    """The catalogue of skills takes at most this share of the window …"""
    skills_chars: int = 16_000
    """… or this many characters, whichever is less."""

    task_depth: int = 1
    """How deep sub-agents may begin sub-agents; 0: there are none."""
    task_children: int = 100
    """Most sub-agents of one session; 0: no limit."""
    task_turns: int = 60
    """A sub-agent ends after this many replies; 0: no limit of its own."""
    task_tokens: int = 2_000_000
    """A sub-agent ends after this many tokens in and out; 0: no limit of its own."""
    task_seconds: int = 1_800
    """A sub-agent ends after this many seconds; 0: no limit of its own."""
    task_usd: float = 0.0
    """A sub-agent ends when this much is spent; 0: no limit of its own. What it spends counts for its parent too."""
    task_result_chars: int = 6_000
    """What is shown at once of a sub-agent's result; the whole is an observation."""
    task_files: tuple[str, ...] = ("AGENTS.md",)
    """Files that stand at the beginning of a sub-agent's context."""
    task_tools: tuple[str, ...] = ()
    """The only tools that a sub-agent may have, of those of its parent; empty: the usual ones (subagents.md)."""
    task_models: tuple[str, ...] = ()
    """Models that an agent file may name beside the session's own and `offline`."""


_MOST = 1 << 53  # beyond it a float is not exact
_LIMITS = frozenset(
    "max_turns host_delay_s fetch_timeout_s fetch_retries max_wire_bytes max_body_bytes cache_bytes "
    "extract_seconds extract_memory_mb task_depth task_children task_turns task_tokens".split()
)
OWNER_ONLY = _LIMITS | frozenset(
    "model summary_model base_url allow_hosts searxng_url search_provider tavily_keyless robots write_skills "
    "ddgs_own_network shell shell_seconds shell_output_bytes shell_memory_mb task_files task_models task_tools "
    "user_agent skills_disabled skills_bundled skills_extra_roots".split()
)
"""What widens access, directs keys, spends or takes of the machine: from a stranger only when trusted."""

PINNED = OWNER_ONLY - _LIMITS - {"model", "skills_disabled", "skills_bundled"}
"""Those that wait for `manusfs trust` in the user's own folder too, once they changed there: a tool, a pull or a paste
may have edited the file. The model is the user's to choose, and which of the skills at hand are on."""


@dataclass(frozen=True, slots=True)
class Effective:
    """The settings in force, where each came from, and what was left out and why."""

    settings: Settings
    origins: Mapping[str, str]
    """For each name: "flag", "environment", the workspace's or the user's file, or "default"."""
    warnings: tuple[str, ...] = ()


def parse_toml(data: bytes, where: str) -> dict[str, Any]:
    """Return the table in `data`, the content of the settings file `where`.

    Raises:
        ConfigError: it is not valid TOML.
    """
    try:
        return tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"settings file {where!r} is not valid TOML: {error}", hint=f"correct {where}") from error


def load(
    flags: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
    workspace: Mapping[str, Any] | None = None,
    user: Mapping[str, Any] | None = None,
    *,
    trusted: bool = True,
    own: bool = False,
    places: Mapping[str, str] | None = None,
) -> Effective:
    """Return the settings in force: flag over environment over workspace file over user's file over default.

    `environment` maps setting names (not variable names) to texts. Keys in `OWNER_ONLY` (of the user's `own` folder:
    in `PINNED`) from a workspace file that is not `trusted` are left out with one warning that names them. The key
    `format` of a workspace file is not a setting. `places` says where a file of settings lies, by its origin.

    Raises:
        ConfigError: an unknown key, with the nearest valid one, or a value of the wrong type.
    """
    values: dict[str, Any] = {}
    origins = dict.fromkeys(_hints(), "default")
    guarded = frozenset[str]() if trusted else PINNED if own else OWNER_ONLY
    waiting: list[str] = []
    for origin, table in (
        ("user file", user),
        ("workspace file", workspace),
        ("environment", environment),
        ("flag", flags),
    ):
        for name, value in (table or {}).items():
            if value is None or (name == "format" and origin == "workspace file"):
                continue
            if origin == "workspace file" and name in guarded:
                waiting.append(name)
                continue
            values[name] = _checked(name, value, origin, (places or {}).get(origin, origin))
            origins[name] = origin
    return Effective(Settings(**values), origins, _warnings(waiting))


def _warnings(waiting: list[str]) -> tuple[str, ...]:
    if not waiting:
        return ()
    names = ", ".join(f"`{name}`" for name in waiting)
    what = f"the setting {names} waits" if len(waiting) == 1 else f"the settings {names} wait"
    return (f"{what} in this folder's manusfs.toml for your word: `manusfs trust`",)


@cache
def _hints() -> dict[str, Any]:
    hints = get_type_hints(Settings)
    return {field.name: hints[field.name] for field in fields(Settings)}


def _checked(name: str, value: Any, origin: str, place: str) -> Any:
    hints = _hints()
    if name not in hints:
        raise ConfigError(f"unknown setting {name!r} ({place})", hint=_nearest(name, value))
    try:
        made = _convert(value, hints[name], from_text=origin == "environment")
        if name in _CHECKS:
            _CHECKS[name](made)
        return made
    except (TypeError, ValueError) as error:
        kind = UsageError if origin == "flag" else ConfigError
        raise kind(f"setting {name!r} ({place}): {error}", hint=f"it takes {_wording(name)}") from error


def _nearest(name: str, value: Any) -> str:
    if isinstance(value, dict):
        return f"settings stand without sections: take the line [{name}] out"
    import difflib

    near = difflib.get_close_matches(name, _hints(), n=1, cutoff=0.4)
    return f"did you mean {near[0]!r}?" if near else "`manusfs config` lists all settings"


def _check_url(value: str) -> None:
    parts = urlsplit(value)
    if value and (parts.scheme not in ("http", "https") or not parts.hostname):
        raise ValueError(f"not the address of a server: {value!r}")


def _check_share(value: float) -> None:
    if value > 1:
        raise ValueError(f"not a share: {value!r}")


_SHARES = frozenset(
    "read_share skills_share manus_share claude_code_share gemini_cli_share gemini_cli_keep openclaw_share "
    "openclaw_trim_share openclaw_clear_share openclaw_result_share auto_again auto_least auto_ledgers".split()
)
_CHECKS: Mapping[str, Callable[[Any], None]] = {
    "base_url": _check_url,
    "searxng_url": _check_url,
    **dict.fromkeys(_SHARES, _check_share),
}
_TAKES = {
    "base_url": "an http or https URL, like http://127.0.0.1:8080",
    "searxng_url": "an http or https URL, like http://127.0.0.1:8888",
    **dict.fromkeys(_SHARES, "a number from 0 to 1"),
}


def _convert(value: Any, hint: Any, *, from_text: bool) -> Any:
    if get_origin(hint) is tuple:
        items = [item.strip() for item in value.split(",") if item.strip()] if isinstance(value, str) else value
        if not isinstance(items, list | tuple) or not all(isinstance(item, get_args(hint)[0]) for item in items):
            raise TypeError(f"not a list of texts: {value!r}")
        return tuple(items)
    if hint is bool:
        if isinstance(value, bool):
            return value
        words = {
            "true": True,
            "yes": True,
            "1": True,
            "on": True,
            "false": False,
            "no": False,
            "0": False,
            "off": False,
        }
        if from_text and isinstance(value, str) and value.lower() in words:
            return words[value.lower()]
        raise TypeError(f"neither true nor false: {value!r}")
    if hint in (int, float):
        if isinstance(value, bool) or not isinstance(value, (str | int | float) if from_text else (int | float)):
            raise TypeError(f"not a number: {value!r}")
        try:
            number = hint(value)
        except (ValueError, OverflowError) as error:
            raise ValueError(f"not a {'whole ' if hint is int else ''}number: {value!r}") from error
        if not 0 <= number <= _MOST or (isinstance(value, float) and hint is int and number != value):
            raise ValueError(f"not a number that it can take: {value!r}")
        return number
    if not isinstance(value, str):
        raise TypeError(f"not a text: {value!r}")
    return value


def _wording(name: str) -> str:
    hint = _hints()[name]
    if get_origin(hint) is tuple:
        return "a list of texts"
    usual = {int: "a whole number from 0", float: "a number from 0", bool: "true or false"}.get(hint, "a text")
    return _TAKES.get(name, usual)
