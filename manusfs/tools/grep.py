"""The tool that finds an exact text or a pattern."""

from __future__ import annotations

from manusfs.errors import ToolError
from manusfs.records import Shown, TextPart, escape
from manusfs.tools.env import ToolEnv
from manusfs.tools.schema import tool

__all__ = ["grep"]

_MOST = 100


@tool
def grep(env: ToolEnv, pattern: str, regex: bool = False, within: str | None = None, limit: int = 30) -> Shown:
    """Find each line that holds an exact text, or fits a regular expression, in stored texts, notes and reports.

    The answer gives each line (long ones cut round the match) with the ref of its bytes and its number. It is literal
    by default and takes no account of meaning: for a topic use `search`. A pattern that takes too long is stopped.

    Args:
        pattern: The text to find, letter case included; with `regex` a Python regular expression.
        regex: Take `pattern` as a regular expression.
        within: Look only in this: the ref of one observation, a path or a folder, for example notes/.
        limit: How many lines at most, 1 to 100.
    """
    if not pattern:
        raise ToolError("`pattern` is empty", hint="give the text to find")
    if not 1 <= limit <= _MOST:
        raise ToolError(f"`limit` must be 1 to {_MOST}, not {limit}")
    matches = env.workspace.grep(pattern, regex=regex, within=within or None, limit=limit)
    head = f'<matches pattern="{escape.field(pattern, 200)}" total="{len(matches)}">'
    note = escape.field(getattr(matches, "note", ""), 400)
    if not matches:
        said = note or "Nothing matches. Try a shorter text, or search(query) for the topic."
        return Shown((TextPart(f"{head}\n{said}\n</matches>"),))
    lines = [head]
    for match in matches:
        lines.append(
            f'<match ref="{escape.field(match.ref, 400)}" path="{escape.field(match.path, 300)}" line="{match.line}">'
        )
        lines += [escape.body(match.text), "</match>"]
    if note:
        lines.append(f"note: {note}")
    refs = [match.ref for match in matches if match.ref.startswith("obs:")]
    return Shown((TextPart("\n".join([*lines, "</matches>"])),), details={"hits": refs})
