"""Skills: what there is, whether it may be used, and how it stands in the catalogue; YAML enters here only."""

from __future__ import annotations

__all__: list[str] = []
