"""What arguments and options take, in words and when the shell completes them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from manusfs.workspace.folder import Folder

__all__ = [
    "Amount",
    "Count",
    "FolderPath",
    "PolicyName",
    "RefText",
    "ReportPath",
    "SessionName",
    "SkillName",
    "SourceText",
]

_ID = re.compile(r"[0-9a-f]{12,64}([/@].*)?\Z")
_MOST = 200
"""Suggestions that a shell is given."""


class Count(click.IntRange):
    """A whole number."""

    name = "whole number"


class Amount(click.FloatRange):
    """A number."""

    name = "number"


class SourceText(click.ParamType[str]):
    """A URL, a file or "-"; the shell completes files."""

    name = "url|file"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Let the shell offer its files."""
        return [CompletionItem(incomplete, type="file")]


class FolderPath(click.ParamType[str]):
    """A folder; the shell completes folders."""

    name = "dir"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Let the shell offer its folders."""
        return [CompletionItem(incomplete, type="dir")]


class _Known(click.ParamType[str]):
    """A text of which the shell is told some that are legal."""

    name = "text"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return those that begin with what was typed; nothing that goes wrong here may be seen in the shell."""
        try:
            found = sorted({text for text in self.known(ctx, incomplete) if text.startswith(incomplete)})
        except Exception:  # noqa: BLE001 (a traceback in the middle of a line that is being typed helps nobody)
            found = []
        return [CompletionItem(text) for text in found[:_MOST]]

    def known(self, ctx: click.Context, incomplete: str) -> Iterable[str]:
        """Return the legal texts."""
        raise NotImplementedError


class PolicyName(_Known):
    """A compaction policy."""

    name = "name"

    def known(self, ctx: click.Context, incomplete: str) -> Iterable[str]:
        """Return our own policies."""
        from manusfs.compact import policy_names

        return policy_names()


class SessionName(_Known):
    """A session."""

    name = "session"

    def known(self, ctx: click.Context, incomplete: str) -> Iterable[str]:
        """Return the sessions here."""
        return _in_workspace(ctx, lambda folder: (entry.name for entry in folder.root.listdir("sessions")))


class SkillName(_Known):
    """A skill."""

    name = "name"

    def known(self, ctx: click.Context, incomplete: str) -> Iterable[str]:
        """Return the skills that there are, here and of the user."""
        from manusfs.cli.app import App
        from manusfs.cli.skill_roots import folder_of, skills_of
        from manusfs.workspace.settings import Settings

        app = App(ctx)
        return skills_of(app, folder_of(app), Settings()).names


class ReportPath(_Known):
    """A report, by its path from here or in the workspace, or by its name."""

    name = "report"

    def known(self, ctx: click.Context, incomplete: str) -> Iterable[str]:
        """Return the reports here."""
        return _in_workspace(ctx, lambda f: (path for path in f.root.walk("reports") if not path.endswith("README.md")))

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the workspace's reports, else the shell's files."""
        return super().shell_complete(ctx, param, incomplete) or [CompletionItem(incomplete, type="file")]


class RefText(_Known):
    """A ref, a path or a URL; also the bare id of an observation, as bash completes words only from a ":" on."""

    name = "ref"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text, an id with what makes it a ref."""
        return f"obs:{value}" if _ID.match(value) else value

    def known(self, ctx: click.Context, incomplete: str) -> Iterable[str]:
        """Return the observations here, notes and reports; a shell that parts words at ":" gets what is behind it."""
        ids = _in_workspace(ctx, _ids)
        files = _in_workspace(ctx, lambda f: [path for place in ("notes", "reports") for path in f.root.walk(place)])
        return [*(f"obs:{id}" for id in ids), *ids, *files]

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return refs where one is begun, else the workspace's files."""
        found = super().shell_complete(ctx, param, incomplete)
        bare = [item for item in found if item.value.startswith(("obs:", "notes/", "reports/"))]
        return bare or found


def _ids(folder: Folder) -> list[str]:
    return [
        path.rpartition("-")[2].partition("/")[0]
        for path in folder.root.walk("observations")
        if path.endswith("/meta.json")
    ]


def _in_workspace(ctx: click.Context, find: Callable[[Folder], Iterable[str]]) -> list[str]:
    from manusfs.cli.app import App
    from manusfs.workspace.folder import Folder

    asked: Any = ctx.find_root().params.get("workspace")
    with Folder.open(Path(asked) if asked else App(ctx).find()) as folder:
        return list(find(folder))
