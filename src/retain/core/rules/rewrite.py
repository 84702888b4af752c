"""From "I" to somebody's name: first-person clauses as third-person sentences.

Only pronouns and the agreement of verbs change; every other word stays as it was said.
"""

from __future__ import annotations

import re
from typing import Final

from retain.core.rules.verbs import ADVERBS, AUXILIARIES, COMMON_VERBS, SAME_IN_PAST, is_past, third_person

_WORD: Final = re.compile(r"[A-Za-z][A-Za-z'-]*|\S")
_PAST_TIME: Final = re.compile(
    r"\b(?:yesterday|ago|last|earlier|when i was|just|finally|recently|back in|in (?:19|20)\d\d)\b", re.IGNORECASE
)
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


def third(clause: str, who: str) -> str:
    """A clause without contractions, told about ``who``; a subject is put in front where there is none."""
    words = clause.split()
    first = words[0].lower().strip(",") if words else ""
    if first in ("i", "we"):
        return _finished(who, _told(words[1:], present_allowed=not _PAST_TIME.search(clause)))
    if first in ("my", "our"):
        return _finished(f"{who}'s", _others(words[1:]))
    return _finished(who, _others([words[0][:1].lower() + words[0][1:], *words[1:]]) if words else [])


def _told(words: list[str], *, present_allowed: bool) -> list[str]:
    """What follows the subject: adverbs, then the verb in agreement, then the rest."""
    at = 0
    while at < len(words) - 1 and words[at].lower().strip(",") in ADVERBS:
        at += 1
    if at >= len(words):
        return words
    verb, tail = _split(words[at])
    agreed, present = _agree(verb, present_allowed=present_allowed)
    rest = words[at + 1 :]
    return [*words[:at], agreed + tail, *(_coordinated(_others(rest)) if present else _others(rest))]


def _agree(verb: str, *, present_allowed: bool) -> tuple[str, bool]:
    lowered = verb.lower()
    if lowered in AUXILIARIES:
        return AUXILIARIES[lowered], lowered == "am"
    if is_past(lowered) and not (lowered in SAME_IN_PAST and lowered != "quit" and present_allowed):
        return verb, False
    return third_person(lowered), True


def _coordinated(words: list[str]) -> list[str]:
    """Such as "lives in Oslo and work at Acme": a verb after "and" follows the first one."""
    for at in range(len(words) - 1):
        word, tail = _split(words[at + 1])
        if words[at].lower() in ("and", "or") and word.lower() in COMMON_VERBS and _is_verb_place(words, at + 2):
            words[at + 1] = third_person(word.lower()) + tail
    return words


def _is_verb_place(words: list[str], at: int) -> bool:
    """A noun list ("guitar and work") ends where a verb would go on."""
    return at < len(words)


def _others(words: list[str]) -> list[str]:
    changed = list(words)
    for at, word in enumerate(words):
        bare, tail = _split(word)
        lowered = bare.lower()
        if lowered in _PRONOUNS and (bare != "US"):
            changed[at] = _PRONOUNS[lowered] + tail
            if lowered == "i" and at + 1 < len(words):
                following, end = _split(words[at + 1])
                changed[at + 1] = _PLURAL.get(following.lower(), following) + end
        elif at and words[at - 1].lower() == "i" and lowered in _PLURAL:
            changed[at] = _PLURAL[lowered] + tail
    return changed


def _split(word: str) -> tuple[str, str]:
    """A word and the punctuation behind it."""
    found = re.match(r"^([A-Za-z][A-Za-z'-]*?)(\W*)$", word)
    return (found[1], found[2]) if found else (word, "")


def _finished(subject: str, words: list[str]) -> str:
    text = " ".join([subject, *words]).strip().rstrip(" ,;:-.!")
    text = re.sub(r"\b([Dd]oes|is|has|was|did|would|could|can|will|should) not\b", r"\1 not", text)
    return f"{text}." if text else ""
