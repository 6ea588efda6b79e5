"""Compaction: policies that propose moves, and the one compactor that makes an epoch of them. Pure."""

from manusfs.compact.compactor import (
    MOST_PICTURE_BYTES,
    MOST_PICTURES,
    Fresh,
    ask,
    compact,
    due,
    reopen,
    room,
    undo,
    undone,
)
from manusfs.compact.draft import PINNED_SHARE, Draft, pinned
from manusfs.compact.moves import AskFirst, Fold, Move, Summarise, ToFull
from manusfs.compact.outlook import Outlook, outlook
from manusfs.compact.policy import Birth, Budget, Policy, birth, load_policy, policy_names
from manusfs.compact.summary import Summariser

__all__ = [
    "MOST_PICTURES",
    "MOST_PICTURE_BYTES",
    "PINNED_SHARE",
    "AskFirst",
    "Birth",
    "Budget",
    "Draft",
    "Fold",
    "Fresh",
    "Move",
    "Outlook",
    "Policy",
    "Summarise",
    "Summariser",
    "ToFull",
    "ask",
    "birth",
    "compact",
    "due",
    "load_policy",
    "outlook",
    "pinned",
    "policy_names",
    "reopen",
    "room",
    "undo",
    "undone",
]
