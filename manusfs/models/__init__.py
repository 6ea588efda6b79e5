"""Who answers: the models, what is known of each, and how one is found by its name."""

from __future__ import annotations

from collections.abc import Callable

from manusfs.errors import ConfigError, UsageError
from manusfs.messages import Model
from manusfs.models.anthropic import OFFICIAL_URL, AnthropicModel, Connection
from manusfs.models.credential import fingerprint
from manusfs.models.profiles import DEFAULT_WINDOW, Described, is_known, profile
from manusfs.models.recorded import RecordedModel
from manusfs.models.scripted import ScriptedModel, call, estimated_usage
from manusfs.registry import Entry, Registry

__all__ = [
    "DEFAULT_MODEL",
    "DEFAULT_WINDOW",
    "MODELS",
    "OFFICIAL_URL",
    "AnthropicModel",
    "Connection",
    "Described",
    "RecordedModel",
    "ScriptedModel",
    "call",
    "default_name",
    "estimated_usage",
    "fingerprint",
    "is_known",
    "load",
    "profile",
]

DEFAULT_MODEL = "claude-sonnet-5-5"
"""The model that is asked when a key is set and none is named."""

MODELS = Registry(
    "models",
    (
        Entry("anthropic", "manusfs.models.anthropic:AnthropicModel"),
        Entry("offline", "manusfs.models.offline:OfflineModel"),
        Entry("scripted", "manusfs.models.scripted:ScriptedModel"),
        Entry("recorded", "manusfs.models.recorded:RecordedModel"),
    ),
)
"""The kinds of models. Others join through the entry point group `manusfs.models` and take no arguments."""


def default_name(key_present: bool) -> str:
    """Return the model to ask when the user names none."""
    return DEFAULT_MODEL if key_present else "offline"


def load(
    name: str,
    *,
    key: str = "",
    base_url: str = "",
    window: int = 0,
    retries: int = 5,
    max_pages: int = 0,
    fetch_info: Callable[[str], Described | None] | None = None,
) -> Model:
    """Return the model called `name`, ready to be asked; nothing is sent yet.

    "offline" is the embedded researcher; "recorded:FILE" replays a transcript; "claude-…", and any name with a
    `base_url`, is asked through the Anthropic SDK; anything else must be an installed entry point. `window` and
    `fetch_info` are as for `profile`; `max_pages` is how many pages the offline model may follow.

    Raises:
        ConfigError: no key for a model that needs one, or a name that nothing here answers to.
        NotFound: the recording can't be read.
    """
    kind, _, rest = name.partition(":")
    if kind == "recorded" and rest:
        return RecordedModel.from_file(rest)
    if name == "offline":
        offline: Model = MODELS.load("offline")(max_pages=max_pages, window=window or DEFAULT_WINDOW)
        return offline
    if name.startswith("claude-") or base_url:
        known = profile(name, window=window, fetch_info=fetch_info)
        return AnthropicModel(name, key=key, base_url=base_url, profile=known, retries=retries)
    return _installed(name)


def _installed(name: str) -> Model:
    try:
        if name in MODELS.names():
            raise UsageError(f"{name!r} is a kind of models, not one of them")
        found: Model = MODELS.load(name)()
    except UsageError as error:
        raise ConfigError(
            f"no model is called {name!r}",
            hint=f"use `offline`, `{DEFAULT_MODEL}`, or any name together with --base-url",
        ) from error
    return found
