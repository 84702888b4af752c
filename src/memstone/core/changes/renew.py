"""A known sentence with the values it has now: "weighs 92 kg" and "down to 89 kg" make "weighs 89 kg".

Who tells of a change often names nothing but the new value. What it is the value of stands in the memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from memstone.core.changes.apart import amounts
from memstone.core.changes.slots import NONE, NOT, same_value
from memstone.core.changes.statement import Statement
from memstone.core.rules.marks import DIFFERENCE
from memstone.core.rules.quantities import dated, dates_of, is_other_order, numbers_of, same_number, written_number
from memstone.core.rules.slot_patterns import STATUSES
from memstone.core.rules.stance import content_tokens, is_light, token
from memstone.core.rules.verbs import is_past


class _Swap(NamedTuple):
    """What stands in the old text, from where to where, and what it becomes."""

    start: int
    end: int
    value: str


def renewed(old: Statement, new: Statement) -> str:
    """The old sentence with the values that a new statement has otherwise; '' where there is none in both."""
    values = {*_slots(old, new), *_numbers(old, new), *_days(old, new), *_contacts(old, new)}
    text, before = "", 0
    for swap in sorted(set(_corrected(old, new)) or values, key=lambda one: (one.start, -one.end)):
        if swap.start >= before:
            text += old.text[before : swap.start] + swap.value
            before = swap.end
    text += old.text[before:]
    return text if text != old.text else ""


def is_undated(old: str, text: str) -> bool:
    """Whether a sentence has lost the date that was noted beside a day in it."""
    return len(_NOTED.findall(text)) < len(_NOTED.findall(old))


def kept(old: Statement, new: Statement) -> str:
    """The same for a statement that is a fact by itself: '' unless the old sentence says more than it does.

    That is so where a new one brings nothing but another value ("it was pushed to 9am"), and where an old one counts
    something else in another part of it. What happened once is no value of something that lasts.
    """
    text = renewed(old, new) if not _other_slots(old, new) - {"age"} else ""
    if not text or (_happened(old) and _happened(new)) or new.names - old.names - old.whole - _OF_CHANGE:
        return ""
    lowered = text.lower()
    if amounts(new.said) - amounts(lowered) or new.dates - dates_of(lowered):
        return ""
    return text if _brings_only_values(old, new) or _counts_apart(old, new) else ""


def _happened(one: Statement) -> bool:
    words = one.said.split()
    return len(words) > 1 and words[0] in ("user", "i", "we") and is_past(words[1])


def _brings_only_values(old: Statement, new: Statement) -> bool:
    values = content_tokens(" ".join(new.slots.values()))
    more = {word for word in new.whole - old.whole - values - _OF_CHANGE if not is_light(word)}
    less = {word for word in old.whole - new.whole if not is_light(word)} - content_tokens(" ".join(old.slots.values()))
    hangs = not new.text.startswith(("User", "I ", "We ", "My ", "Our "))
    return not more and (hangs or bool(less or old.slots.keys() - new.slots.keys()))


_OF_CHANGE: Final = frozenset(
    token(word)
    for word in """moved pushed postponed rescheduled shifted changed switched delayed brought forward raised increased
    dropped cut went turned became updated bumped upped today yesterday tomorrow week month year
    morning evening birthday people officially finally new now instead rather correction meant
    actually monday tuesday wednesday thursday friday saturday sunday january february march april
    may june july august september october november december st nd rd th""".split()
)
"""Words that tell of a change or a day, and nothing of what has changed."""


def _counts_apart(old: Statement, new: Statement) -> bool:
    counted = amounts(new.said)
    other = [part for part in _PARTS.split(old.text.lower()) if amounts(part) - counted]
    return len(other) > 1 and len(counted - amounts(old.text.lower())) == 1


_PARTS: Final = re.compile(r"(?:,|;| and| but) ")


def _other_slots(old: Statement, new: Statement) -> set[str]:
    """The slots that both fill, and with different values."""
    both = old.slots.keys() & new.slots.keys() - STATUSES.keys()
    return {slot for slot in both if not same_value(new.slots[slot], old.slots[slot])}


def _slots(old: Statement, new: Statement) -> Iterator[_Swap]:
    for slot in sorted(_other_slots(old, new)):
        mine, theirs = new.slots[slot], old.slots[slot]
        if NONE not in (mine, theirs) and not mine.startswith(NOT):
            for swap in _swapped(_word(theirs), old.text, _word(mine), new.text):
                yield _with_article(swap, old.text)


_ARTICLE: Final = re.compile(r"\ban? $", re.IGNORECASE)


def _with_article(swap: _Swap, text: str) -> _Swap:
    found = _ARTICLE.search(text, 0, swap.start)
    if not found:
        return swap
    return _Swap(found.start(), swap.end, f"{'an' if swap.value[0].lower() in 'aeiou' else 'a'} {swap.value}")


_RATHER: Final = re.compile(
    r"^.*\b(?:meant|mean|correction:?|it is|should be|sorry,?|wait,?|no,?)"
    r" (?P<put>[\w' .-]{2,40}?),? (?:and )?not (?P<known>[\w' .-]{2,40}?)[.!]*$",
    re.IGNORECASE,
)


def _corrected(old: Statement, new: Statement) -> Iterator[_Swap]:
    """What was meant, and what not: "I meant Zed, not Helix"."""
    found = _RATHER.search(new.text)
    if found:
        yield from _swapped(_word(found["known"]), old.text, _word(found["put"]), new.text)


def _word(value: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(value)}(?!\w)", re.IGNORECASE)


def _swapped(theirs: re.Pattern[str], old: str, mine: re.Pattern[str], new: str) -> Iterator[_Swap]:
    """One value for another, where it is plain which: each stands in its text, and in the old one once."""
    places, put = list(theirs.finditer(old)), mine.search(new)
    if put and len(places) == 1:
        yield _Swap(*places[0].span(), put[0])


def _numbers(old: Statement, new: Statement) -> Iterator[_Swap]:
    mine, theirs = new.numbers, _numbers_beside(old, new) or old.numbers
    pairs = [(mine[unit], theirs[unit]) for unit in sorted(mine.keys() & theirs.keys())]
    put, known = sorted(amounts(new.said) - {"1"}), sorted(amounts(old.said) - {"1"})
    if not pairs and len(put) == len(known) == 1:
        pairs = [(put[0], known[0])]
    for value, before in pairs:
        is_value = not same_number(value, before) and not is_other_order(value, before)
        if is_value and not _is_difference(value, new.text):
            yield from _swapped(written_number(before), old.text, written_number(value), new.text)


def _numbers_beside(old: Statement, new: Statement) -> dict[str, str]:
    """The numbers of the one part of a sentence that speaks of the same: "... and lisinopril 10 mg" has its own."""
    parts = [part.lower() for part in _PARTS.split(old.text)]
    shared = [part for part in parts if any(not is_light(word) for word in content_tokens(part) & new.whole)]
    return numbers_of(shared[0]) if len(shared) == 1 and len(parts) > 1 else {}


_PART_OF_IT: Final = re.compile(
    r"\b(?:spent|bought|got|ate|paid|of|first|last|for)"
    r"(?: (?:off|about|around|almost|nearly|over|some|up|in|away))*[ $€£]*$",
    re.IGNORECASE,
)
_THAN_BEFORE: Final = re.compile(
    r"[ -]?[\w.]*(?: \w+)? (?:more|less|fewer|extra|lighter|heavier|off|ago)\b", re.IGNORECASE
)


def _is_difference(value: str, text: str) -> bool:
    """Whether a number says by how much, or how much of it, and not how much: "lost 3 kg"."""
    found = written_number(value).search(text)
    if found is None:
        return False
    before = text[: found.start()]
    apart = _PART_OF_IT.search(before) or _THAN_BEFORE.match(text, found.end())
    return bool(apart or DIFFERENCE.search(text.lower()))


_NOTED: Final = re.compile(r" \([^()]*\b(?:19|20)\d{2}\)")
"""The day that a word such as "Friday" meant, as it is noted behind it."""


def _days(old: Statement, new: Statement) -> Iterator[_Swap]:
    mine, theirs = new.dates - old.dates, old.dates - new.dates
    if len(mine) != 1 or len(theirs) != 1:
        return
    places, put = _named(theirs, old.text), _named(mine, new.text)
    if len(places) == 1 and put and _is_weekday(*mine) == _is_weekday(*theirs):
        was, now = (_NOTED.sub("", text[slice(*place)]) for text, place in ((old.text, places[0]), (new.text, put[0])))
        yield _Swap(*places[0], _as_named(was, now))


def _named(days: frozenset[str], text: str) -> list[tuple[int, int]]:
    """Where a text names one of some days, with what is noted behind it."""
    found = (place for day, place in dated(text.lower()) if day in days)
    return [(start, _noted_until(text, end)) for start, end in found]


def _noted_until(text: str, end: int) -> int:
    noted = _NOTED.match(text, end)
    return noted.end() if noted else end


def _is_weekday(day: str) -> bool:
    return day.endswith("day")


def _as_named(old: str, new: str) -> str:
    """A weekday in the number that the old one has: on Tuesdays, on Fridays."""
    if not new.lower().removesuffix("s").endswith("day"):
        return new
    return f"{new[0].upper()}{new[1:].removesuffix('s')}{'s' if old.lower().endswith('days') else ''}"


_CONTACTS: Final = (
    re.compile(r"(?<![\w.+-])[\w.+-]++@[\w-]++(?:\.[\w-]++)+"),
    re.compile(r"(?<![\w-])\+?\(?\d[\d ()./-]{6,}\d(?!\w)"),
)
"""E-mail addresses and telephone numbers: who writes down nothing else means the one that is known."""


def _contacts(old: Statement, new: Statement) -> Iterator[_Swap]:
    for pattern in _CONTACTS:
        places, put = list(pattern.finditer(old.text)), list(pattern.finditer(new.text))
        if len(places) == 1 and len(put) == 1:
            yield _Swap(*places[0].span(), put[0][0])
