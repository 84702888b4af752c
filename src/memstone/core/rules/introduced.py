"""Who somebody says they are, and sentences that first say of whom they speak: "It is my son who is allergic"."""

from __future__ import annotations

import re
from typing import Final

from memstone.core.entities.lists import FIRST_NAMES
from memstone.core.rules import nouns
from memstone.core.rules.families import FAMILIES, family_of
from memstone.core.rules.rewrite import third
from memstone.core.rules.sift import not_a_fact
from memstone.core.rules.told import Context, Told

_INTRODUCTION: Final = re.compile(
    r"^(?:I am|my name is|the name is) (?P<name>[^\W\d_]{2,}(?:[ '-][^\W\d_][^\W\d_'-]+)*)(?: \([^()]{1,20}\))?(?: (?:here|by the way))?(?P<more>, .+)?$",
    re.IGNORECASE,
)
_NOT_NAMES: Final = frozenset(
    """Italian French German Spanish American British Indian Chinese Japanese Canadian Australian Norwegian Swedish Danish
    Dutch Polish Irish Scottish Brazilian Mexican Korean Russian Greek Turkish Jewish Muslim Christian Catholic Buddhist
    Hindu Sikh Vegan Sorry Fine Good Great Okay Ok Back Here Done Ready Sure Happy Sad Tired Busy Portuguese Finnish Swiss
    Austrian Belgian Czech African European Asian Latino Latina Nigerian Kenyan Egyptian Israeli Arab Ukrainian""".split()
)


_PLAIN_WORDS: Final = frozenset({"christian", "frank"})
"""Names that are adjectives as well."""


_OF_SOMEWHERE: Final = re.compile(r" (?:of|from|at|with) (?:the )?[A-Z]")


def introduction(said: str, who: str) -> str:
    """The sentence that tells a speaker's name; '' where it is none."""
    found = _INTRODUCTION.match(said)
    if found and found["name"].lower() in FIRST_NAMES - _PLAIN_WORDS and found["name"].islower():
        return f"{who}'s name is {found['name'].title()}." if not found["more"] or _apposed(said) else ""
    if not found or not found["name"][0].isupper() or found["name"].split()[0] in _NOT_NAMES:
        return ""
    if found["name"].split()[0].istitle() and _OF_SOMEWHERE.search(found["name"]):
        return f"{who} is {found['name']}." if not found["more"] else ""
    more = "" if _apposed(said) else found["more"] or ""
    if more and (
        not re.match(r"^, \d|^, (?-i:[A-Z])", more)
        or (said.lower().startswith("i am ") and not re.match(r"^, \d", more))
    ):
        return ""
    return f"{who}'s name is {found['name']}{more}."


_APPOSED: Final = re.compile(
    r"(?:an? |the |from |based in |living in |originally |\d{1,3}\b|retired\b|(?:proud |single |stay-at-home )*(?:mother|father|mom|mum|dad|parent|founder|co-?founder|head|owner|director|student|ceo|cto|cfo|vp|pm|freelance)\b)",
    re.IGNORECASE,
)
"""What may stand behind a name to say who that is; a trade may as well."""


def _apposed(said: str) -> str:
    """What stands behind the speaker's name and says what they are."""
    found = _INTRODUCTION.match(said)
    rest = (found["more"] or "").removeprefix(", ") if found else ""
    if not rest or rest.split()[0].istitle() or re.search(r"\b(?:you|your|i|my|me|we)\b", rest, re.IGNORECASE):
        return ""
    return rest if _APPOSED.match(rest) or nouns.TRADE.match(f"a {rest.replace('-', ' ')}") else ""


def behind_name(said: str, context: Context) -> Told | None:
    """Such as "I am Antoine, sous-chef in Lyon" as far as it says what Antoine is."""
    rest = _apposed(said)
    if not rest or not introduction(said, context.who):
        return None
    state = f"I am {rest}"
    if not_a_fact(state):
        return None
    return Told(third(state, context.who), family_of(state, context.own) or FAMILIES["identity"], state)


_CLEFT: Final = re.compile(
    r"^(?:it|that) (?:is|was) (?P<who>(?:my|our) [\w' -]{2,40}?|I) (?:who|that) (?P<what>.+?)(?P<other>,? (?:and )?not (?:my|our|me)\b[\w' -]{0,40})?$",
    re.IGNORECASE,
)


def straight(said: str) -> str:
    """Such as "It is my son who is allergic, not my daughter" as "my son is allergic"."""
    found = _CLEFT.match(said)
    return f"{found['who']} {found['what']}" if found else said


def denied_of_other(said: str) -> str:
    """The other half of such a sentence: "my daughter is not allergic"; '' where nobody else is named."""
    found = _CLEFT.match(said)
    if not found or not found["other"] or not re.match(r"(?:is|was|has|have|are)\b", found["what"]):
        return ""
    other = re.sub(r"^,? (?:and )?not ", "", found["other"])
    verb, _, rest = found["what"].partition(" ")
    return f"{other} {verb} not {rest}" if other != "me" else ""
