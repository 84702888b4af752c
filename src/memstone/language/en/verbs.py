"""Conjugate verbs, to turn "I" into somebody's name."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from memstone.language.en.lexicon import KIN, PETS
from memstone.language.lists import read_data

_DATA: Final = read_data("en", "verbs")

# --- english verbs, as far as turning "I" into somebody's name needs them ---------------------------------------------


AUXILIARIES: Final = {
    "am": "is",
    "have": "has",
    "do": "does",
    "was": "was",
    "will": "will",
    "would": "would",
    "can": "can",
    "could": "could",
    "should": "should",
    "must": "must",
    "might": "might",
    "may": "may",
    "shall": "will",
    "had": "had",
    "did": "did",
    "are": "is",
    "were": "was",
    "is": "is",
}
"""First person to third; "are" and "were" come from "we"."""

FINITE: Final = frozenset(AUXILIARIES) | {"has", "does"}
"""Forms that make a clause a sentence by themselves."""

ADVERBS: Final = frozenset(_DATA["adverbs"].split())

IRREGULAR: Final[dict[str, str]] = {
    past: base
    for base, *pasts in (line.split() for line in _DATA["irregular"].split("|"))
    for past in (pasts or [base])
}
"""Past forms and participles to their verb. Verbs that never change stand for themselves."""

PARTICIPLES: Final = frozenset(_DATA["participles"].split())
IRREGULAR_PAST: Final = frozenset(IRREGULAR) - PARTICIPLES
SAME_IN_PAST: Final = frozenset("read put cut set let hit quit cost shut split spread hurt bet upset".split())

COMMON_VERBS: Final = frozenset(_DATA["common_verbs"].split())
"""Verbs that may follow "and" after a first verb in the present."""

VERBS: Final = COMMON_VERBS | frozenset(IRREGULAR.values()) | frozenset(_DATA["verbs"].split())
"""Verbs that are known by their plain form."""


_NOT_PAST: Final = frozenset(
    "need feed speed breed exceed succeed proceed bed red wed seed weed shed hundred embed bleed greed indeed".split()
)


def third_person(verb: str) -> str:
    """Return the third person: ``work`` becomes ``works``."""
    if verb in AUXILIARIES:
        return AUXILIARIES[verb]
    if verb.endswith(("s", "x", "z", "ch", "sh", "o")):
        return verb + "es"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + "s"


def is_past(verb: str) -> bool:
    """Return whether a form is past by itself."""
    return verb in IRREGULAR_PAST or (verb.endswith("ed") and len(verb) > 3 and verb not in _NOT_PAST)


@lru_cache(maxsize=4096)
def lemmatize_verb(word: str) -> str:
    """Return the plain form of a verb, as far as it is known; other words come back with their ending cut."""
    if word in IRREGULAR:
        return IRREGULAR[word]
    if word in VERBS:
        return word
    for ending in ("ing", "ied", "ies", "ed", "es", "s"):
        if word.endswith(ending) and len(word) > len(ending) + 1:
            found = next((form for form in _base_form_candidates(word, ending) if form in VERBS), "")
            if found:
                return found
    return word


def _base_form_candidates(word: str, ending: str) -> tuple[str, ...]:
    bare = word[: -len(ending)]
    if ending in ("ied", "ies"):
        return (bare + "y", bare + "ie")
    undoubled = bare[:-1] if len(bare) > 2 and bare[-1] == bare[-2] else bare
    return (bare, bare + "e", undoubled, bare + "ie")


@lru_cache(maxsize=4096)
def is_verb(word: str) -> bool:
    """Return whether a word can be a form of a known verb."""
    return lemmatize_verb(word) in VERBS or word in FINITE


def finite_at(words: list[str]) -> int:
    """Return where the verb of a clause stands whose subject comes first; -1 when there is none.

    A plain form counts only after a plural ("our tests use"), and a form in -s not right before a verb ("my walks are").
    """
    for at in range(1, len(words)):
        word = words[at].lower().strip(",;:")
        if word in FINITE or word.endswith("n't") or word in IRREGULAR_PAST:
            return at
        following = words[at + 1].lower() if at + 1 < len(words) else ""
        if word.endswith("'s") and following in _AFTER_IS:
            return at
        if following in FINITE or words[at][0].isupper() or words[at - 1].lower() in ("the", "a", "an", "my", "our"):
            continue
        if is_past(word) and is_verb(word):
            return at
        if is_verb(word) and _has_agreement(words[at - 1].lower(), word):
            return at
    return -1


_AFTER_IS: Final = frozenset("been got a an the so not now pretty really very still going getting".split())
_PLURALS: Final = frozenset("people children men women kids parents folks team family mice geese feet".split())


def _has_agreement(subject: str, verb: str) -> bool:
    plural = subject.endswith("s") or subject in _PLURALS
    return plural if verb in VERBS else verb.endswith("s")


# --- from "I" to somebody's name --------------------------------------------------------------------------------------


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


def clause_to_third_person(clause: str, who: str, *, past: bool = False) -> str:
    """Return a clause without contractions, told about ``who``; a subject is put in front where there is none.

    ``past`` says that a verb whose forms are alike ("cut") is meant as past.
    """
    words = clause.split()
    first = words[0].lower().strip(",") if words else ""
    if first in ("i", "we"):
        past = past or bool(_PAST_TIME.search(clause) or _TITLE.match(clause[:1].lower() + clause[1:]))
        return _finish_sentence(who, _reword_predicate(words[1:], who, present_allowed=not past))
    if first in ("my", "our"):
        is_somebody = any(_split_punctuation(word)[0].removesuffix("'s") in KIN | PETS for word in words[1:4])
        return _finish_sentence(f"{who}'s", _replace_pronouns(words[1:], who, of_others=is_somebody))
    return _finish_sentence(
        who, _replace_pronouns([words[0][:1].lower() + words[0][1:], *words[1:]], who) if words else []
    )


def name_speaker_in_clause(clause: str, who: str) -> str:
    """Name the speaker in a clause with a subject of its own ("Red wine gives me migraines").

    The first word for the speaker becomes their name.
    """
    words = clause.split()
    for at, word in enumerate(words):
        bare, tail = _split_punctuation(word)
        name = {"me": who, "us": who, "i": who, "we": who, "my": f"{who}'s", "our": f"{who}'s", "mine": f"{who}'s"}.get(
            bare.lower()
        )
        if name is None or bare == "US":
            continue
        rest = words[at + 1 :]
        lines = (
            _reword_predicate(rest, who, present_allowed=True)
            if bare.lower() in ("i", "we") and rest
            else _replace_pronouns(rest, who)
        )
        return _capitalize_first(_finish_sentence("", [*words[:at], name + tail, *lines]))
    return _capitalize_first(_finish_sentence("", words))


def _capitalize_first(text: str) -> str:
    return text[:1].upper() + text[1:]


_NO_LONGER: Final = re.compile(r"no longer$", re.IGNORECASE)


def _is_adverb(word: str) -> bool:
    lowered = word.lower().strip(",")
    return (lowered in ADVERBS and lowered != "tend") or (lowered.endswith("ly") and not is_verb(lowered))


def _reword_predicate(words: list[str], who: str, *, present_allowed: bool) -> list[str]:
    """Return what follows the subject: adverbs, then the verb in agreement, then the rest."""
    at = 0
    while at < len(words) - 1 and (_is_adverb(words[at]) or _NO_LONGER.match(" ".join(words[at : at + 2]))):
        at += 1 if _is_adverb(words[at]) else 2
    if at >= len(words):
        return words
    verb, tail = _split_punctuation(words[at])
    agreed, present = _conjugate_verb(verb, present_allowed=present_allowed)
    if present and not tail and verb.lower() not in ("am", "are", "have"):
        words, at = _without_just(words, at)
    rest = words[at + 1 :]
    others = _replace_pronouns(rest, who)
    return [
        *words[:at],
        agreed + tail,
        *(_conjugate_joined_verbs(others) if present else _conjugate_later_verbs(others)),
    ]


def _without_just(words: list[str], at: int) -> tuple[list[str], int]:
    """Remove "just", which says nothing before what somebody does or likes in general."""
    before = [word for word in words[:at] if word.lower() not in ("just", "simply", "actually", "basically")]
    return [*before, *words[at:]], len(before)


_WANTING: Final = frozenset("want need hope plan love like prefer enjoy".split())


def _conjugate_later_verbs(words: list[str]) -> list[str]:
    """Conjugate what is wanted or done now after what was done: "went to a class and want to go again"."""
    for at in range(len(words) - 2):
        if words[at].lower() not in ("and", "but"):
            continue
        following, then = words[at + 1].lower(), words[at + 2].lower()
        if following in _WANTING and then == "to":
            words[at + 1] = third_person(following)
        elif following == "now" and then in COMMON_VERBS:
            words[at + 2] = third_person(then)
    return words


def _conjugate_verb(verb: str, *, present_allowed: bool) -> tuple[str, bool]:
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


def _conjugate_joined_verbs(words: list[str]) -> list[str]:
    """Conjugate a verb after "and" as the first one: "lives in Oslo and work at Acme".

    Not where the verb belongs to something else: "likes to sing and dance", "does not eat or drink", "for fun and work".
    """
    for at in range(len(words) - 2):
        word, tail = _split_punctuation(words[at + 1])
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
    """Return whether it says where or as what somebody lives, which needs no "and": "is 41, live in Leeds"."""
    return bool(_LIFE.match(" ".join(words[at : at + 2])))


def _listed_before(words: list[str], at: int) -> None:
    """Conjugate what stands between commas, too: "watches films, hike, and cooks"."""
    for between in range(1, at + 1):
        word, tail = _split_punctuation(words[between])
        if tail == "," and words[between - 1].endswith(",") and word.lower() in COMMON_VERBS:
            words[between] = third_person(word.lower()) + tail


def _goes_on(words: list[str], at: int) -> bool:
    """Return whether it goes on as a verb does; a noun list ("guitar and work") ends or has a comma."""
    before = words[at - 1].lower() if at else ""
    return not words[at + 1].endswith(",") and before not in _NOT_BEFORE_VERB


_SELVES: Final = frozenset("i me my mine".split())
_OTHERS: Final = (KIN | PETS | frozenset(_DATA["others"].split())) - frozenset(_DATA["others_2"].split())
"""Whom "they" could also mean."""


def _replace_pronouns(words: list[str], who: str, *, of_others: bool = False) -> list[str]:
    """Return the rest of a clause: "they" for the speaker, or their name where others stand before whom it could mean.

    ``of_others`` says that the clause is about somebody of theirs, and not about the speaker.
    """
    changed: list[str] = []
    is_other_near = of_others
    for at, word in enumerate(words):
        bare, tail = _split_punctuation(word)
        lowered = bare.lower()
        if lowered in _SELVES and is_other_near and who and (of_others or not _is_own_kin(words, at)):
            name = f"{who}'s" if lowered in ("my", "mine") else who
            rest = words[at + 1 :]
            is_doing = lowered == "i" and bool(rest)
            lines = (
                _reword_predicate(rest, who, present_allowed=True)
                if is_doing
                else _replace_pronouns(rest, who, of_others=of_others)
            )
            return [*changed, name + tail, *lines]
        if lowered in _PRONOUNS and bare != "US":
            changed.append(_PRONOUNS[lowered] + tail)
        elif at and words[at - 1].lower() == "i" and lowered in _PLURAL:
            changed.append(_PLURAL[lowered] + tail)
        else:
            changed.append(word)
        is_other_near = is_other_near or (bare.removesuffix("'s") in _OTHERS and _is_one_who_acts(words, at))
    return changed


def _is_own_kin(words: list[str], at: int) -> bool:
    """Return whether it is kin of the speaker's own: in "for my sister and my brother" he is not the sister's."""
    following = (_split_punctuation(word)[0].lower().removesuffix("'s") for word in words[at + 1 : at + 3])
    return words[at].lower() == "my" and any(word in KIN and word != "team" for word in following)


def _is_one_who_acts(words: list[str], at: int) -> bool:
    """Return whether it is not the first half of a pair such as "family trip" or "pet store", by the next word."""
    following = (
        _split_punctuation(words[at + 1])[0].lower()
        if at + 1 < len(words) and not _split_punctuation(words[at])[1]
        else ""
    )
    return following not in _PAIRED


_PAIRED: Final = frozenset(
    "trip trips time dinner dinners store stores shop members member business house home meeting reunion history".split()
)


_WORD: Final = re.compile(r"^([\"'(]*)([A-Za-z][A-Za-z'-]*?)(\W*)$")


def _split_punctuation(word: str) -> tuple[str, str]:
    """Return a word and the punctuation behind it."""
    found = _WORD.match(word)
    return (found[2], found[3]) if found and not found[1] else (word, "")


_STOP_IN_QUOTE: Final = re.compile(r"(?<![.,!])[.,!]++([\"”])$")


def _finish_sentence(subject: str, words: list[str]) -> str:
    text = " ".join([subject, *words] if subject else words).strip().rstrip(" ,;:-.!~…")
    text = _STOP_IN_QUOTE.sub(r"\1", text)
    return f"{text}." if text else ""
