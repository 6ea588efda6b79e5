"""`replay`: recorded runs under each policy, and what each costs and keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from manusfs.cli.app import App
from manusfs.cli.out import data, emit, line, talk
from manusfs.cli.types import Amount, Count
from manusfs.errors import NoWorkspace, StorageError, UsageError
from manusfs.records import counted

if TYPE_CHECKING:
    from manusfs.lab import Outcome, Terms

__all__ = ["replay"]

_COLUMNS = "policy              cost   input    peak    mean  cached  reads  breaks  invalid  lost  bound"
_LEGEND = """
cost, input     against `naive`, a history that only grows with every result in full; less is better
peak, mean      tokens of the largest and of the average request
cached          share of the tokens that the provider's cache gave
reads           times more that something had to be read again
breaks          requests that did not begin with the one before
invalid         thinking blocks that a change before them made invalid
lost            things taken from results that no ref leads back to
bound           cost against the best schedule in hindsight; - where none was looked for"""


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--policy",
    "policies",
    multiple=True,
    default=("all",),
    show_default=True,
    help="A policy, a baseline (naive, clear-oldest, mask-old), or all; may be given again.",
)
@click.option("--window", type=Count(8_000), default=200_000, show_default=True, help="Tokens of the window.")
@click.option("--max-tokens", type=Count(1), default=8_000, show_default=True, help="Kept for a reply.")
@click.option("--head-tokens", type=Count(0), default=3_000, show_default=True, help="System and tools.")
@click.option("--turn-seconds", type=Amount(0), default=20.0, show_default=True, help="From turn to turn.")
@click.option("--cache-seconds", type=Amount(0), default=300.0, show_default=True, help="Life of the cache.")
@click.option("--read-price", type=Amount(0), default=0.1, show_default=True, help="Of a cached token.")
@click.option("--write-price", type=Amount(0), default=1.25, show_default=True, help="Of one that is cached.")
@click.option("--bound/--no-bound", default=True, help="Also find the best schedule in hindsight.")
@click.option("--each", is_flag=True, help="Tell each run, not the sums by source alone.")
@click.option("--plot", type=click.Path(dir_okay=False, path_type=Path), help="Draw the window over time to this SVG.")
@click.option("--plot-runs", type=Count(1), default=4, show_default=True, help="Largest runs that are drawn.")
@click.option("--json", "as_json", is_flag=True, help="One object a policy and run or source; see docs/compaction.md.")
@click.pass_context
def replay(context: click.Context, /, files: tuple[Path, ...], **options: Any) -> None:
    """Replay recorded runs under each compaction policy and measure them.

    FILES hold recorded runs: one a line, plain or gzip, in one of five formats (docs/compaction.md). Costs are in units
    of one uncached input token; ratios are against a history that only grows, with every result in full. Nothing is
    sent anywhere.

    \b
    Examples:
      manusfs replay runs.jsonl.gz --policy all --plot window.svg
      manusfs replay sessions/20261130-ab12 --policy auto --json

    Exit codes: 0 done, 1 the plot can't be written, 2 usage: no recorded run in a file, or no policy of that name.
    """
    from manusfs.lab import Prices, Terms, contestants, measure, read_runs

    settings = App(context).settings().settings
    prices = Prices(
        options["write_price"],
        options["read_price"],
        life_s=options["cache_seconds"],
        turn_s=options["turn_seconds"],
    )
    terms = Terms(options["window"], options["max_tokens"], options["head_tokens"], prices)
    field = contestants(options["policies"], settings, terms)
    outcomes: list[Outcome] = []
    for file in [_found(App(context), file) for file in files]:
        for run in read_runs(file):
            talk(context, f"{len(outcomes) + 1}: {line(run.name, 60)}, {counted(len(run.steps), 'turn')}")
            outcomes.append(measure(run, field, terms, settings, bound=options["bound"]))
    _tell(context, outcomes, terms, each=options["each"], as_json=options["as_json"])
    if options["plot"] is not None:
        _draw(options["plot"], outcomes, options["plot_runs"])


def _found(app: App, file: Path) -> Path:
    """Return where `file` is: from here, else in the workspace.

    Raises:
        UsageError: in neither.
    """
    if not file.exists() and not file.is_absolute():
        try:
            inside = app.find() / file
        except NoWorkspace:
            inside = file
        file = inside if inside.exists() else file
    if not file.exists():
        raise UsageError(f"there is no {str(file)!r}, neither here nor in a workspace", hint="manusfs ls sessions")
    return file if file.name else file.resolve()  # "." is called by its name


def _tell(context: click.Context, outcomes: Sequence[Outcome], terms: Terms, *, each: bool, as_json: bool) -> None:
    from manusfs.lab import rows

    found = list(rows(outcomes, terms.prices, each=each))
    if as_json:
        for row in found:
            emit(row)
        return
    told: list[list[str]] = []
    for of in dict.fromkeys(row["of"] for row in found):
        group = [row for row in found if row["of"] == of]
        lines = [_line(row) for row in group]
        if lines not in told:  # a run alone of its source, or a source alone, has the same figures
            told.append(lines)
            data("\n".join([f"\n{line(of, 60)}: {counted(group[0]['runs'], 'run')}", _COLUMNS, *lines]))
    talk(context, _LEGEND)


def _line(row: Mapping[str, Any]) -> str:
    bound = "     -" if row["bound_ratio"] is None else f"{row['bound_ratio']:>6.3f}"
    return (
        f"{row['policy']:<16} {row['cost_ratio']:>7.3f} {row['input_ratio']:>7.3f} {row['peak_tokens']:>7} "
        f"{row['mean_tokens']:>7} {row['read_share']:>7.3f} {row['extra_reads']:>6} {row['prefix_breaks']:>7} "
        f"{row['thinking_invalid']:>8} {row['needs']['lost']:>5} {bound}"
    )


def _draw(path: Path, outcomes: Sequence[Outcome], most: int) -> None:
    from manusfs.lab import plot

    largest = sorted(outcomes, key=lambda outcome: -outcome.measures[0].sum_input)[:most]
    try:
        path.write_text(plot([(outcome.run.name, outcome.measures) for outcome in largest]), "utf-8")
    except OSError as error:
        raise StorageError(f"can't write {str(path)!r}: {error.strerror}", hint="check the folder") from error
