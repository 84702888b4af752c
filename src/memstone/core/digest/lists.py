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
    rf"\b{_WE} {_CHOSEN}\b|\b(?:let us|lets) (?:go with|use|take|stick (?:with|to)|do)\b"
    r"|\b(?:the )?decision (?:is|was)\b|\bit is (?:decided|settled|a deal)\b",
    re.IGNORECASE,
)
_ACCEPTED: Final = re.compile(
    r"(?:yes|yeah|yep|yup|ok|okay|sure|deal|agreed|great|perfect|good idea|sounds good|let us do (?:it|that))\b",
    re.IGNORECASE,
)
_SHORT: Final = 8
_TO_DO: Final = re.compile(
    r"\b(?:i|we) (?:still |also |really |just )*(?:need|have|must|ought|got) to\b"
    r"|\b(?:i|we) (?:will|am going to|are going to) \w+"
    r"|(?:^|\bplease |\bcan you )(?:remind me|do not (?:let me )?forget|remember) to\b"
    r"|\b(?:to-?do|action items?|next steps?)\s*:"
    r"|\bplease (?:send|check|book|call|order|prepare|remind|schedule|draft|write|finish|review)\b"
    r"|\b(?:i am|we are) (?:planning|hoping|about) to\b|\bi plan to\b",
    re.IGNORECASE,
)
_FILLER: Final = frozenset({"mood", "smalltalk", "joke", "hypothetical"})


def decisions(sentences: Sequence[Sentence], marked: frozenset[int]) -> tuple[str, ...]:
    """What was decided; ``marked`` are sentences that state a decision, by their place.

    A proposal of the assistant that the user accepts is shown with the words that accept it.
    """
    found = []
    for at, one in enumerate(sentences):
        proposed = _proposed(sentences, at)
        if proposed:
            found.append(f"{proposed} {one.line}")
        elif _may_list(one) and (one.at in marked or _DECIDED.search(plain(one.text))):
            found.append(one.line)
    return _last(found)


def _proposed(sentences: Sequence[Sentence], at: int) -> str:
    """What the assistant said right before, where the user accepts it in a few words that tell something; else ''."""
    one = sentences[at]
    first = not at or sentences[at - 1].turn != one.turn
    said = plain(one.text)
    short = one.role == "user" and first and len(said.split()) <= _SHORT
    if not short or not _ACCEPTED.match(said) or not (one.kept or _DECIDED.search(said)):
        return ""
    before = [other for other in sentences[:at] if other.turn == one.turn - 1 and other.role == "assistant"]
    asked = [other.text for other in before[-2:]]
    return f"{before[-1].speaker}: {' '.join(asked)}" if before and before[-1].asks else ""


def action_items(sentences: Sequence[Sentence]) -> tuple[str, ...]:
    """What somebody said they would do, or asked for."""
    return _last([one.line for one in sentences if is_to_do(one)])


def is_to_do(one: Sentence) -> bool:
    """Whether a sentence says what is still to be done; what an assistant says it will do is only its answer."""
    return one.role == "user" and _may_list(one) and _TO_DO.search(plain(one.text)) is not None


def is_decided(one: Sentence) -> bool:
    """Whether a sentence says in so many words that something was decided."""
    return _may_list(one) and _DECIDED.search(plain(one.text)) is not None


def _may_list(one: Sentence) -> bool:
    """Whether a sentence means what it says: it does not ask, joke, feel or suppose."""
    if one.asks or (one.why in _FILLER and not one.kept):
        return False
    return bool(one.why) or not one.empty


def _last(lines: Sequence[str]) -> tuple[str, ...]:
    """The last ones, in order: what was settled later stands."""
    return tuple(dict.fromkeys(lines))[-MOST:]
