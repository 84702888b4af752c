"""Clauses about what is the speaker's: their people, pets and things, and what things do to them."""

from __future__ import annotations

import re
from typing import Final

from memstone.core.rules import nouns
from memstone.core.rules.definite import definite_part, specific, unresolved
from memstone.core.rules.families import FAMILIES, family_of
from memstone.core.rules.lasting import hangs_on_talk, lasts
from memstone.core.rules.rewrite import about, third
from memstone.core.rules.shape import without_comment
from memstone.core.rules.sift import is_reaction, is_task, leaves_open, not_a_fact, points
from memstone.core.rules.told import Context, Told
from memstone.core.rules.verbs import finite_at
from memstone.core.text.lexicon import MEN, WOMEN

_PERSONAL: Final = re.compile(
    rf"^(?:my|our) (?:[\w-]+ ){{0,2}}?(?:{nouns.RELATIVES}|{nouns.ANIMALS})(?![\w'])(?: (?-i:[A-Z][a-z]+)\b)?",
    re.IGNORECASE,
)
_TOO_OPEN: Final = re.compile(
    r"^(?:my|our) (?:\w+ )?(?:advice|point|guess|bad|heart|mind|thoughts?|opinion|fault|turn|pleasure|life|day|week|weekend|head|eyes|support|thanks|love|time|way|question|problem|issue|goal|dream|favou?rite (?:was|is when|is the way|part|thing|one|memory|moment|kind|way|bit|aspect))s?\b",
    re.IGNORECASE,
)


def owned(said: str, context: Context) -> Told | None:
    """Such as "My sister is a vet" or "My allergies: peanuts, kiwi"."""
    said = definite_part(without_comment(said))
    if (
        not said
        or not_a_fact(said)
        or leaves_open(said, is_short=context.is_short)
        or (not context.is_short and _TOO_OPEN.match(said))
    ):
        return None
    if _PAIR.match(said) or re.match(r"^our\b.*\bus\b", said, re.IGNORECASE):
        return None
    listed = context.is_short and re.match(r"^(?:my|our) [\w' -]{2,40}: \S", said, re.IGNORECASE)
    words = said.split()
    verb_at = finite_at(words)
    if not listed and (verb_at < 1 or specific("the " + " ".join(words[verb_at:])) < 1):
        return None
    family = family_of(said, context.own) or (FAMILIES["statement"] if context.is_short else None)
    needed = 1 if context.is_short else 2
    if family is None or specific(said) < needed:
        return None
    whose = somebody(said, context)
    if context.is_talk and (hangs_on_talk(said) or (not whose and _STIRS.search(said))):
        return None
    return Told(third(said, context.who), family, said, whose)


def somebody(said: str, context: Context) -> str:
    """Who of the speaker's people a clause speaks of, whatever it says of them; '' for nobody."""
    found = _PERSONAL.match(said)
    return third(found[0], context.who).rstrip(".") if found else ""


_PAIR: Final = re.compile(
    r"^(?P<other>(?:my|our) (?:[\w'-]+ ){0,3}?[\w'-]+|(?-i:[A-Z][a-z]+)) and (?:i|me) (?P<rest>.+)$", re.IGNORECASE
)


def paired(said: str, context: Context) -> Told | None:
    """Such as "My wife and I moved to Graz"."""
    found = _PAIR.match(said)
    if not found:
        return None
    said_of_self = without_comment(f"we {found['rest']}")
    family = family_of(said_of_self, context.own)
    if (
        family is None
        or not_a_fact(said_of_self)
        or unresolved(said_of_self)
        or specific(said_of_self) < 2 - context.is_short
        or (context.is_talk and not lasts(re.sub(r"^we", "I", said_of_self), family.category))
    ):
        return None
    other = third(f"we know {found['other']}", context.who).removeprefix(f"{context.who} knows ").rstrip(".")
    rest = about(said_of_self[3:], "they").rstrip(".")
    return Told(f"{context.who} and {other} {rest[:1].lower()}{rest[1:]}.", family, said)


_MANY: Final = frozenset(
    "parents sisters brothers sons daughters kids children friends twins cousins team family".split()
)


def _may_be(somebody: str, pronoun: str) -> bool:
    """Whether "he" or "she" can be the one spoken of; most words for people leave it open."""
    words = set(somebody.lower().split())
    others = MEN if pronoun in ("she", "her") else WOMEN
    return not words & others and not words & _MANY


def person(said: str, context: Context) -> Told | None:
    """Such as "she works at Bosch now", right after the speaker's sister was spoken of."""
    if not context.person:
        return None
    said = without_comment(said)
    owner = re.match(r"^(?:his|her) ", said, re.IGNORECASE)
    name = f"{context.person}'s" if owner else context.person
    rest = said.partition(" ")[2]
    if not _may_be(context.person, said.split()[0].lower()):
        return None
    if not rest or not_a_fact(said) or unresolved(said) or specific(said) < 1:
        return None
    of_person = f"{name} {rest}"
    return Told(about(of_person, context.who), FAMILIES["family"], of_person, context.person)


_SELF_INSIDE: Final = re.compile(r"\b(?:me|my|our|mine|i|we)\b", re.IGNORECASE)
_JOINT: Final = re.compile(r"^(?:the|team|project|both|all|there (?:is|are)) ", re.IGNORECASE)
_JUDGED: Final = re.compile(
    r"^the (?:rest|first|second|third|last|other|weather|problem|thing|point|best|worst|result|output|answer|code above|way)\b",
    re.IGNORECASE,
)
_SHOWN: Final = re.compile(r"^(?:the|a) (?:photo|pic|picture|image|view|snap|shot)\b", re.IGNORECASE)
_MOVES_ME: Final = re.compile(
    r"\b(?:makes?|made|making|leaves?|left|gives?|gave|keeps?|kept|helps?|helped|inspires?|inspired|motivates?|means?|meant|brings?|brought|drives?|reminds?|reminded|gets?|got|taught|teaches|lets?|allows?|shows?|showed)\b(?: \w+)? (?:me|us|to me|to us) (?!migraines?|headaches?|hives|itch|sick|queasy|a rash|\d)",
    re.IGNORECASE,
)
"""What something does to somebody's mood is not a fact about them."""

_STIRS: Final = re.compile(
    r"\b(?:makes?|made|keeps?|kept|helps?|helped|inspires?|inspired|motivates?|brings?|brought|drives?|driving|reminds?) (?:me|us)\b",
    re.IGNORECASE,
)

_BARE_RELATIVE: Final = re.compile(
    rf"^(?:(?:{nouns.BARE_RELATIVES})|the (?:kids|wife|husband|missus|dog|cat|baby|boys|girls|boss|doc))\b",
    re.IGNORECASE,
)


def thing(said: str, context: Context) -> Told | None:
    """Such as "Red wine gives me migraines", "The lease on our flat ends in May", "Grandma turned 90"."""
    said = without_comment(said)
    relative = _BARE_RELATIVE.match(said)
    if relative:
        return owned(f"my {re.sub(r'^the ', '', said[0].lower() + said[1:])}", context)
    if context.is_talk and hangs_on_talk(said):
        return None
    if _says_nothing(said):
        return _listed(said, context)
    if _SELF_INSIDE.search(said):
        return Told(about(said, context.who), FAMILIES["statement"], said) if specific(said) >= 2 else None
    if _JUDGED.match(said) or not _JOINT.match(said):
        return None
    family = family_of(re.sub(r"^(?:team|project)\b", r"the \g<0>", said, flags=re.IGNORECASE), context.own)
    return Told(about(said, context.who), family, said) if family and specific(said) >= 2 else None


_SOME: Final = re.compile(r"^(?:there (?:is|are)|everyone|some(?: of)?) ", re.IGNORECASE)


def _says_nothing(said: str) -> bool:
    if ((points(said) or is_reaction(said)) and not _SOME.match(said)) or is_task(said) or not_a_fact(said):
        return True
    if _MOVES_ME.search(said) or _SHOWN.match(said) or finite_at(said.split()) < 1:
        return True
    return unresolved(said) and not said.lower().startswith("there ")


def _listed(said: str, context: Context) -> Told | None:
    """Such as "Languages I speak: Dutch and Farsi"."""
    if points(said) or is_reaction(said):
        return None
    if re.match(r"^[\w' -]{2,40}\b(?:i|we|my|our)\b[\w' -]{0,30}: \S", said, re.IGNORECASE) and not not_a_fact(said):
        return Told(about(said, context.who), FAMILIES["statement"], said)
    return None
