"""Who begins to talk, or asks what there is to do: they are told what is due."""

from __future__ import annotations

import re
from typing import Final

_GREETS: Final = re.compile(
    r"^\W*(?:hi|hey|hello|(?:good )?(?:morning|afternoon|evening)|i am back|i'm back)"
    r"(?:,? (?!what|how|can|could)\w+){0,2}\W*$",
    re.IGNORECASE,
)
_ASKS: Final = re.compile(
    r"\bwhat(?:'s| is| are)? (?:up|next|due|pending|planned|coming up|on (?:my|the|today|tomorrow|for))\b"
    r"|\bwhat (?:do|have) (?:i|we) (?:have|need|got|still have)? ?(?:to do|on|due|today|tomorrow|this week|coming up)\b"
    r"|\b(?:my|our|the|any) (?:agenda|schedule|to-?dos?|to-?do list|tasks|deadlines?|action items?|reminders?)\b"
    r"|\banything (?:due|planned|urgent|to do|coming up)\b|\bplans? for (?:today|tomorrow|the day)\b"
    r"|\b(?:am i forgetting|did i forget) (?:any|some)thing\b",
    re.IGNORECASE,
)


def asks_what_is_up(message: str) -> bool:
    """Tell whether somebody begins to talk, or asks what there is to do; nothing about programs or sums."""
    if _GREETS.match(message):
        return True
    if not _ASKS.search(message):
        return False
    from memstone.core.gate.said import own_words_of  # its patterns take a while to compile
    from memstone.core.gate.world import is_puzzle, is_technical

    said = own_words_of(message)
    return _ASKS.search(said.text) is not None and not is_technical(said) and not is_puzzle(said)
