"""What the model sees: events folded to a window, and the window assembled to a request. Pure: no I/O, no clock."""

from manusfs.context.assemble import Assembler, assemble
from manusfs.context.carried import ledger_lines, observed_in
from manusfs.context.children import Child, Children
from manusfs.context.filling import Filling, filling
from manusfs.context.items import Exchange, Form, Item, Key, Section, sent
from manusfs.context.ledger import Ledger
from manusfs.context.opening import Caps, first_opening, frame_sections, later_opening
from manusfs.context.pairs import pair_tokens, pair_turns
from manusfs.context.reader import Reader
from manusfs.context.tokens import Calibration, estimate, estimate_block, estimate_part
from manusfs.context.turns import Setup, estimate_setup
from manusfs.context.window import Window, fold

__all__ = [
    "Assembler",
    "Calibration",
    "Caps",
    "Child",
    "Children",
    "Exchange",
    "Filling",
    "Form",
    "Item",
    "Key",
    "Ledger",
    "Reader",
    "Section",
    "Setup",
    "Window",
    "assemble",
    "estimate",
    "estimate_block",
    "estimate_part",
    "estimate_setup",
    "filling",
    "first_opening",
    "fold",
    "frame_sections",
    "later_opening",
    "ledger_lines",
    "observed_in",
    "pair_tokens",
    "pair_turns",
    "sent",
]
