"""What is only played: a role, a scene, a case that is made up. Nothing in it is true of the one who says it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from memstone.core.rules.material import Span

_OPENED: Final = re.compile(
    r"^(?:(?:please|ok|okay|now|so|hey|and|but|then|can you|could you|i want you to|i would like you to|i'd like you to)[, ]+)*"
    r"(?:pretend|imagine|suppose|role-?play|make believe|act (?:as|like|out)|play (?:the (?:role|part)|along|a |an )|simulate"
    r"|let(?:'s|’s| us) (?:pretend|play|imagine|role-?play|say (?:that )?(?:i|we|you|my|our)|assume)|say (?:that )?(?:i am|i'm|i’m|you are|you're|you’re)"
    r"|assume (?:that )?(?:i|you)|for (?:this|the) (?:exercise|scenario|role-?play|game|scene)|in this (?:scenario|role-?play|game|scene|story|exercise))\b",
    re.IGNORECASE,
)
"""What opens a play: all that follows belongs to it."""

_TOLD: Final = re.compile(
    r"\b(?:the (?:role|part|character|persona) (?:that )?(?:you|i) (?:should|will|must|are to|have to|need to|play|am playing|take)"
    r"|your (?:role|part|character|persona) (?:is|will be|in)"
    r"|(?:you(?: will| should| shall|'ll|’ll)?|i(?: will| shall|'ll|’ll)) (?:play|be playing|take on) the (?:role|part)"
    r"|you(?: are| will be| play|'re|’re) (?:now )?(?:my |the |an? )[\w ]{2,30} and (?:i am|i'm|i’m|i will be|i play)"
    r"|i am the (?:customer|patient|student|client|candidate|interviewer|player|hero) and you)\b",
    re.IGNORECASE,
)

SARCASM: Final = re.compile(r"\s/s\W*$|^yeah,? right\b", re.IGNORECASE)
"""What says that a message means the opposite of its words."""

LAUGHTER: Final = re.compile(r"\b(?:lol|lmao|rofl|haha+|jk)\b|[\U0001f602\U0001f923]", re.IGNORECASE)
"""What is said laughing may be meant or not."""


def in_earnest(sentences: Sequence[Span]) -> list[Span]:
    """The sentences that are not played: neither behind what opens a play, nor right beside what tells of one."""
    opened = next((at for at, one in enumerate(sentences) if _OPENED.match(one.text)), len(sentences) + 1)
    told = {at for at, one in enumerate(sentences) if _TOLD.search(one.text)}
    beside = {place for at in (*told, opened) for place in (at - 1, at, at + 1)}
    return [one for at, one in enumerate(sentences) if at < opened and at not in beside]
