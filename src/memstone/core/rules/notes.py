"""Notes: about the user by name, or without any subject."""

from __future__ import annotations

import re
from typing import Final

from memstone.core.rules.definite import specific, unresolved
from memstone.core.rules.families import FAMILIES, Family, family_of, past_start
from memstone.core.rules.lasting import lasts, without_the_one
from memstone.core.rules.rewrite import third
from memstone.core.rules.shape import without_asides, without_comment
from memstone.core.rules.sift import is_impersonal, is_reaction, is_task, leaves_open, not_a_fact, points
from memstone.core.rules.told import Context, Told
from memstone.core.rules.verbs import ADVERBS, SAME_IN_PAST, is_past, is_verb, lemma
from memstone.core.text.lexicon import STOP_WORDS

_NOTE_SUBJECT: Final = re.compile(r"^(?:the )?user(?:'s)?(?= )|^[A-Z][a-z]+ \(the user\)", re.IGNORECASE)
_NAMED: Final = re.compile(
    r"^(?P<name>[A-Z][a-z]+) (?:(?:also|still|now|no longer|just|recently|often|usually|always|never) )*(?P<verb>[a-z]+)\b"
)
_PEOPLE_DO: Final = frozenset(
    """own work live like love hate prefer enjoy dislike start stop decide express attend join use want lead manage
    play speak drive avoid study plan move quit switch choose participate volunteer visit begin try teach adopt
    buy sell collect practice practise handle opt resume pause cancel return organize organise host""".split()
)


def third_person_note(said: str, context: Context) -> Told | None:
    """A note about the user by name or as "User"; it is kept in its own words."""
    is_about_speaker = _NOTE_SUBJECT.match(said) or said.startswith((f"{context.who} ", f"{context.who}'s "))
    if not is_about_speaker and not (context.is_note and _is_note(said)):
        return None
    said = without_asides(said)
    if re.search(r"\b(?:i|you|your|me|my)\b", said, re.IGNORECASE) or len(said.split()) < 3:
        return None
    as_first = re.sub(
        r"^(?:(?:the )?user|[A-Z][a-z]+ \(the user\)|[A-Z][a-z]+)\b(?:'s)?",
        lambda m: "my" if m[0].endswith("'s") else "I",
        said,
        count=1,
        flags=re.IGNORECASE,
    )
    family = family_of(_first_form(as_first), context.own) or FAMILIES["event"]
    text = re.sub(r"^(?:the )?user\b", "User", said, flags=re.IGNORECASE)
    return Told(f"{text}.", family, said)


def _first_form(said: str) -> str:
    """Such as "I likes tea" as "I like tea", so that the families written for the first person serve."""
    words = said.split(" ")
    at = next((at for at in (1, 2) if at < len(words) and words[at].endswith("s") and is_verb(words[at].lower())), 0)
    if words[0] == "I" and at:
        words[at] = _FIRST_FORM.get(words[at], lemma(words[at]))
    return " ".join(words)


_FIRST_FORM: Final = {"is": "am", "was": "was", "has": "have", "does": "do", "goes": "go"}


def _is_note(said: str) -> bool:
    """A sentence about a person by name: not a general truth ("Paris is ..."), and nobody is addressed."""
    found = _NAMED.match(said)
    if not found or lemma(found["verb"]) not in _PEOPLE_DO or len(said.split()) < 4 or points(said):
        return False
    name = found["name"].lower()
    return not (name in ADVERBS or name in STOP_WORDS or name.endswith(("ing", "ly", "tion", "ness")) or is_verb(name))


_ANSWER: Final = re.compile(r"^\w+ing (?:and|or|,) \w+ing\b", re.IGNORECASE)
"""Such as "Reading and hiking with friends": what was asked for, not what is being done."""

_NOT_EVENTS: Final = frozenset(
    "excited tired bored confused interested amazed impressed agreed noted understood confirmed needed said based used mixed".split()
)
_GOING: Final = re.compile(
    r"^(?:(?:no longer|not(?! (?:any ?more|really|yet|sure|at all|quite|much|exactly|now|today|always|so)\b)|never|still|used to|allergic|mostly|mainly|primarily|now|vegan|vegetarian|pescatarian|single|married|divorced|engaged|retired|unemployed|pregnant|sober|prefer|thinking of(?= \w+ing)|opt(?= (?:instead|for|out))|do not (?:like|eat|drink|want|enjoy|smoke|own|have)|can not (?:stand|eat|drink|swim|drive)|love|hate|adore|going with|going to(?! (?:be|get|make|keep|try|do|see|have|need|go|miss|give))|been \w+ing|(?:researching|organi[sz]ing|volunteering|practi[sc]ing|learning|working on|working at|working as|studying|living in|training for|planning|saving|writing|building|renovating|recovering from|looking after)) \w+|vegan$|vegetarian$)",
    re.IGNORECASE,
)
_STATES: Final = frozenset(
    "allergic not now still vegan vegetarian pescatarian single married divorced engaged retired unemployed pregnant sober".split()
)
_PRESENT: Final = re.compile(
    r"^(?:likes|loves|adores|enjoys|prefers|hates|dislikes|works|lives|wants|needs|uses|has|owns|plays|speaks|drives|avoids|studies|plans|starts|stops|attends|decides|chooses"
    r"|goes(?= to\b)|does(?= not\b)|eats|drinks|teaches|collects|commutes|suffers|wears|practi[sc]es|volunteers|manages) \w+",
    re.IGNORECASE,
)


def without_subject(said: str, context: Context) -> Told | None:
    """Such as "Stopped eating meat": a note whose subject is the speaker."""
    if re.match(r"^(?:mostly|mainly|primarily) ", said, re.IGNORECASE):
        return _focus(said, context)
    verb = past_start(said)
    is_note_start = (is_past(verb) and verb not in _NOT_EVENTS) or _GOING.match(said) or _PRESENT.match(said)
    if not is_note_start and not (context.is_note and verb == "used" and said.lower().startswith("used ")):
        return None
    if (
        points(said)
        or (context.is_talk and _ANSWER.match(said))
        or is_reaction(said)
        or (is_task(said) and not is_past(verb))
        or is_impersonal(said, is_note=context.is_note)
    ):
        return None
    as_first = _with_subject(without_asides(said) if context.is_note and not context.is_talk else without_comment(said))
    if context.is_talk:
        as_first = without_the_one(as_first)
    family = family_of(as_first, context.own)
    if _is_poor_note(as_first, family, context):
        return None
    if context.is_talk and not lasts(as_first, family.category if family else "event"):
        return None
    return Told(third(as_first, context.who, past=verb in SAME_IN_PAST), family or FAMILIES["event"], said)


def _is_poor_note(as_first: str, family: Family | None, context: Context) -> bool:
    if context.is_note and not context.is_talk and len(as_first.split()) >= 8 and is_past(as_first.split()[1]):
        return not_a_fact(as_first) in ("second person", "hypothetical", "quote", "question")
    if not_a_fact(as_first):
        return not (
            context.is_note
            and not context.is_talk
            and len(as_first.split()) >= 8
            and not_a_fact(as_first) in ("hedge", "vague", "talk about talk", "small talk")
        )
    if _has_subject_after_all(as_first) or specific(as_first) < (
        1 if context.is_note or (family and context.is_short) else 2
    ):
        return True
    return unresolved(as_first) or leaves_open(as_first, is_short=True) or (family is None and not context.is_short)


_LATE_VERB: Final = re.compile(
    r"^I (?:am \w+ing\b(?:(?!\b(?:that|which|who|because|when)\b).)*?|\w+(?: [\w'-]+){1,4}?) (?:is|are|was|were|has|have been|can|does|makes?|made|gave|helped|brought|taught|showed|takes|took|helps|\w+s (?:me|us))\b"
)


def _has_subject_after_all(as_first: str) -> bool:
    """Such as "Baking bread has been fun": what looked like a verb was the subject."""
    return bool(_LATE_VERB.match(as_first))


def _with_subject(said: str) -> str:
    first, _, rest = said.partition(" ")
    first = first.lower()
    if first == "been" or (first == "never" and re.match(r"(?:been|had|done|seen|tried|gone|finished)\b", rest)):
        return f"I have {first} {rest}"
    being = first.endswith("ing") or first in _STATES
    if _PRESENT.match(said):
        first = _FIRST_FORM.get(first) or lemma(first)
    return f"I {'am ' if being else ''}{first} {rest}".rstrip()


def _focus(said: str, context: Context) -> Told | None:
    """Such as "Mostly NLP" after talk about work says what the work is about."""
    if context.topic not in ("work", "project", "skill"):
        return None
    first, _, rest = said.partition(" ")
    return Told(f"{context.who} works {first.lower()} on {rest}.", Family("work", salience=0.6), said)
