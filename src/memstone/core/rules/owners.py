"""Whom a clause is about: the speaker, one of their people, or somebody else."""

from __future__ import annotations

import re
from typing import Final

from memstone.core.text.lexicon import KIN

SELF: Final = "self"
OTHERS: Final = "others"

SAME_PERSON: Final = {
    word: group[0]
    for group in (
        "mother mom mum mama".split(),
        "father dad papa".split(),
        "grandmother grandma nana gran granny".split(),
        "grandfather grandpa granddad grandad".split(),
        "partner spouse wife husband girlfriend boyfriend fiance fiancee fiancé fiancée".split(),
        "child kid".split(),
        "son boy".split(),
        "children kids".split(),
        "manager boss".split(),
        "friend bestie buddy mate".split(),
        "roommate flatmate housemate".split(),
        "neighbour neighbor".split(),
        "colleague coworker co-worker teammate".split(),
    )
    for word in group
}
_MORE_PEOPLE: Final = frozenset(
    {
        "guests",
        "guest",
        "customers",
        "clients",
        "tenants",
        "students",
        "pupils",
        "neighbours",
        "neighbors",
        "colleagues",
        "coworkers",
        "in-law",
        "godson",
        "goddaughter",
        "landlady",
        "grandad",
        "granddad",
        "competitor",
        "competitors",
        "rival",
        "intern",
        "assistant",
        "customer",
        "supplier",
        "vendor",
        "agency",
    }
)
_ONE_OF_US: Final = frozenset({"team", "family"})
"""Groups the speaker belongs to: what they do, the speaker does."""

_PEOPLE: Final = "|".join(sorted((KIN | _MORE_PEOPLE | SAME_PERSON.keys()) - _ONE_OF_US, key=len, reverse=True))
_ADJECTIVES: Final = (
    r"(?:(?:older|younger|little|big|best|oldest|youngest|new|old|ex|late|two|three|dear|poor|elder|eldest) )*"
)
_LEAD: Final = r"(?:(?:and|but|so|also|just|well|oh|yes|yeah|haha|lol|ok|okay|because|since|while|turns out|i think|it seems|apparently|funny,?|sadly|luckily|good news|bad news|heads up|fyi|btw|by the way|(?:only |just )?because)[,:!]? )*"
_FIRM: Final = r"(?:children|kids|wife|husband|boss|baby|in-laws|twins|parents|grandparents)"
_OWN_NAME: Final = r"(?:mum|mom|mama|dad|papa|grandma|grandpa|grandad|granddad|nana|granny|grandmother|grandfather|(?:cousin|aunt|uncle)(?= [a-z]))"
_KIN: Final = re.compile(
    rf"^{_LEAD}(?:(?:my|our|user's|the user's|his|her|their) {_ADJECTIVES}(?P<kin>{_PEOPLE})|the (?P<firm>{_FIRM})|(?P<own>{_OWN_NAME}))\b(?! (?:and|&) (?:i|me|user|myself)\b)(?P<thing>'s? (?!(?:\w+ )?(?:name|birthday|age|favou?rite|surname|job|address|number)\b)[a-z]+)?(?P<named> (?:is|was|are) (?:called|named)\b)?"
)
_SELF: Final = re.compile(rf"^{_LEAD}(?:i|we|user|my|our|me|user's|the user|us)\b(?!')")
_PRONOUN: Final = re.compile(rf"^{_LEAD}(?:he|she|they|his|her|their)\b")
_OTHERS: Final = re.compile(
    rf"^{_LEAD}(?:the other\b|(?:an? )?[a-z]+(?: [a-z]+)? of (?:mine|ours)\b|(?:one|two|three|four|some|many|most|several|half|a few|a couple)(?: of)?(?: (?:my|our|the|other))? (?:people|guys|colleagues|friends|others|coworkers|neighbours|folks|persons|employees) (?!joined|of us)|everyone\b|everybody\b|somebody\b|someone\b|people\b|(?:an?|another) (?:customer|client|friend|colleague|neighbour|guy|girl|woman|man|coworker)\b)"
)
_SWITCH: Final = re.compile(
    r"(?:[,;:] (?:and |but |so |while |because |luckily |though )?| - |\.\.\. ?| and | but | so | while | because )"
)


def owner_of(clause: str) -> str | None:
    """Whom a lower-case clause names as its subject, None when it does not say."""
    found = _KIN.match(clause)
    if found:
        person = found["kin"] or found["firm"] or found["own"]
        person = SAME_PERSON.get(person, person)
        if found["named"]:
            return SELF  # who belongs to a person, and how they are called, is a fact of that person
        return f"{person}'s" if found["thing"] else person
    if _OTHERS.match(clause):
        return OTHERS
    return SELF if _SELF.match(clause) else None


def as_pronoun(clause: str) -> str:
    """A clause about one of the speaker's people with "he" in their place, so that "my wife" says nothing by itself."""
    found = _KIN.match(clause)
    return clause if found is None or found["thing"] else f"he{clause[found.end() :]}"


def refers_back(clause: str) -> bool:
    """Whether a clause is about somebody named before: "he is at school"."""
    return bool(_PRONOUN.match(clause))


_VERB: Final = r"(?:is|are|was|were|has|have|had|does|did|will|can|would|got|went|made|came|just|also|now|still|never|always|[a-z]{2,}(?:[^s]s|ed))"
_CLAUSE: Final = re.compile(rf"(?:i|we|user)\b|(?:(?:my|our|user's|the|his|her|their) )?(?:[\w'-]+ ){{1,3}}?{_VERB}\b")
"""A clause with a verb of its own, not one more thing of a list."""


def by_owner(sentence: str, before: str = SELF) -> list[tuple[str, str]]:
    """The parts of a lower-case sentence, each with whom it is about; ``before`` is whom the last sentence was about."""
    parts: list[tuple[str, str]] = []
    start = 0
    owner = _owner_or(sentence, before)
    for boundary in _SWITCH.finditer(sentence):
        rest = sentence[boundary.end() :]
        named = owner_of(rest) if _CLAUSE.match(rest) else None
        if named is not None and named != owner:
            parts.append((owner, sentence[start : boundary.start()]))
            owner, start = named, boundary.end()
    parts.append((owner, sentence[start:]))
    return [(who, part) for who, part in parts if part.strip()]


def _owner_or(sentence: str, before: str) -> str:
    named = owner_of(sentence)
    if named is not None:
        return named
    return before if refers_back(sentence) else SELF
