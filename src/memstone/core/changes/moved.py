"""Whether somebody has moved from one tool to another: "We switched to Linear", where Jira is known."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from memstone.core.changes.statement import Statement
from memstone.core.rules.topics import TOOLS, topics_of

_MOVED_TO: Final = re.compile(
    r"^(?:user|i|we|my team|my company)(?: (?:have|has|all|just|finally|recently|now|then|had))*"
    r" (?:switched|moved|migrated|changed|converted|swapped)(?: over)? to (?P<what>[\w.+# -]{2,24}?)"
    r"(?: (?:at work|now|at last|recently|this \w+|last \w+|in \w+|yesterday|today|instead))*[.!]?$"
)
_BESIDE: Final = re.compile(r"\b(?:personal|private|side|hobby|home|redis|cache|caching)\b")
"""What somebody uses beside the rest, and for something else."""


def is_moved_to_another(new: Statement, memory: Statement, others: Iterable[Statement]) -> bool:
    """Whether nothing is told but the tool that took the place of another, and only one memory names such a tool."""
    moved = _MOVED_TO.match(new.said)
    if moved is None or any(_BESIDE.search(one.said) for one in (new, memory)):
        return False
    kinds = topics_of(f"to {moved['what']}") & TOOLS
    return bool(kinds & topics_of(memory.said)) and not any(kinds & topics_of(one.said) for one in others)
