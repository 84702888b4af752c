"""From "I" to somebody's name: first-person clauses as third-person sentences.

Only pronouns and the agreement of verbs change; every other word stays as it was said.
"""

from __future__ import annotations

import re
from typing import Final

from memstone.core.rules.verbs import ADVERBS, AUXILIARIES, COMMON_VERBS, SAME_IN_PAST, is_past, is_verb, third_person
from memstone.core.text.lexicon import KIN, PETS

_PAST_TIME: Final = re.compile(
    r"\b(?:yesterday|ago|last|earlier|when i was|just|finally|recently|a while back|once|back in|in (?:19|20)\d\d|this (?:morning|afternoon|week)|today)\b",
    re.IGNORECASE,
)
_TITLE: Final = re.compile(r"^(?:i|we) (?:\w+ly )?read (?:the (?:book |novel )?)?[\"'A-Z]")
_PRONOUNS: Final = {
    "my": "their",
    "me": "them",
    "myself": "themselves",
    "mine": "theirs",
    "our": "their",
    "us": "them",
    "ours": "theirs",
    "ourselves": "themselves",
    "i": "they",
    "we": "they",
}
_PLURAL: Final = {"am": "are", "was": "were"}


def third(clause: str, who: str, *, past: bool = False) -> str:
    """A clause without contractions, told about ``who``; a subject is put in front where there is none.

    ``past`` says that a verb whose forms are alike ("cut") is meant as past.
    """
    words = clause.split()
    first = words[0].lower().strip(",") if words else ""
    if first in ("i", "we"):
        past = past or bool(_PAST_TIME.search(clause) or _TITLE.match(clause[:1].lower() + clause[1:]))
        return _finished(who, _told(words[1:], who, present_allowed=not past))
    if first in ("my", "our"):
        is_somebody = any(_split(word)[0].removesuffix("'s") in KIN | PETS for word in words[1:4])
        return _finished(f"{who}'s", _others(words[1:], who, of_others=is_somebody))
    return _finished(who, _others([words[0][:1].lower() + words[0][1:], *words[1:]], who) if words else [])


def about(clause: str, who: str) -> str:
    """A clause with a subject of its own ("Red wine gives me migraines"): the first word for the speaker is their name."""
    words = clause.split()
    for at, word in enumerate(words):
        bare, tail = _split(word)
        name = {"me": who, "us": who, "i": who, "we": who, "my": f"{who}'s", "our": f"{who}'s", "mine": f"{who}'s"}.get(
            bare.lower()
        )
        if name is None or bare == "US":
            continue
        rest = words[at + 1 :]
        told = _told(rest, who, present_allowed=True) if bare.lower() in ("i", "we") and rest else _others(rest, who)
        return _capital(_finished("", [*words[:at], name + tail, *told]))
    return _capital(_finished("", words))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


_NO_LONGER: Final = re.compile(r"no longer$", re.IGNORECASE)


def _is_adverb(word: str) -> bool:
    lowered = word.lower().strip(",")
    return (lowered in ADVERBS and lowered != "tend") or (lowered.endswith("ly") and not is_verb(lowered))


def _told(words: list[str], who: str, *, present_allowed: bool) -> list[str]:
    """What follows the subject: adverbs, then the verb in agreement, then the rest."""
    at = 0
    while at < len(words) - 1 and (_is_adverb(words[at]) or _NO_LONGER.match(" ".join(words[at : at + 2]))):
        at += 1 if _is_adverb(words[at]) else 2
    if at >= len(words):
        return words
    verb, tail = _split(words[at])
    agreed, present = _agree(verb, present_allowed=present_allowed)
    if present and not tail and verb.lower() not in ("am", "are", "have"):
        words, at = _without_just(words, at)
    rest = words[at + 1 :]
    others = _others(rest, who)
    return [*words[:at], agreed + tail, *(_coordinated(others) if present else _wanting(others))]


def _without_just(words: list[str], at: int) -> tuple[list[str], int]:
    """Before what somebody does or likes in general, "just" says nothing."""
    before = [word for word in words[:at] if word.lower() not in ("just", "simply", "actually", "basically")]
    return [*before, *words[at:]], len(before)


_WANTING: Final = frozenset("want need hope plan love like prefer enjoy".split())


def _wanting(words: list[str]) -> list[str]:
    """Such as "went to a class and want to go again": after what was done, what is wanted or done now."""
    for at in range(len(words) - 2):
        if words[at].lower() not in ("and", "but"):
            continue
        following, then = words[at + 1].lower(), words[at + 2].lower()
        if following in _WANTING and then == "to":
            words[at + 1] = third_person(following)
        elif following == "now" and then in COMMON_VERBS:
            words[at + 2] = third_person(then)
    return words


def _agree(verb: str, *, present_allowed: bool) -> tuple[str, bool]:
    lowered = verb.lower()
    if lowered in AUXILIARIES:
        return AUXILIARIES[lowered], lowered in ("am", "are", "do", "have")
    if is_past(lowered) and not (lowered in SAME_IN_PAST and lowered not in ("quit", "split") and present_allowed):
        return verb, False
    return third_person(lowered), True


_BINDING: Final = frozenset("to not can will would help let".split())
_NOT_BEFORE_VERB: Final = frozenset(
    "to not can will would could do does did the a an their any some no for of in with about through".split()
)


def _coordinated(words: list[str]) -> list[str]:
    """Such as "lives in Oslo and work at Acme": a verb after "and" follows the first one.

    Not where the verb belongs to something else: "likes to sing and dance", "does not eat or drink", "for fun and work".
    """
    for at in range(len(words) - 2):
        word, tail = _split(words[at + 1])
        joins = words[at].lower() in ("and", "or", "but") or (
            words[at].lower() in ("also", "then") and at and words[at - 1].lower() == "and"
        )
        lives = words[at].endswith(",") and _goes_on_living(words, at + 1)
        if not (joins or lives) or any(before.lower() in _BINDING for before in words[:at]):
            continue
        lowered = word.lower()
        if lowered in ("have", "am", "do") or (lowered in COMMON_VERBS and (lives or _goes_on(words, at))):
            words[at + 1] = third_person(lowered) + tail
            _listed_before(words, at)
    return words


_LIFE: Final = re.compile(r"(?:live|work|study|teach) (?:in|at|as|for|with|near|from|on)\b", re.IGNORECASE)


def _goes_on_living(words: list[str], at: int) -> bool:
    """Such as "is 41, live in Leeds": where and as what somebody lives needs no "and"."""
    return bool(_LIFE.match(" ".join(words[at : at + 2])))


def _listed_before(words: list[str], at: int) -> None:
    """Such as "watches films, hike, and cooks": what stands between commas follows too."""
    for between in range(1, at + 1):
        word, tail = _split(words[between])
        if tail == "," and words[between - 1].endswith(",") and word.lower() in COMMON_VERBS:
            words[between] = third_person(word.lower()) + tail


def _goes_on(words: list[str], at: int) -> bool:
    """A noun list ("guitar and work") ends or has a comma where a verb would go on."""
    before = words[at - 1].lower() if at else ""
    return not words[at + 1].endswith(",") and before not in _NOT_BEFORE_VERB


_SELVES: Final = frozenset("i me my mine".split())
_OTHERS: Final = (
    KIN
    | PETS
    | frozenset(
        """people folks customers students players dancers volunteers guys fans residents neighbors neighbours producers
        investors editors pets turtles classmates workmates coworkers colleagues teammates parents teen teens teenager student player person girl boy man woman couple youth audience
        crowd clients patients teachers organization organisation company they them their he she him her his hers""".split()
    )
) - frozenset("boss manager doctor client therapist mentor teacher landlord ex mate".split())
"""Whom "they" could also mean."""


def _others(words: list[str], who: str, *, of_others: bool = False) -> list[str]:
    """The rest of a clause: "they" for the speaker, or their name where others stand before whom it could mean.

    ``of_others`` says that the clause is about somebody of theirs, and not about the speaker.
    """
    changed: list[str] = []
    is_other_near = of_others
    for at, word in enumerate(words):
        bare, tail = _split(word)
        lowered = bare.lower()
        if lowered in _SELVES and is_other_near and who and (of_others or not _is_own_kin(words, at)):
            name = f"{who}'s" if lowered in ("my", "mine") else who
            rest = words[at + 1 :]
            is_doing = lowered == "i" and bool(rest)
            told = _told(rest, who, present_allowed=True) if is_doing else _others(rest, who, of_others=of_others)
            return [*changed, name + tail, *told]
        if lowered in _PRONOUNS and bare != "US":
            changed.append(_PRONOUNS[lowered] + tail)
        elif at and words[at - 1].lower() == "i" and lowered in _PLURAL:
            changed.append(_PLURAL[lowered] + tail)
        else:
            changed.append(word)
        is_other_near = is_other_near or (bare.removesuffix("'s") in _OTHERS and _is_one_who_acts(words, at))
    return changed


def _is_own_kin(words: list[str], at: int) -> bool:
    """Such as "for my sister and my brother": nobody takes the brother for the sister's."""
    following = (_split(word)[0].lower().removesuffix("'s") for word in words[at + 1 : at + 3])
    return words[at].lower() == "my" and any(word in KIN and word != "team" for word in following)


def _is_one_who_acts(words: list[str], at: int) -> bool:
    """Not the first half of a word pair such as "family trip" or "pet store", as far as the next word tells."""
    following = _split(words[at + 1])[0].lower() if at + 1 < len(words) and not _split(words[at])[1] else ""
    return following not in _PAIRED


_PAIRED: Final = frozenset(
    "trip trips time dinner dinners store stores shop members member business house home meeting reunion history".split()
)


_WORD: Final = re.compile(r"^([\"'(]*)([A-Za-z][A-Za-z'-]*?)(\W*)$")


def _split(word: str) -> tuple[str, str]:
    """A word and the punctuation behind it."""
    found = _WORD.match(word)
    return (found[2], found[3]) if found and not found[1] else (word, "")


_STOP_IN_QUOTE: Final = re.compile(r"(?<![.,!])[.,!]++([\"”])$")


def _finished(subject: str, words: list[str]) -> str:
    text = " ".join([subject, *words] if subject else words).strip().rstrip(" ,;:-.!~…")
    text = _STOP_IN_QUOTE.sub(r"\1", text)
    return f"{text}." if text else ""
