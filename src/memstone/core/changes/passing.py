"""Whether a statement tells only of a moment: how somebody feels, what happened one day, or how it went for a while.

What is so right now says nothing of what is always so. Such a statement stands beside what is known and replaces none
of it, however near the two are.
"""

from __future__ import annotations

import re
from typing import Final

from memstone.core.changes.statement import Statement
from memstone.core.rules.marks import ONCE
from memstone.core.rules.signals import BEGUN, NOW, signals_of, tells_change
from memstone.core.rules.verbs import ADVERBS, is_past, lemma

_FEELS: Final = frozenset(
    """tired exhausted sleepy awake hungry starving thirsty full stuffed cold freezing hot warm sweaty wet sick ill
    unwell dizzy nauseous sore hungover drunk tipsy bored busy late early stuck lost alone happy sad angry mad upset
    annoyed grumpy moody stressed nervous anxious worried scared excited thrilled glad proud relieved disappointed
    confused frustrated lonely jealous embarrassed ashamed calm relaxed fine good great ok okay better worse alright
    ready back home online offline here there done free overwhelmed drained wired restless wide-awake knackered
    cranky shattered beat hyped psyched bummed""".split()
)
"""How somebody is at the moment; nobody is so for good, or it says nothing to know."""

_IS: Final = re.compile(
    r"^(?:(?:thanks|ugh|well|oh|man|wow|ok),? )*(?:user|i|we) (?:am|is|are|feels?|felt|was|got|gets|getting|is feeling"
    r"|am feeling|are feeling) (?P<how>[^,.;!]+)"
)
_DEGREE: Final = ADVERBS | frozenset("a an bit little pretty super extremely right at the moment half feeling".split())
_HINDERED: Final = re.compile(
    r"\b(?:(?:was|were|is|are|got|been) (?:\w+ )?(?:cancel+ed|called off|closed|shut|delayed|late|full|down|sold out"
    r"|ill|sick)|(?:could|can|did) not (?:go|make|come|play|get)|skipp?ed|missed)\b"
)
"""What kept something from happening one day."""

_THAT_DAY: Final = re.compile(
    r"\b(?:(?:this|last|on) (?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:this|last) (?:week|weekend|month|time))\b"
)
_PERIOD: Final = re.compile(
    r"\b(?:(?:so far )?this (?:year|month|week|season|semester|term|summer|winter|spring|autumn|quarter|trip)"
    r"|so far)\b"
)


def is_passing(new: Statement, memory: Statement) -> bool:
    """Whether a statement tells only of a moment, and a memory of something that goes on."""
    if _is_state(new):
        return not _is_state(memory)
    if memory.ahead or memory.temporary or tells_of_a_day(memory.said):
        return False
    if _PERIOD.search(new.said) and new.numbers and memory.numbers and not _PERIOD.search(memory.said):
        return True
    if not tells_of_a_day(new.said):
        return False
    if _HINDERED.search(new.said):
        return not memory.dates or _is_habit(memory)
    return _happened_once(new, memory)


def tells_of_a_day(said: str) -> bool:
    """Whether a lower-case text names the one day on which it was so."""
    return bool(ONCE.search(said) or _THAT_DAY.search(said))


def _is_state(one: Statement) -> bool:
    found = _IS.match(one.said)
    if not found or one.slots or signals_of(found["how"]) - {BEGUN, NOW}:
        return False
    words = [word for word in found["how"].split() if word not in _DEGREE]
    return bool(words) and words[0] in _FEELS


_EVERY: Final = re.compile(r"\b(?:on \w+days|every|each|always|usually|often|(?:once|twice|times) an?)\b")


def _is_habit(memory: Statement) -> bool:
    return bool(_EVERY.search(memory.said))


def _happened_once(new: Statement, memory: Statement) -> bool:
    """Whether somebody did one day what they do otherwise: "slept four hours" beside "sleeps seven hours a night"."""
    mine, theirs = speaker_verb(new), speaker_verb(memory)
    if not mine or not theirs or not is_past(mine) or is_past(theirs) or tells_change(new.said):
        return False
    return lemma(mine) == lemma(theirs) or bool(new.numbers.keys() & memory.numbers.keys())


def speaker_verb(one: Statement) -> str:
    """The verb of what the speaker does; '' where somebody or something else does it."""
    words = one.said.split()
    told = [word for word in words[1:] if word not in ADVERBS]
    return told[0] if told and words[0] in ("user", "i", "we") else ""
