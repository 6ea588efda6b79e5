"""`doctor`: what this installation has, what it can reach, and what to do about the rest."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import click

from manusfs.cli.app import App, Keys
from manusfs.cli.named import typed
from manusfs.cli.out import data, emit, human_bytes
from manusfs.errors import ManusfsError, NoWorkspace
from manusfs.workspace.settings import Settings

__all__ = ["doctor"]

_PACKAGES = (
    "anthropic",
    "httpx",
    "trafilatura",
    "pypdf",
    "pypdfium2",
    "resiliparse",
    "diskcache",
    "sqlite-utils",
    "click",
)

_SHOWN = 12
"""Models that are named when the one that is wanted is not among them."""


@dataclass(frozen=True, slots=True)
class _Finding:
    name: str
    ok: bool
    detail: str
    hint: str = ""


@click.command()
@click.option("--offline", is_flag=True, help="Ask no server.")
@click.option("--json", "as_json", is_flag=True, help="One object a check: name, ok, detail, hint.")
@click.pass_context
def doctor(context: click.Context, offline: bool, as_json: bool) -> None:
    """Check this installation.

    Versions, the key and where it was found, the model's server, SQLite, the file system. A key is never printed.

    \b
    Example:
      manusfs doctor --json

    Exit codes: 0 all is well, 1 something is not.
    """
    app = App(context)
    well = True
    for finding in _look(app, offline=offline):
        well = well and finding.ok
        if as_json:
            emit(asdict(finding))
            continue
        data(f"{'ok  ' if finding.ok else 'FAIL'} {finding.name:<12} {finding.detail}")
        if finding.hint:
            data(f"     {'':<12} {typed(finding.hint)}")
    context.exit(0 if well else 1)


def _look(app: App, *, offline: bool) -> Iterator[_Finding]:
    yield _Finding("python", True, platform.python_version())
    yield from _packages()
    folder = _folder(app)
    if isinstance(folder, _Finding):
        yield folder
    settings = _settings(app, folder if isinstance(folder, Path) else None)
    if isinstance(settings, _Finding):
        yield settings
        settings = Settings()  # the rest is looked at all the same, as it would be without them
    else:
        yield from _names(app, settings)
    yield from _disk(app, folder if isinstance(folder, Path) else None)
    yield from _model(settings, Keys.from_environment(), offline=offline)
    yield _search(settings, Keys.from_environment())


def _packages() -> Iterator[_Finding]:
    found, missing = [], []
    for name in _PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    yield _Finding(
        "packages",
        not missing,
        ", ".join(found),
        f"missing: {', '.join(missing)}; install manusfs again" if missing else "",
    )


def _folder(app: App) -> Path | _Finding:
    try:
        return app.find()
    except NoWorkspace as error:
        return _Finding("workspace", app.explicit is None, str(error), error.hint)


def _settings(app: App, folder: Path | None) -> Settings | _Finding:
    try:
        return app.settings(folder).settings
    except ManusfsError as error:
        return _Finding("settings", False, str(error), error.hint)


def _names(app: App, settings: Settings) -> Iterator[_Finding]:
    try:
        app.check(settings)
    except ManusfsError as error:
        yield _Finding("settings", False, str(error), error.hint)


def _disk(app: App, folder: Path | None) -> Iterator[_Finding]:
    from manusfs.store.features import index_features

    place = folder or Path.cwd()
    found = index_features(place)
    hint = "" if found.fts5 else "this Python's SQLite lacks FTS5, which search needs"
    fault = "" if found.wal_reset_fixed else " (has the WAL-reset fault; the index is made anew if it strikes)"
    yield _Finding("sqlite", found.fts5, f"{found.version}, FTS5 {'there' if found.fts5 else 'missing'}{fault}", hint)
    yield _Finding(
        "file system", True, "network: the index uses no WAL" if found.network else "local: the index uses WAL"
    )
    free = shutil.disk_usage(place).free
    yield _Finding(
        "disk", free > 100_000_000, f"{human_bytes(free)} free", "" if free > 100_000_000 else "little is left"
    )
    if folder is None:
        return
    from manusfs.workspace.folder import Folder

    try:
        Folder.open(folder).close()  # which refuses a format that is not known here
        state = app.state(folder, app.table(folder))
    except ManusfsError as error:
        yield _Finding("workspace", False, str(error), error.hint)
        return
    hints = {"stranger": "`manusfs trust` makes its AGENTS.md and settings count"}
    hints["changed"] = "`manusfs trust` approves what was changed of its settings; `manusfs config` says which wait"
    yield _Finding("workspace", True, f"{folder} ({state})", hints.get(state, ""))


def _model(settings: Settings, keys: Keys, *, offline: bool) -> Iterator[_Finding]:
    from manusfs.models import default_name

    name = settings.model or default_name(bool(keys.anthropic))
    where = "ANTHROPIC_API_KEY" if keys.anthropic else "none is set"
    yield _Finding(
        "key", True, where, "" if keys.anthropic else "without a key the offline model answers, with quotes only"
    )
    if name == "offline" or offline:
        yield _Finding("model", True, f"{name}{' (not asked)' if name != 'offline' else ': nothing to reach'}")
        return
    try:
        yield _described(name, settings, keys)
    except ManusfsError as error:
        yield _Finding("model", False, str(error), error.hint)


def _described(name: str, settings: Settings, keys: Keys) -> _Finding:
    from manusfs.models import AnthropicModel, load

    model = load(name, key=keys.anthropic, base_url=settings.base_url, retries=0)
    if not isinstance(model, AnthropicModel):
        return _Finding("model", True, f"{name}: nothing to reach")
    try:
        if model.describe() is not None:
            return _Finding("model", True, f"{name} is known to {model.base_url}")
        offered = model.offered()
    finally:
        model.close()
    if offered is None:
        return _Finding("model", True, f"{model.base_url} answers; it lists no models, so {name} was not checked")
    if name in offered:
        return _Finding("model", True, f"{name} is offered by {model.base_url}")
    some = ", ".join(offered[:_SHOWN]) + (f" and {len(offered) - _SHOWN} more" if len(offered) > _SHOWN else "")
    return _Finding("model", False, f"{name} is not known to {model.base_url}", f"it offers: {some or 'none'}")


def _search(settings: Settings, keys: Keys) -> _Finding:
    name = settings.search_provider
    if name in ("", "none"):
        return _Finding("web search", True, "none", "set search_provider to searxng, brave, tavily or ddgs to offer it")
    needs = {
        "searxng": bool(settings.searxng_url),
        "brave": bool(keys.brave),
        "tavily": bool(keys.tavily) or settings.tavily_keyless,
        "ddgs": settings.ddgs_own_network,
    }
    ready = needs.get(name, True)
    hints = {
        "searxng": "set searxng_url",
        "brave": "set BRAVE_API_KEY",
        "tavily": "set TAVILY_API_KEY or tavily_keyless",
        "ddgs": "set ddgs_own_network: it dials by itself, past the guard on addresses",
    }
    return _Finding("web search", ready, name, "" if ready else hints.get(name, ""))
