"""Compaction: policies that propose moves, and the one compactor that makes an epoch of them. Pure."""

from manusfs.compact.compactor import Fresh, compact, due, reopen, room, undo
from manusfs.compact.moves import AskFirst, Fold, Move, Summarise, ToFull
from manusfs.compact.policy import Budget, Policy, load_policy, policy_names

__all__ = [
    "AskFirst",
    "Budget",
    "Fold",
    "Fresh",
    "Move",
    "Policy",
    "Summarise",
    "ToFull",
    "compact",
    "due",
    "load_policy",
    "policy_names",
    "reopen",
    "room",
    "undo",
]
