"""Memories that nobody may lose by a likelihood: what matters to somebody's health, and names."""

from __future__ import annotations

import re
from typing import Final

from memstone.core.rules.quantities import digits_in
from memstone.core.rules.signals import EXCHANGED, OVER, signals_of

GUARDED: Final = re.compile(
    r"\b(?:allerg\w+|intoleran\w+|anaphyla\w+|coeliac|celiac|diabet\w+|asthma\w*|epilep\w+|migraines?|cancer|chemo\w*|diagnos\w+|disease|disorder"
    r"|syndrome|arthritis|adhd|autis\w+|depress\w+|anxiety|pregnan\w+|pacemaker|blood (?:type|pressure|thinners?|group)|medic(?:ation|ine|ines|al)\b|tablets?|pills?"
    r"|insulin|inhaler|epipen|antibiotics?|statins?|\d+ ?(?:mg|mcg|ml)|prescri\w+|dialysis|hiv|stroke|transplant\w*)\b"
    r"|\btakes (?!(?:the|an?|lessons|classes|sugar|milk|part|care|notes|photos|pictures|his|her|their|up|on|turns|buses|trains|naps)\b)\w+"
    r"|\b(?:have|has) (?:[\w'-]+ ){0,3}?(?:kids?|child(?:ren)?|sons?|daughters?|brothers?|sisters?|siblings|twins|grand(?:children|sons?|daughters?|kids))\b"
    r"|\b(?:is|are|was|be) (?:called|named)\b|\bnames? (?:is|are)\b|\bnicknamed?\b",
    re.IGNORECASE,
)
_ENDED: Final = re.compile(
    r"\b(?:cured|healed|recovered|grew out of|outgr[eo]w\w*|remission|all[- ]clear|misdiagnos\w+|wrong|mistaken?|came back (?:clear|negative|normal)"
    r"|discharged|gave birth|had (?:the|our|my|a) baby|baby (?:\w+ )?(?:arrived|is here|came)|(?:is|was) born|was never|turns? out|instead|finished|last (?:dose|session|pill|tablet|injection|course)|the course is"
    r"|not (?:an?|on|need\w*|have|take|taking|allergic|pregnant)|without)\b"
)
FOR_ONCE: Final = re.compile(
    r"\b(?:(?:this|next) (?:mon|tues|wednes|thurs|fri|satur|sun)day|this (?:once|time|week|weekend|month)|just (?:for )?(?:today|tonight|this)|for (?:today|tonight|once|a (?:day|week|few days))"
    r"|(?:till|until) (?:\w+day|tomorrow|next)|tonight)\b"
)
"""Words of an exception: what is usually so is not ended by it."""


def may_end(said: str, memory: str) -> bool:
    """Whether a memory may be replaced where no rule says so: what is guarded needs words that end or exchange it.

    ``said`` is in lower case and without contractions.
    """
    if _FAVOURITE.search(memory) and not _PREFERS.search(said):
        return bool(signals_of(said) & {OVER, EXCHANGED})
    if not GUARDED.search(memory):
        return True
    return bool(signals_of(said) & {OVER, EXCHANGED}) or bool(_ENDED.search(said)) or _other_numbers(said, memory)


_FAVOURITE: Final = re.compile(r"\bfavou?rite\b", re.IGNORECASE)
_PREFERS: Final = re.compile(
    r"\b(?:favou?rites?|best|better|prefer\w*|love\w*|adore\w*|obsessed|hooked|top|number one|crown|go-to|nothing (?:beats|but)"
    r"|not|never|no|hate\w*|bored?|boring|overrated)\b"
)
"""What somebody likes best is not changed by what they happen to do."""

_TASTE: Final = re.compile(
    r"\b(?:(?:dis)?likes?|loves?|enjoys?|hates?|detests?|loathes?|adores?|prefers?|fond of|a fan of)\b", re.IGNORECASE
)


def is_taste(memory: str) -> bool:
    """Whether a memory says what somebody likes or not: rules know one stance from the other."""
    return bool(_TASTE.search(memory))


def _other_numbers(said: str, memory: str) -> bool:
    """Whether both count, and not the same."""
    mine, theirs = (digits_in(text.lower()) for text in (said, memory))
    return bool(mine and theirs and not mine & theirs)
