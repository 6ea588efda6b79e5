"""The laboratory: recorded runs replayed under each policy, and what each costs and keeps."""

from manusfs.lab.bench import BASELINES, Outcome, contestants, measure, rows
from manusfs.lab.bound import Bound, Schedule, Sizes, Want, best
from manusfs.lab.cost import Bill, Cache, Prices
from manusfs.lab.measures import Measures, Reach, total
from manusfs.lab.needs import Need, needs_of
from manusfs.lab.plot import plot
from manusfs.lab.readers import read_runs
from manusfs.lab.recording import Call, Recording, Result, Step
from manusfs.lab.replay import Contestant, Terms, blocks_of, replay, sizes_of
from manusfs.lab.stage import Stage, staged

__all__ = [
    "BASELINES",
    "Bill",
    "Bound",
    "Cache",
    "Call",
    "Contestant",
    "Measures",
    "Need",
    "Outcome",
    "Prices",
    "Reach",
    "Recording",
    "Result",
    "Schedule",
    "Sizes",
    "Stage",
    "Step",
    "Terms",
    "Want",
    "best",
    "blocks_of",
    "contestants",
    "measure",
    "needs_of",
    "plot",
    "read_runs",
    "replay",
    "rows",
    "sizes_of",
    "staged",
    "total",
]
