"""`cite`, `verify` and `index`: does what is claimed stand there, and is everything whole."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from manusfs.cli.app import App
from manusfs.cli.named import typed
from manusfs.cli.out import data, emit, human_bytes, talk
from manusfs.cli.types import ReportPath
from manusfs.errors import NotFound
from manusfs.records import counted

if TYPE_CHECKING:
    from manusfs.memory.links import Links
    from manusfs.memory.verify import Report
    from manusfs.workspace.paths import Root

__all__ = ["cite", "index", "verify"]

_LINES = "nothing but a copy can bring back what a transcript lost: its whole lines load, the rest is kept aside"


@click.command()
@click.argument("report", type=ReportPath())
@click.option("--fix", is_flag=True, help="Set the right span where a quote stands elsewhere in its source.")
@click.option("--json", "as_json", is_flag=True, help="One object a citation, then one with total and verified.")
@click.pass_context
def cite(context: click.Context, report: str, fix: bool, as_json: bool) -> None:
    """Check a report's quotes against the stored bytes.

    "exact" is byte for byte; "normalised" is word for word with other white space, quotation marks, dashes or markup.
    Both are verified. A span that ends past the end of its source is not. What the report's session never saw is told,
    and claims without a citation are listed. --fix also makes the links of the footnotes anew: to the stored text at
    its line, and to the page at its words.

    REPORT is a path in the workspace, a path from here that leads there, or a name in reports/.

    \b
    Examples:
      manusfs cite reports/20261130-ab12-1.md
      manusfs cite reports/20261130-ab12-1.md --fix

    Exit codes: 0 every quote stands in its span, 12 one does not, 1 no such report, 78 no workspace.
    """
    from manusfs.agent.standing import shown_refs
    from manusfs.memory import citations
    from manusfs.memory.footnotes import footnotes
    from manusfs.memory.links import links, relinked

    with App(context).open() as workspace:
        root = workspace.folder.root
        report = _report(root, report)
        text = root.read_edited(report).decode("utf-8", "replace")
        if fix:
            fixed, count = citations.fix(text, workspace.resolver)
            fixed = relinked(fixed, workspace.resolver, "../" * report.count("/"))
            if fixed != text:
                root.write_atomic(report, fixed.encode("utf-8"))
                text = fixed
            talk(context, f"{counted(count, 'span')} set right")
        checked = citations.check(text, workspace.resolver, shown_refs(workspace.folder, report))
        opens = {note.label: found for note in footnotes(text) if (found := links(note, workspace.resolver))}
    for citation in checked.all:
        if as_json:
            emit({**citation.to_json(), **_opens(opens.get(citation.label))})
        else:
            data(
                f"[^{citation.label}] {citation.state:<10} {citation.ref}"
                + (f"  {citation.message}" if citation.message else "")
            )
    if as_json:
        totals = {"total": checked.total, "verified": checked.verified, "normalised": checked.normalised}
        emit({**totals, "uncited": list(checked.uncited)})
    else:
        stand = "stands word for word in its span" if checked.total == 1 else "stand word for word in their span"
        if checked.total:
            data(f"{checked.verified} of {counted(checked.total, 'citation')} {stand}")
        else:
            data(f"{report} has no citations")
        for state in dict.fromkeys(citation.state for citation in checked.all if citation.state != "exact"):
            data(f"{state}: {citations.STATES[state]}")
        for claim in checked.uncited:
            data(f"no citation: {claim[:120]}")
    context.exit(0 if checked.ok else 12)


def _opens(found: Links | None) -> dict[str, Any]:
    """Return what a footnote opens, as `cite --json` prints it: a file with its line, and a page."""
    if found is None:
        return {"path": "", "path_line": 0, "page": ""}
    return {"path": found.path, "path_line": found.line, "page": found.page}


def _report(root: Root, given: str) -> str:
    """Return the workspace path of the report `given`.

    Raises:
        NotFound: there is none.
    """
    tried = [] if given.startswith(("/", "~", "..")) else [given, f"reports/{given}", f"reports/{given}.md"]
    path = Path(given).expanduser().resolve()
    if path.is_relative_to(root.path.resolve()):
        tried.append(path.relative_to(root.path.resolve()).as_posix())
    for place in tried:
        if place != "." and ".." not in place.split("/") and root.exists(place) and not root.is_dir(place):
            return place
    raise NotFound(f"no report {given!r} in this workspace", hint="`manusfs ls reports` lists them")


@click.command()
@click.option(
    "--repair", is_flag=True, help="Mend what can be mended; keep the rest and say what is lost. Nothing is deleted."
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="One object: observations, bytes, refs, damaged, lost, lost_for_good, ok and more.",
)
@click.pass_context
def verify(context: click.Context, repair: bool, as_json: bool) -> None:
    """Check every stored byte and every ref.

    The network stays off. --repair makes texts again from their raw bytes, takes what the cache has, asks the source of
    a damaged page once, and mends descriptions by their checksum or from the transcripts. Damaged bytes of a transcript
    go to lost+found/, its whole lines stay. What nothing gives back stays where it is, beside what is whole, and is
    told as lost for good.

    \b
    Examples:
      manusfs verify
      manusfs verify --repair --json

    Exit codes: 0 all is whole, 12 something is damaged or lost, 75 locked, 78 no workspace.
    """
    with App(context).open() as workspace:
        found = workspace.verify(repair=repair)
    if as_json:
        emit(found.to_json())
        context.exit(0 if found.ok else 12)
    groups = {"damaged": found.damaged, "lost": found.lost, "lost for good": found.lost_for_good}
    kept = [entry for entry in found.repaired if "kept as it is" in entry]
    repaired = [entry for entry in found.repaired if entry not in kept]
    for title, entries in {**groups, "leads nowhere": found.dangling, "repaired": repaired, "kept": kept}.items():
        for entry in entries:
            data(f"{title}: {entry}")
    if found.orphans:
        talk(context, f"{counted(len(found.orphans), 'observation')} that no transcript names: whole and kept")
    checked = f"{counted(found.observations, 'observation')} and transcripts, {human_bytes(found.bytes)} read"
    data(typed(f"{checked}, {counted(found.refs, 'ref')}: {_state(found, repair)}"))
    context.exit(0 if found.ok else 12)


def _state(found: Report, repair: bool) -> str:
    """Return in words how it stands, and what to do where that helps."""
    if found.ok:
        wrong = f", but {counted(len(found.dangling), 'ref')} in notes or reports never led anywhere"
        return f"all whole{wrong if found.dangling else ''}"
    gone = [*found.damaged, *found.lost, *found.lost_for_good]
    lines = sum(entry.startswith(("msg:", "sessions/")) for entry in gone)
    if not repair and (found.damaged or found.lost):
        mends = "`manusfs verify --repair` mends what can be mended and sets damaged bytes of a transcript aside"
        return f"not whole: {mends}{f'; {_LINES}' if lines else ''}"
    ways = ["only `manusfs add` of the same file or page can bring an observation back"] if lines < len(gone) else []
    return f"all else is whole; {len(gone)} lost for good: {'; '.join([*ways, _LINES] if lines else ways)}"


@click.group()
def index() -> None:
    """Make the index anew.

    The index is derived from the folder and may be deleted at any time; it is made anew by itself when it is missing or
    damaged.

    \b
    Example:
      manusfs index rebuild

    Exit codes: 0 done, 78 no workspace.
    """


@index.command()
@click.option("--json", "as_json", is_flag=True, help="One object: observations.")
@click.pass_context
def rebuild(context: click.Context, as_json: bool) -> None:
    """Make the index anew from the tree.

    \b
    Example:
      manusfs index rebuild

    Exit codes: 0 done, 78 no workspace.
    """
    with App(context).open() as workspace:
        count = workspace.rebuild_index()
    if as_json:
        emit({"observations": count})
    else:
        data(f"indexed {counted(count, 'observation')}")
