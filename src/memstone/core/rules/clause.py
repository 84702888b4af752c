"""One clause, read as a fact about the speaker or somebody of theirs.

Who the subject is decides how it is read: the speaker, something of theirs, somebody by name, a thing that does something
to the speaker, or nobody at all, as in a note.
"""

from __future__ import annotations

import re
from typing import Final

from memstone.core.rules.definite import after_verb, definite_part, newly_told, specific, unresolved
from memstone.core.rules.families import FAMILIES, Family, family_of
from memstone.core.rules.introduced import introduction, straight
from memstone.core.rules.lasting import lasts, without_the_one
from memstone.core.rules.notes import third_person_note, without_subject
from memstone.core.rules.rewrite import about, third
from memstone.core.rules.shape import opening_behind, without_asides, without_comment
from memstone.core.rules.sift import leaves_open, not_a_fact, points
from memstone.core.rules.theirs import owned, paired, person, thing
from memstone.core.rules.told import Context, Told
from memstone.core.rules.verbs import BY_ITSELF, is_verb, lemma


def read(said: str, context: Context) -> Told | None:
    """The fact a plain clause without fillers states, or None."""
    named = introduction(said, context.who)
    if named:
        return Told(named, Family("identity", salience=0.9), said)
    return _shortcut(said, context) or _by_subject(opening_behind(_is_written_out(straight(said))), context)


_IS: Final = re.compile(
    r"^((?:(?:my|our|the) )?[\w-]+)'s (?=(?:the|a|an|on|in|at|called|named|\d\S*|been|not|now|still|got|my|moved|started|joined|finished|passed|switched|decided|bought|turned|become|left|lost|taken|had)\b)",
    re.IGNORECASE,
)


_PARTICIPLE: Final = re.compile(
    r"(?:been|got|moved|started|joined|finished|passed|switched|decided|bought|turned|become|left|lost|taken|had)\b",
    re.IGNORECASE,
)


def _is_written_out(said: str) -> str:
    """Such as "My birthday's the 3rd" with its verb."""
    return _IS.sub(lambda m: f"{m[1]} {'has' if _PARTICIPLE.match(said, m.end()) else 'is'} ", said, count=1)


def _by_subject(said: str, context: Context) -> Told | None:
    first = said.split(maxsplit=1)[0].lower() if said else ""
    if first in ("i", "we"):
        return _first_person(said, context)
    if first in ("my", "our"):
        return paired(said, context) or owned(said, context)
    if first in ("he", "she", "his", "her"):
        return person(said, context)
    return (
        third_person_note(said, context)
        or without_subject(said, context)
        or (paired(said, context) or thing(said, context) if context.is_short else None)
    )


_SELF_EVIDENT: Final = frozenset("identity family home work health skill".split())
_ASSOCIATE: Final = re.compile(
    r"^we (?:\w+ly |just |all |both )*(?:chat|talk|spoke|speak|catch|caught|connect|agree|bond|share|hang|hung|get along|laugh|rock|encourage|push|click|deserve|are (?:all|both|lucky)|make a|all|both)"
    r"|\b(?:each other|one another|us all|all of us)\b",
    re.IGNORECASE,
)
_AMONG_US: Final = re.compile(
    r"^we (?:\w+ly |just )*(?:can|will|should|keep|need|support|are in|are on|have to|got this|got to)\b", re.IGNORECASE
)
"""In a talk "we" may be the two who talk."""

_CHILDHOOD: Final = re.compile(
    r"^(?:i|we) (?:was|were) (?:a |an |just |only |so |about |like )*(?:kids?|child|boy|girl|little|young\w*|teenager|\d+)\b",
    re.IGNORECASE,
)


def _first_person(said: str, context: Context) -> Told | None:
    said = definite_part(newly_told(without_comment(said)))
    if context.is_talk:
        said = without_comment(without_the_one(said))
    if not_a_fact(said) or _CHILDHOOD.match(said) or leaves_open(said, is_short=context.is_short):
        return None
    family = family_of(said, context.own) or (_plain_statement(said) if context.is_short else None)
    if family is None or not _is_enough(said, family, context):
        return None
    if _ASSOCIATE.search(said) or (not context.is_short and _AMONG_US.match(said)):
        return None
    if context.is_talk and not lasts(said, family.category):
        return None
    return Told(third(_we_as_i(said), context.who, past=family.category == "event"), family, said)


_MANY_OF_US: Final = re.compile(
    r"^we are (?P<now>now |currently |only |just )?(?=(?:about |around |roughly |almost |over )?\w+(?:-\w+)? (?:people|employees|engineers|developers|staff|students|of us|members|persons)\b)",
    re.IGNORECASE,
)
_A_GROUP: Final = re.compile(
    r"^we are (?P<now>now |currently |only |just |still )?(?=(?:an? )(?:[\w-]+ ){0,3}?(?:team|company|startup|family|couple|household|group|band|duo|trio|shop|agency|firm|studio|crew|community|charity|nonprofit|cooperative|business)\b)",
    re.IGNORECASE,
)


def _we_as_i(said: str) -> str:
    """What "we" are together, one of us is a part of: nobody is a team of six."""
    if _A_GROUP.match(said):
        return _A_GROUP.sub(lambda m: f"I am {m['now'] or ''}part of ", said)
    if _MANY_OF_US.match(said):
        return _MANY_OF_US.sub(lambda m: f"our team is {m['now'] or ''}", said)
    return re.sub(
        r"^we (are|were)(?: both| all)?\b",
        lambda m: "I am" if m[1].lower() == "are" else "I was",
        said,
        flags=re.IGNORECASE,
    )


def _is_enough(said: str, family: Family, context: Context) -> bool:
    """Talk among people has to be more particular than what somebody tells their assistant in a line."""
    if context.is_short and family.category in _SELF_EVIDENT and len(said.split()) > 2:
        return True
    if family.category == "preference" and not context.is_short and _THE_ONE.match(said):
        return False
    if not context.is_short and _MUST.match(said):
        return False
    needed = 1 if context.is_short or family.category in _PARTICULAR else 2
    is_bare = family.category == "statement" and not _GOING_ON.match(said)
    return specific(said) >= needed + is_bare and (specific(after_verb(said)) >= 1 or bool(_COMPLETE.match(said)))


_GOING_ON: Final = re.compile(r"^(?:i|we) (?:am|are) (?:\w+ly |also |still |now )*\w+ing\b", re.IGNORECASE)
_PARTICULAR: Final = _SELF_EVIDENT | {"preference", "event", "possession", "pattern"}
_COMPLETE: Final = re.compile(
    rf"^(?:i|we)(?: \w+)? (?:graduated|retired|resigned|divorced|got married)\b|^(?:i|we) (?:{'|'.join(sorted(BY_ITSELF))})$|^(?:i|we) (?:(?:can|do) not|never|used to|no longer) \w+$",
    re.IGNORECASE,
)
_MUST: Final = re.compile(r"^(?:i|we) (?:had|have|got|get) to\b", re.IGNORECASE)
_THE_ONE: Final = re.compile(
    r"^(?:i|we)(?: \w+){1,3} the (?!(?-i:[A-Z]))(?!ocean|sea|outdoors|mountains|beach|rain|snow|sun|forest|theat|gym|cold|heat|city|countryside|piano|violin|guitar)(?!.*(?-i: [A-Z\"]))",
    re.IGNORECASE,
)
"""Such as "I love the structure": which one, only the talk before can tell."""


_ANY_VERB: Final = re.compile(
    r"^(?:i|we) (?:(?:do|did|can|have|had) (?:not )?)?(?:(?!(?:f|re|rep|app|supp|comp|imp)ly )\w+ly |just |also |always |even )?([a-z]+)\b",
    re.IGNORECASE,
)


_HAS_BEEN_TO: Final = re.compile(r"^(?:[Ii]|[Ww]e) have (?:\w+ )?been to [A-Z]")


def _plain_statement(said: str) -> Family | None:
    """In a short message "I" and a known verb are enough."""
    found = _ANY_VERB.match(said)
    if _HAS_BEEN_TO.match(said):
        return FAMILIES["event"]
    return (
        FAMILIES["statement"]
        if found and lemma(found[1].lower()) not in ("be", "am", "will", "would") and is_verb(found[1].lower())
        else None
    )


_AS_SAID: Final = "{value} {what}."
_SHORTCUTS: Final = (
    (
        "preference",
        re.compile(
            r"^(?:my |new |current |all-time )*(?P<what>favou?rite [\w' -]{2,30}?)(?:\?|:| -| is) ?(?P<value>\S.*)$",
            re.IGNORECASE,
        ),
        "{who}'s {what} is {value}.",
    ),
    (
        "home",
        re.compile(r"^(?P<value>[A-Z][\w' -]+), (?:that|this|which) is where (?:i|we) live$", re.IGNORECASE),
        "{who} lives in {value}.",
    ),
    (
        "statement",
        re.compile(
            r"^you (?:have )?(?:got|have) my (?P<what>[\w' -]{2,30}?) wrong,? (?:it is|it should be) (?P<value>.+?)(?:,? (?:and )?not .+)?$",
            re.IGNORECASE,
        ),
        "{who}'s {what} is {value}.",
    ),
    ("home", re.compile(r"^home is (?P<value>.+)$", re.IGNORECASE), "{who}'s home is {value}."),
    (
        "identity",
        re.compile(
            r"^(?:everyone|everybody|people|friends|(?:my )?\w+)(?: \w+){0,3} (?:calls?|knows?) me (?:as )?(?P<value>[A-Z]\w+)(?:,.*)?$"
        ),
        "{who} is called {value}.",
    ),
    (
        "preference",
        re.compile(
            r"^(?P<value>\w[\w' &/-]{2,80}) (?:is|are) something (?:i|we) (?P<what>like|love|enjoy|hate|dislike|prefer|avoid|do not like|do not enjoy)$",
            re.IGNORECASE,
        ),
        "",
    ),
    (
        "preference",
        re.compile(
            r"^(?P<value>\w[\w' ,&/-]{2,80}) (?P<what>(?:is|are) my (?:main |biggest |absolute |all-time |favou?rite )*(?:hobby|hobbies|passions?|favou?rites?))$",
            re.IGNORECASE,
        ),
        _AS_SAID,
    ),
    (
        "preference",
        re.compile(
            r"^(?P<value>\w[\w' ,&/-]{2,80}) (?P<what>(?:(?:is|are) (?:really |very |so |super |always )*important|matters?(?: a lot)?) to me)$",
            re.IGNORECASE,
        ),
        _AS_SAID,
    ),
    (
        "statement",
        re.compile(
            r"^(?P<value>\w[\w'-]*(?: [\w'-]+){0,2}) (?P<what>(?:really |always |also )?helps me (?!a lot|out|so|through|feel|stay|with (?:it|that))\w[\w' ,-]{8,80})$",
            re.IGNORECASE,
        ),
        _AS_SAID,
    ),
    (
        "health",
        re.compile(r"^(?P<value>\w+ years) sober(?: for me)?$", re.IGNORECASE),
        "{who} has been sober for {value}.",
    ),
)
"""Ways to say something that have no verb of their own, or the wrong way round."""


_NOT_SAID: Final = re.compile(r"\b(?:ones?|you|your)\b", re.IGNORECASE)


def _is_told(value: str, what: str, form: str) -> bool:
    """Whether what is liked is named ("my favourite one is ..." does not say one of what)."""
    if form == _AS_SAID:
        return (
            not points(value)
            and not _NOT_SAID.search(value)
            and specific(f"the {value}") >= 1
            and not leaves_open(what)
        )
    return not _NOT_SAID.search(what)


def _shortcut(said: str, context: Context) -> Told | None:
    said = without_asides(said)
    for category, pattern, form in _SHORTCUTS:
        found = pattern.match(said)
        if not found:
            continue
        groups = found.groupdict()
        value = without_comment(groups["value"])
        if not value or unresolved(f"I like {value}") or not _is_told(value, groups.get("what", ""), form):
            return None
        if not form:
            text = third(f"I {groups['what']} {value[0].lower()}{value[1:]}", context.who)
        else:
            text = about(form.format(who=context.who, value=value, what=groups.get("what", "")), context.who)
        return Told(text, FAMILIES[category], said)
    return None
