"""The laboratory: recorded runs replayed under each policy, and what each costs and keeps."""

from manusfs.lab.cost import Bill, Prices
from manusfs.lab.measures import Measures, Reach, total
from manusfs.lab.readers import read_runs
from manusfs.lab.recording import Call, Recording, Result, Step

__all__ = ["Bill", "Call", "Measures", "Prices", "Reach", "Recording", "Result", "Step", "read_runs", "total"]
