"""The answer as a file: header, text with footnotes, and what the check of its citations found."""

from __future__ import annotations

import re
from dataclasses import dataclass

from manusfs.agent.result import Citations
from manusfs.agent.standing import Standing
from manusfs.memory import Resolver, citations
from manusfs.memory.citations import CitationReport
from manusfs.memory.footnotes import used_labels
from manusfs.memory.links import relinked
from manusfs.records import escape, secrets
from manusfs.workspace.paths import Root

__all__ = ["Header", "Report", "write_report"]

_TITLE_CHARS = 100
_TASK_CHARS = 2_000
_CLAIMS, _CLAIM_CHARS = 10, 160


@dataclass(frozen=True, slots=True)
class Header:
    """What stands above the answer."""

    session: str
    task: str
    date: str
    model: str


@dataclass(frozen=True, slots=True)
class Report:
    """A report that was written: its path, and what the check found."""

    path: str
    answer: str
    """The answer as it stands there."""
    citations: Citations
    problems: tuple[str, ...]


def write_report(root: Root, answer: str, header: Header, resolver: Resolver, standing: Standing) -> Report:
    """Return the report written to `reports/<session>-<n>.md`, n the next that is free.

    Its footnotes are checked against their spans, and refs that the model cites but was never shown are told; so are
    claims without any. In the file each footnote opens the stored text at its line, and the page at its words.
    """
    answer = citations.narrowed(answer, resolver, _own_labels(answer))
    answer, moved = citations.fix(answer, resolver)
    checked = citations.check(answer, resolver, read_refs=standing.refs())
    counts = Citations(checked.total, checked.verified)
    problems = checked.problems
    if moved:
        problems = (*problems, f"{moved} footnotes pointed beside their quote in the same source and were set right")
    path = _free(root, header.session)
    # A report is read on terminals and passed on: nothing in it may act there, whatever a model wrote, or give a secret
    # away that the task's own URLs may hold.
    account = _account(checked, problems)
    text = secrets.text(_text(relinked(answer, resolver), header, account))
    root.write_atomic(path, escape.terminal(text).encode("utf-8"))
    return Report(path, answer, counts, problems)


def _free(root: Root, session: str) -> str:
    numbers = [0]
    if root.is_dir("reports"):
        for entry in root.listdir("reports"):
            if match := re.fullmatch(rf"{re.escape(session)}-(\d+)\.md", entry.name):
                numbers.append(int(match[1]))
    return f"reports/{session}-{max(numbers) + 1}.md"


def _own_labels(answer: str) -> list[str]:
    """Return the labels of the footnotes that were made of a model's own citations (`messages/cited.py`)."""
    return [label for label in used_labels(answer) if re.fullmatch(r"\d+\.\d+", label)]


def _account(checked: CitationReport, problems: tuple[str, ...]) -> list[str]:
    """Return the lines that say how the citations fared, and which claims have none."""
    loose = f" {checked.normalised} of them with other white space, quotation marks, dashes or markup." * bool(
        checked.normalised
    )
    lines = [f"Citations: {checked.verified} of {checked.total} quotes stand word for word in their source.{loose}"]
    lines += [f"* {problem}" for problem in problems]
    if checked.uncited:
        lines += ["", f"Claims without a citation: {len(checked.uncited)}"]
        lines += [f"* “{claim[:_CLAIM_CHARS]}”" for claim in checked.uncited[:_CLAIMS]]
    if len(checked.uncited) > _CLAIMS:
        lines.append(f"* and {len(checked.uncited) - _CLAIMS} more: `manusfs cite` lists them")
    return lines


def _text(answer: str, header: Header, account: list[str]) -> str:
    title = _title(answer, header.task)
    task = header.task.strip()
    task = task if len(task) <= _TASK_CHARS else f"{task[:_TASK_CHARS]} …"
    quoted = "\n".join(f"> {line}".rstrip() for line in task.splitlines())
    lines = [
        f"# {title}",
        "",
        quoted,
        "",
        f"{header.date} · {header.model} · session {header.session}",
        "",
        _body(answer),
        "",
    ]
    lines += ["---", "", *account]
    return "\n".join(lines) + "\n"


def _title(answer: str, task: str) -> str:
    match = re.match(r"\s*#\s+(.+)", answer)
    line = match[1] if match else next((line for line in task.splitlines() if line.strip()), "Report")
    line = " ".join(line.split())
    return line if len(line) <= _TITLE_CHARS else f"{line[: _TITLE_CHARS - 1]}…"


def _body(answer: str) -> str:
    return re.sub(r"\A\s*#\s+.+\n?", "", answer).strip()
