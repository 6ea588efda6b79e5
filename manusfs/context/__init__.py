"""What the model sees: events folded to a window, and the window assembled to a request. Pure: no I/O, no clock."""

from manusfs.context.assemble import Assembler, assemble
from manusfs.context.items import Form, Item, Section
from manusfs.context.opening import Caps, first_opening, later_opening
from manusfs.context.reader import Reader
from manusfs.context.tokens import Calibration, estimate, estimate_block
from manusfs.context.window import Exchange, Window, fold

__all__ = [
    "Assembler",
    "Calibration",
    "Caps",
    "Exchange",
    "Form",
    "Item",
    "Reader",
    "Section",
    "Window",
    "assemble",
    "estimate",
    "estimate_block",
    "first_opening",
    "fold",
    "later_opening",
]
