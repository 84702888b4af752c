"""Whether two statements that sound alike speak of different individuals, people or things.

Shared words and near meanings say that two sentences are built alike. Who is named in them, and what stands in the same
place of both, says whether they are about the same.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from memstone.core.changes.slots import same_value
from memstone.core.changes.statement import Statement
from memstone.core.rules.owners import SAME_PERSON
from memstone.core.rules.quantities import digits_in, spelled_digits
from memstone.core.rules.stance import is_light, token
from memstone.core.rules.verbs import ADVERBS, is_past, is_verb
from memstone.core.text.lexicon import AMERICAN, KIN, NEGATIONS, STOP_WORDS


def brings_news(new: Statement, memory: Statement) -> bool:
    """Whether a statement names, counts, dates or tells something that a memory has not, or has otherwise."""
    if new.confirms:
        return False
    if _names_more(new, memory) or is_of_another(new, memory):
        return True
    if new.ahead != memory.ahead and not new.dates & memory.dates and (new.ahead or _has_happened(new, memory)):
        return True
    everybody = memory.everybody
    dated = frozenset().union(*(one.dates for one in everybody))
    return bool(new.dates - dated) or counts_more(new, memory) or _fills_otherwise(new, memory)


def _has_happened(new: Statement, memory: Statement) -> bool:
    """Whether a statement tells of a plan as something that was done or holds, and not of a plan in other words."""
    return bool(new.slots.keys() & memory.slots.keys()) or any(map(is_past, _WORD.findall(new.said)[:_MOST_WORDS]))


def is_of_another(new: Statement, memory: Statement) -> bool:
    """Whether a statement speaks of another individual, of other people, or of something else in the same words."""
    return names_another(new, memory) or other_people(new, memory) or puts_another(new, memory)


def _names_more(new: Statement, memory: Statement) -> bool:
    return bool(new.names - memory.whole - memory.names)


def counts_more(new: Statement, memory: Statement) -> bool:
    """Whether a statement has a number that a memory has not, whatever it counts."""
    counted = amounts(memory.text.lower()).union(*(amounts(one.said) for one in memory.everybody))
    return bool(amounts(new.said) - counted - {"1"})


@lru_cache(maxsize=4096)
def amounts(said: str) -> frozenset[str]:
    """All numbers of a lower-case text, however they are written: a couple is 2, 7:00 is 7, 15k is 15000."""
    digits = digits_in(spelled_digits(_THOUSANDS.sub(r"\1 thousand", said)))
    named = {value for word, value in _AMOUNTS.items() if word in said}
    return frozenset(digit.rstrip(".:").removesuffix(":00") for digit in digits) | named


_THOUSANDS: Final = re.compile(r"\b(\d+)k\b")
_AMOUNTS: Final = {"couple": "2", "pair": "2", "both": "2", "twice": "2", "double": "2", "dozen": "12"} | {
    word: str(at)
    for at, word in enumerate("second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split(), 2)
}


def _fills_otherwise(new: Statement, memory: Statement) -> bool:
    return any(other_value(new, one) for one in memory.everybody if one.subject == new.subject)


def other_value(new: Statement, memory: Statement) -> bool:
    """Whether both fill a slot, and with different values."""
    both = new.slots.keys() & memory.slots.keys()
    return any(not same_value(new.slots[slot], memory.slots[slot]) for slot in both)


# --- individuals ------------------------------------------------------------------------------------------------------

_NAME: Final = r"[A-ZÀ-ÖØ-Þ][\w'-]*(?: [A-ZÀ-ÖØ-Þ][\w'-]*)*"
_LISTED: Final = rf"{_NAME}(?:(?:,| and|, and| &) {_NAME})*"
_OWNED: Final = re.compile(
    r"\b(?:[Mm]y|[Oo]ur|[Uu]ser's|[Hh]is|[Hh]er|[Tt]heir|[Tt]he) (?:[a-z-]+ ){0,2}?"
    rf"(?P<head>[a-z-]+),? (?P<names>{_LISTED})"
)
_CALLED: Final = re.compile(rf"\b(?<![a-z-])(?P<head>[a-z-]++) (?:named|called|by the name of) (?P<names>{_LISTED})")
_TITLED: Final = re.compile(rf"(?:^|(?<=[.!?] ))(?P<head>[A-Z][a-z-]+) (?P<names>{_NAME})")
_DAYS: Final = frozenset(
    """monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december""".split()
)
_NO_NOUNS: Final = frozenset("new old first last next late favourite favorite is are was were".split())
_NO_HEADS: Final = STOP_WORDS | ADVERBS | _NO_NOUNS


@lru_cache(maxsize=4096)
def individuals(text: str) -> dict[str, frozenset[str]]:
    """Who or what is named as one of a sort: ``{"sister": {"ada"}}`` for "my sister Ada lives in Oslo"."""
    found: dict[str, frozenset[str]] = {}
    for pattern in (_OWNED, _CALLED, _TITLED):
        for match in pattern.finditer(text):
            head = match["head"].lower()
            names = _names(match["names"]) - (frozenset() if head in KIN else _DAYS)
            if names and head not in _NO_HEADS:
                sort = _person(head) if head in KIN else token(head)
                found[sort] = found.get(sort, frozenset()) | names
    return found


def _names(listed: str) -> frozenset[str]:
    words = (word.strip("'").removesuffix("'s").lower() for word in re.findall(r"[\w'-]+", listed))
    return frozenset(words) - {"and", "user", "i", ""}


def names_another(new: Statement, memory: Statement) -> bool:
    """Whether both name an individual of the same sort, and different ones: "my sister Ada" and "my sister Eva"."""
    return any(_are_apart(named(new.text), named(memory.text)) for named in (individuals, _companions))


def _are_apart(mine: dict[str, frozenset[str]], theirs: dict[str, frozenset[str]]) -> bool:
    both = mine.keys() & theirs.keys()
    return bool(both) and all(not mine[sort] & theirs[sort] for sort in both)


_WITH: Final = re.compile(
    rf"\b(?:[Mm]y|[Oo]ur|[Uu]ser's|[Tt]he|[Aa]n?) (?:[a-z-]+ ){{0,2}}?(?P<head>[a-z-]+) (?:with|to) (?P<names>{_NAME})"
)


@lru_cache(maxsize=4096)
def _companions(text: str) -> dict[str, frozenset[str]]:
    """With whom or where to something is: ``{"meeting": {"anna"}}`` for "a meeting with Anna"."""
    found = ((match["head"], _names(match["names"]) - _DAYS) for match in _WITH.finditer(text))
    return {token(head): names for head, names in found if names and head not in _NO_HEADS}


# --- people -----------------------------------------------------------------------------------------------------------

_WIDER: Final = {
    "son": "child",
    "daughter": "child",
    "baby": "child",
    "toddler": "child",
    "brother": "sibling",
    "sister": "sibling",
    "twin": "sibling",
    "mother": "parent",
    "father": "parent",
}
_NO_PEOPLE: Final = frozenset("team family ex mate client".split())
_WORD: Final = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*|\d[\d.,:]*")


def _person(word: str) -> str:
    """One word for a person, however they are called; a sister stays a sister."""
    word = word.removesuffix("'s")
    single = word if word in SAME_PERSON or word[:-1] not in KIN or not word.endswith("s") else word[:-1]
    one = SAME_PERSON.get(single, single)
    return "child" if one == "children" else one


@lru_cache(maxsize=4096)
def people_in(said: str) -> frozenset[str]:
    """The people of somebody's that a lower-case text speaks of."""
    words = (word.removesuffix("'s") for word in _WORD.findall(said))
    return frozenset(_person(word) for word in words if word in KIN and word not in _NO_PEOPLE)


def other_people(new: Statement, memory: Statement) -> bool:
    """Whether both speak of somebody the other does not speak of; a son is a child."""
    if _THROUGH_OTHERS.search(new.said) or any(_THROUGH_OTHERS.search(one.said) for one in memory.everybody):
        return False
    mine = people_in(new.said)
    theirs = frozenset().union(*(people_in(one.said) for one in memory.everybody))
    return bool(_unmatched(mine, theirs) and _unmatched(theirs, mine))


_THROUGH_OTHERS: Final = re.compile(rf"\w's (?:\w+ )?(?:{'|'.join(sorted(KIN))})\b")
"""Such as "my wife's brother", who may as well be called a brother-in-law."""


def _unmatched(some: frozenset[str], others: frozenset[str]) -> frozenset[str]:
    wider = {_WIDER.get(other) for other in others}
    return frozenset(one for one in some if one not in others and _WIDER.get(one) not in others and one not in wider)


# --- the same place of a sentence -------------------------------------------------------------------------------------

_SILENT: Final = (ADVERBS | frozenset("a an the some any very much so lot lots of now".split())) - {"not", "never"}
_FEELS: Final = frozenset("like love enjoy adore prefer fond fan keen".split())
_SPEAKER: Final = frozenset({"user", "i", "we"})
_MOST_WORDS: Final = 3
_FEWEST_SHARED: Final = 2


class Difference(NamedTuple):
    """Where two sentences part: the words before, those of each, and those behind."""

    before: tuple[str, ...]
    old: tuple[str, ...]
    new: tuple[str, ...]
    behind: tuple[str, ...]


@lru_cache(maxsize=4096)
def _words(said: str) -> tuple[str, ...]:
    words = (word.removesuffix("'s") for word in _WORD.findall(said))
    return tuple(_as_compared(word) for word in words if word not in _SILENT)


def _as_compared(word: str) -> str:
    if word in _SPEAKER:
        return "user"
    if word in KIN:
        return _person(word)
    compared = token(AMERICAN.get(word, word))
    return "like" if compared in _FEELS else compared


def difference(old: str, new: str) -> Difference:
    """What stands in the same place of two lower-case sentences."""
    first, second = _words(old), _words(new)
    shorter = min(len(first), len(second))
    start = next((at for at in range(shorter) if first[at] != second[at]), shorter)
    ends = range(shorter - start)
    end = next((at for at in ends if first[-1 - at] != second[-1 - at]), len(ends))
    return Difference(
        first[:start], first[start : len(first) - end], second[start : len(second) - end], first[len(first) - end :]
    )


def puts_another(new: Statement, memory: Statement) -> bool:
    """Whether both are one sentence with another word in the same place: "likes cats" and "likes dogs"."""
    found = difference(memory.said, new.said)
    if len(found.before) + len(found.behind) < _FEWEST_SHARED or _is_verb_place(found):
        return False
    old, put = _telling(found.old), _telling(found.new)
    known, said = {*_words(memory.said), *memory.whole}, {*_words(new.said), *new.whole}
    if set(old) & set(put) or max(len(old), len(put)) > _MOST_WORDS:
        return False
    return bool(set(put) - known and set(old) - said)


def is_closer(new: Statement, memory: Statement) -> bool:
    """Whether a statement says the same of a thing that it describes more closely: "likes tea", "likes green tea"."""
    found = difference(memory.said, new.said)
    put = _telling(found.new)
    if found.old or not put or len(put) != len(found.new) or len(put) >= _MOST_WORDS or _is_verb_place(found):
        return False
    before = found.before[-1] if found.before else ""
    of_what = found.behind[0] if found.behind else ""
    return bool(_telling((of_what,))) and before not in {"my", "have", "own", *_SPEAKER} and "have" not in found.before


def _is_verb_place(found: Difference) -> bool:
    """Whether the sentences part where the verb stands; what somebody likes to do is what they like."""
    before = found.before
    if before in ((), ("user",)) or before[-1] == "be":
        return True
    may_be = before[-1] == "to" and "like" not in before if before[0] != "my" else len(before) > 1
    return may_be and any(is_verb(part[0]) for part in (found.old, found.new) if part)


def _telling(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word for word in words if word and not is_light(word) and word not in _UNTOLD and not amounts(word))


_UNTOLD: Final = STOP_WORDS | NEGATIONS
