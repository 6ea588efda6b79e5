"""Where this user's skills lie: the one place of the command line that knows."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from manusfs.errors import NoWorkspace

if TYPE_CHECKING:
    from manusfs.cli.app import App
    from manusfs.skills import Skills
    from manusfs.workspace.settings import Settings

__all__ = ["folder_of", "skills_of"]


def skills_of(app: App, folder: Path | None, settings: Settings) -> Skills:
    """Return the skills that this user has in `folder`, or without a workspace."""
    from manusfs.skills import Facts, Homes, Skills

    home = Path.home()
    trust, managed = app.trust, app.config_dir / "skills"
    facts = Facts(
        has_program=lambda name: shutil.which(name) is not None, has_variable=lambda name: bool(os.environ.get(name))
    )
    return Skills(
        workspace=folder,
        settings=settings,
        homes=Homes(managed=managed, personal=home / ".agents" / "skills", home=home),
        facts=facts,
        approved=lambda: trust.skills(folder) if folder is not None else {},
    )


def folder_of(app: App) -> Path | None:
    """Return the workspace here or above, None where there is none and none was named."""
    try:
        return app.find()
    except NoWorkspace:
        if app.explicit:
            raise
        return None
