"""What was decided in a session, and what is still to be done."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from memstone.core.digest.told import Sentence
from memstone.core.rules.plain import plain

MOST: Final = 5
_WE: Final = r"(?:i|we|you)(?: have|'ve|'re|'m| am| are)?(?: finally| all| both| now| just)*"
_CHOSEN: Final = (
    r"(?:decided|agreed|chose|chosen|settled on|went with|going with|picked|opted|committed to|made up my mind"
    r"|signed up)"
)
_DECIDED: Final = re.compile(
    rf"\b{_WE} {_CHOSEN}\b|\blet us (?:go with|use|stick (?:with|to)|do)\b|\b(?:the )?decision (?:is|was)\b"
    r"|\bit is (?:decided|settled|a deal)\b",
    re.IGNORECASE,
)
_ONLY_SAID: Final = (
    r"(?!be (?:happy|glad|honest|fine)\b|never\b|always\b|not\b|miss\b|try my best|see\b|let you (?:go|know)"
    r"|talk\b|keep\b|stay\b|definitely\b|take care)"
)
"""What people say they will do without meaning a task."""

_TO_DO: Final = re.compile(
    r"\b(?:i|we) (?:still |also |really |just )*(?:need|have|must|ought|got) to\b"
    r"(?! (?:say|admit|ask|know|be honest|agree|tell you))"
    rf"|\bi (?:will|am going to) {_ONLY_SAID}\w+|\bwe will (?!keep\b|stay\b|see\b|be\b|find\b)\w+"
    r"|(?:^|\bplease |\bcan you )(?:remind me|do not (?:let me )?forget|remember) to\b"
    r"|\b(?:to-?do|action items?|next steps?)\s*:"
    r"|\bplease (?:send|check|book|call|order|prepare|remind|schedule|draft|write|finish|review)\b"
    r"|\b(?:i am|we are) (?:planning|hoping|about) to\b|\bi plan to\b",
    re.IGNORECASE,
)
_ONLY_OFFERED: Final = re.compile(
    r"^(?:i|we) (?:will|would|can) (?:help|explain|show|give|provide|walk)\b", re.IGNORECASE
)


def decisions(sentences: Sequence[Sentence], marked: frozenset[int]) -> tuple[str, ...]:
    """What was decided; ``marked`` are sentences that state a decision, by their place."""
    return _lines([one for one in sentences if _tells(one) and (one.at in marked or _DECIDED.search(plain(one.text)))])


def action_items(sentences: Sequence[Sentence]) -> tuple[str, ...]:
    """What somebody said they would do, or asked for."""
    return _lines([one for one in sentences if _tells(one) and _is_to_do(plain(one.text))])


def _tells(one: Sentence) -> bool:
    return not one.asks and not one.empty


def _is_to_do(said: str) -> bool:
    return bool(_TO_DO.search(said)) and not _ONLY_OFFERED.match(said)


def _lines(found: Sequence[Sentence]) -> tuple[str, ...]:
    """The last ones, in order: what was settled later stands."""
    return tuple(dict.fromkeys(one.line for one in found))[-MOST:]
