"""A plain statement in a short message, whatever its verb: told by the shape of the clause and not by a list of verbs.

The families know what sort of fact a verb tells. What somebody says in a line or two is worth keeping when none of them
knows the verb, as long as it is told as a fact: about the speaker or what is theirs, definite, and not only of this moment.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from memstone.core.rules import nouns
from memstone.core.rules.definite import specific
from memstone.core.rules.families import FAMILIES, family_of
from memstone.core.rules.plain import is_question
from memstone.core.rules.rewrite import about, third
from memstone.core.rules.shape import without_asides
from memstone.core.rules.sift import (
    is_reaction,
    is_task,
    is_unreal,
    leaves_open,
    not_a_fact,
    points,
    without_fillers,
)
from memstone.core.rules.told import Context, Told
from memstone.core.rules.verbs import ADVERBS, FINITE, finite_at, is_past, is_verb
from memstone.core.text.lexicon import STOP_WORDS

MOST_SENTENCES: Final = 3
MOST_WORDS: Final = 45
_FEWEST: Final = 3
_OWN_SHARE: Final = 0.85
"""So much of a message has to be the speaker's own words, and neither quoted nor pasted."""

_LIGHTLY_SAID: Final = frozenset({"vague", "general truth", "small talk", "points at something"})
"""What speaks against a clause out of a talk, and not against a line that is told by itself."""

_MACHINE: Final = re.compile(r"[<>{}\[\]|\\]|\w=|://|\d\.\d++\.\d|\w\.\w++:")
"""What stands in logs and code."""

_ASKS: Final = re.compile(
    r"^(?:is|are|was|were|do|does|did|can|could|should|would|will|has|what|why|how|who|where|which|when|whose)\b(?! not\b)"
    r"|\bwhy\b|, (?:where|what|how|who|when) (?:do|does|did|is|are|can|should|could|would)\b|\b(?:remind me|let me know|tell me|any (?:ideas?|tips?|suggestions?)|what should i|how do i|where can i)\b",
    re.IGNORECASE,
)
_MOMENT: Final = re.compile(
    r"\b(?:right now|rn|this (?:morning|afternoon|evening|minute|second)|at the moment|tonight|hang on|brb|one sec|as (?:usual|always|ever)"
    r"|like (?:always|every|usual)|counting down|up the wall|on my (?:case|way|nerves)|so tired|what a (?:day|week)|another day)\b",
    re.IGNORECASE,
)
_ONLY_ENDS: Final = re.compile(r"^(?:(?:so )?much for|bye|goodbye|farewell|adios|rip|so long)\b", re.IGNORECASE)
_TODAY: Final = re.compile(
    r"\b(?:am|is|are|'s|feel\w*|looks?|smells?|tastes?)\b(?!.{0,200}\bas of\b).{0,200}\btoday\b", re.IGNORECASE
)
_MOOD: Final = re.compile(
    r"^(?:i|we)(?: am| are| was| were| feel| felt)(?: (?:just|so|really|very|super|pretty|quite|still|all|a bit|a little|not|too))*"
    r" (?:good|great|fine|ok|okay|alright|well|sorry|glad|happy|excited|tired|sleepy|hungry|thirsty|bored|busy|sad|upset|proud|grateful"
    r"|confused|lost|stuck|ready|sure|curious|worried|scared|nervous|stoked|pumped|late|right|wrong|kidding|joking|dying|numb|speechless"
    r"|relieved|overwhelmed|exhausted|stressed|pleased|delighted|starving|freezing|shocked|surprised|here|back|home|out)\b",
    re.IGNORECASE,
)
_ANSWERS: Final = re.compile(
    r"^(?:i|we)(?: \w+)? (?:think|thought|guess|mean|see|hear|heard|agree|understand|appreciate|hope|wonder|believe|bet|suppose|know|forgot|remember"
    r"|wish|could|would(?! (?:love|like)\b)|should|asked|tried (?:that|this|it)|got (?:it|this|that)|did (?:it|this|that)|want(?:ed)? to (?:ask|know|say|tell))\b",
    re.IGNORECASE,
)
_TEXT_WORK: Final = re.compile(
    r"^(?:the|this|that|your|my|first|second|third|last) (?:\w+ )?(?:rest|sentence|paragraph|version|draft|line|title|option|answer|reply|response"
    r"|wording|tone|ending|output|code|error|function|test|tests|build|script|query|file|page|link|image|prompt|text|essay|letter|weather|point|thing|problem|result)s?\b",
    re.IGNORECASE,
)
_HANGS: Final = re.compile(
    r"^(?:i|we)(?: \w+){1,4} (?:it|them|that|this|those|these|him|her|one)(?:$|,)", re.IGNORECASE
)
_SELF: Final = re.compile(r"\b(?:i|me|my|mine|we|us|our|ours|myself)\b", re.IGNORECASE)
_POINTS: Final = re.compile(
    r"^(?:it|that|this|those|these|its|what|which|here|such|everything|nothing|everyone|nobody)\b", re.IGNORECASE
)
_IS_MINE: Final = re.compile(r"^(?:it|this|that) is (?:my|our)\b", re.IGNORECASE)
_IS: Final = re.compile(r"^((?:[\w-]+ ){0,3}[\w-]+)'s (?=(?P<next>[\w']+))", re.IGNORECASE)
_AFTER_IS: Final = frozenset(
    """a an the at on in off out over not now just been got called named having being due sorted done gone back here still
    already so really very too mad my our going coming moving getting finally officially also no all""".split()
)
_SOMEBODYS: Final = re.compile(
    r"^[A-Z][a-z]+'s [a-z]+|^[A-Z][a-z]+ (?:(?:is|has) (?:just|now|finally|been|got|\w+ing|\w+ed|mad|back|off|due)|got|just|started|starts|goes|went|works|moved|turned)\b"
)
_NAMED_ONE: Final = re.compile(r"^[A-Z][a-z]+(?: \([\w ]+\))? [a-z]+s?\b.*\b(?:he|she|his|her|him)\b")
_ENOUGH: Final = 5
_SECOND_POINTS: Final = re.compile(r"^\w+ (?:that|this|those|these)\b", re.IGNORECASE)
_PERSONAL: Final = frozenset("health family work home skill plan".split())
_THERE_IS: Final = re.compile(
    r"^there (?:is|are) (?:now )?(?!no\b|nothing|something)\w+ .*\b(?:house|home|flat|apartment|family|garden|office|team|hallway|kitchen|driveway|garage)\b",
    re.IGNORECASE,
)
_TELEGRAM: Final = re.compile(
    r"^(?:[Tt]he )?[A-Za-z][\w-]*(?: [a-z][\w-]*){0,3},?(?: [A-Z][a-z]+,)? (?:just |finally |now )?(?:is|are|has|have|got|starts?|moved|came|went)\b",
)
_JUDGED: Final = re.compile(
    r"\b(?:is|are|was|were|looks?|sounds?|feels?)(?: \w+)? (?:crazy|great|amazing|awesome|good|bad|fun|nice|lovely|wild|tough|hard|insane|mid|fine|perfect|cool|stiff|boring|annoying|terrible|awful|beautiful|weird|funny)$",
    re.IGNORECASE,
)
_GENERAL: Final = re.compile(
    r"^(?:most|all|many|every|some|people|everyone|everybody|nobody|in general)\b|^(?:[a-z-]+ )?[a-z-]+s (?:are (?!for\b)|can|do|have|often|usually|sleep|like|love|hate)\b"
    r"|^(?-i:[A-Z])[\w-]*(?: (?-i:[A-Z])[\w-]*)* (?:is|are|was|were) (?:the|an?|in|on)\b|^the (?-i:[A-Z])",
    re.IGNORECASE,
)


def may_tell(message: str, sentences: Sequence[str], context: Context) -> bool:
    """Whether a message is one in which any plain statement counts: a line or two of one's own, and nothing is asked for."""
    if "\n" in message.strip() or _MACHINE.search(message) or sum(map(len, sentences)) < _OWN_SHARE * len(message):
        return False
    if not 0 < len(sentences) <= MOST_SENTENCES or is_among_people(context):
        return False
    if sum(len(one.split()) for one in sentences) > MOST_WORDS:
        return False
    return not any(is_question(one) or _ASKS.search(one) or is_task(without_fillers(one)) for one in sentences)


def is_among_people(context: Context) -> bool:
    """Whether somebody with a name talks to others, and not in a plain line to an assistant."""
    return context.who != "User" and context.is_talk


def told_anyway(said: str, context: Context) -> Told | None:
    """The statement a plain sentence makes about the speaker or what is theirs, or None."""
    if _MOMENT.search(said):
        return None
    said = _is_written_out(without_asides(_before_you(without_fillers(said).rstrip(" .!…,;:"))))
    if not _FEWEST <= len(said.split()) <= MOST_WORDS or _says_nothing(said) or _is_too_light(said, context):
        return None
    as_first = _in_first_person(said)
    if as_first:
        if _MOOD.match(as_first) or _ANSWERS.match(as_first) or _HANGS.match(as_first) or specific(as_first) < 1:
            return None
        return Told(third(as_first, context.who), family_of(as_first, context.own) or FAMILIES["statement"], said)
    needed = 1 if _THERE_IS.match(said) else 2
    if specific(f"the {said}") < needed or not _concerns_speaker(said):
        return None
    return Told(about(said, context.who), FAMILIES["statement"], said)


def as_a_whole(message: str, sentences: Sequence[str], who: str) -> str:
    """A short message as one sentence about its speaker, even where nothing in it is told as a fact; '' for others.

    By itself that is nothing to keep. It becomes the text of a memory that the message takes the place of.
    """
    if not may_tell(message, sentences, Context(who)):
        return ""
    told = [without_asides(without_fillers(one).rstrip(" .!…,;:")) for one in sentences]
    if any(is_unreal(one) for one in told) or sum(len(one.split()) for one in told) < _FEWEST:
        return ""
    return " ".join(_about_speaker(one, who) for one in told if one)


def is_sentence(said: str) -> bool:
    """Whether a plain sentence says something by itself: it has a verb, and is more than a reaction or talk about talk."""
    said = without_fillers(said).rstrip(" .!…,;:")
    if _SOMEBODY_SAYS.match(said):
        return False
    why = not_a_fact(_in_first_person(said) or said) if said else "nothing"
    if why and why not in _LIGHTLY_SAID - {"small talk"}:
        return False
    words = [word.lower().strip(".,!?;:") for word in said.split()]
    return finite_at(words) >= 0 or any(is_past(word) or is_verb(word) for word in words)


def _about_speaker(said: str, who: str) -> str:
    as_first = _in_first_person(said)
    return third(as_first, who) if as_first else about(said, who)


def _is_too_light(said: str, context: Context) -> bool:
    """Whether a line says too little of somebody with a name, who may talk to others."""
    if context.who == "User":
        return False
    return bool(not_a_fact(said) or _SOME_ONE.search(said)) or points(said) or leaves_open(said) or specific(said) < 2


_SOME_ONE: Final = re.compile(r"\b(?:ones?|kids?)\b", re.IGNORECASE)


def _before_you(said: str) -> str:
    """Such as "Jonas is coeliac, so plan your dinner for it" as far as it does not speak to somebody."""
    found = _TO_YOU.search(said)
    return said[: found.start()] if found and len(said[: found.start()].split()) >= _FEWEST else said


_TO_YOU: Final = re.compile(
    r"(?:,| -)? (?:so|but|and|because|before|in case|if)\b(?:(?! so | but ).)*\b(?:you|your)\b.*$|, so (?:just|only|please)\b.*$",
    re.IGNORECASE,
)


def _is_written_out(said: str) -> str:
    """Such as "Honeymoon's sorted" with its verb."""
    found = _IS.match(said)
    if not found:
        return said
    following = found["next"].lower()
    if following in ("been", "got", "gone", "had"):
        return f"{found[1]} has {said[found.end() :]}"
    is_verb_next = following in _AFTER_IS or following.endswith("ing") or is_past(following) or following[0].isdigit()
    is_date = bool(
        re.match(
            r"(?:january|february|march|april|may|june|july|august|september|october|november|december)\b", following
        )
    )
    return f"{found[1]} is {said[found.end() :]}" if is_verb_next or is_date else said


def _says_nothing(said: str) -> bool:
    if _SOMEBODY_ELSE.match(said):
        return True
    if is_unreal(said) or is_reaction(said) or is_task(said) or (_POINTS.match(said) and not _IS_MINE.match(said)):
        return True
    if _ONLY_ENDS.match(said) or _TODAY.search(said) or _TEXT_WORK.match(said):
        return True
    why = not_a_fact(said)
    return bool(why) and why not in _LIGHTLY_SAID


_SOMEBODY_ELSE: Final = re.compile(r"(?:he|she) ", re.IGNORECASE)
"""Who that is was said elsewhere, if at all."""


_SOMEBODY_SAYS: Final = re.compile(
    r"(?:he|she|they) (?:just |also |always )?(?:said|says|told|tells|asked|asks|thinks|thought|wrote|texted|claims|promised)\b",
    re.IGNORECASE,
)


def _in_first_person(said: str) -> str:
    """The clause with "I" or "my" in front, where its subject is the speaker; '' for any other subject."""
    words = said.split()
    first = words[0].lower()
    if first in ("i", "we", "my", "our"):
        return _EACH_OF_US.sub(r"\1 ", said) if first in ("i", "we") or finite_at(words) > 0 else ""
    if _OWN_PEOPLE.match(said):
        return f"my {re.sub(r'^the ', '', said[0].lower() + said[1:])}"
    opening = "I was" if first == "born" else "I am" if _STATE.match(said) else _without_subject(words)
    return f"{opening} {said[0].lower()}{said[1:]}" if opening else ""


_EACH_OF_US: Final = re.compile(r"^(we(?: are| were| have)?) (?:both|all) ", re.IGNORECASE)


def _without_subject(words: list[str]) -> str:
    """What has to stand before a clause that begins with its verb; '' when it does not."""
    at = 0
    while at < len(words) - 1 and words[at].lower() in ADVERBS:
        at += 1
    verb, following = words[at].lower(), words[at + 1].lower() if at + 1 < len(words) else ""
    if verb in ("been", "gone") or (verb == "never" and is_past(following)):
        return "I have"
    is_denied = verb in ("can", "do", "could") and following == "not"
    if is_denied or (is_past(verb) and (is_verb(verb) or verb.endswith("ed"))):
        return "I"
    return "I am" if verb.endswith("ing") and is_verb(verb) and not _later_verb(words[at + 1 :]) else ""


_OWN_PEOPLE: Final = re.compile(
    rf"(?:{nouns.BARE_RELATIVES}|kids|hubby|the (?:twins|kids|wife|husband|boys|girls|in-laws|little one|missus|baby|dog|cat|puppy))\b(?!')",
    re.IGNORECASE,
)
_STATE: Final = re.compile(rf"(?:{nouns.STATES_OF_HEALTH}|{nouns.TIES}|{nouns.ABILITIES}|born)\b", re.IGNORECASE)
_ROUTINE: Final = re.compile(
    r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day(?:s| (?:mornings|evenings|nights|afternoons))|weekends|every (?:other )?(?:day|night|morning|evening|week|weekend|month|\w+day)|(?:once|twice) a (?:day|week|month))\b",
    re.IGNORECASE,
)


def _later_verb(words: list[str]) -> bool:
    return any(word.lower() in FINITE for word in words[:4])


def _concerns_speaker(said: str) -> bool:
    """Whether a clause about something else is still news of the speaker's life."""
    words = said.split()
    if _SECOND_POINTS.match(said):
        return False
    if _THERE_IS.match(said) or _NAMED_ONE.match(said) or (_SELF.search(said) and len(words) >= _ENOUGH):
        return True
    if not _GENERAL.match(said) and _ROUTINE.search(said):
        return True
    has_verb = finite_at(words) >= 1 or any(is_past(word.lower()) for word in words[1:6])
    return has_verb and _is_news(said, words)


def _is_news(said: str, words: list[str]) -> bool:
    if _GENERAL.match(said):
        return False
    if _SELF.search(said) or _SOMEBODYS.match(said) or _is_somebody(words):
        return True
    return len(words) >= _ENOUGH and bool(_TELEGRAM.match(said)) and not _JUDGED.search(said)


def _is_somebody(words: list[str]) -> bool:
    """Whether a clause is about somebody by name: what they did, or what only a person can be."""
    name, verb = words[0], words[1].lower()
    if not (name[:1].isupper() and name[1:].islower()) or name.lower() in ADVERBS | STOP_WORDS or is_verb(name.lower()):
        return False
    if verb in ("is", "has"):
        family = family_of(f"I {'am' if verb == 'is' else 'have'} {' '.join(words[2:])}")
        return family is not None and family.category in _PERSONAL
    return is_past(verb)
