"""From a message to candidate facts, by rules alone.

A candidate is a third-person sentence with its kind, category, stance and the place in the message that it comes from.
What is not clearly a fact about the speaker, or about somebody they name as theirs, is left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Final

from memstone.core.changes.statement import may_change, polarity_of, subject_of
from memstone.core.entities.lists import FIRST_NAMES
from memstone.core.rules.clause import read
from memstone.core.rules.families import FAMILIES, Family
from memstone.core.rules.general import as_a_whole, is_among_people, is_sentence, may_tell, told_anyway
from memstone.core.rules.introduced import behind_name, denied_of_other
from memstone.core.rules.marks import PUTS_RIGHT
from memstone.core.rules.material import Span, handed_over, is_english, own_prose, own_sentences
from memstone.core.rules.own import OwnFact, own_facts
from memstone.core.rules.plain import calm, is_question, plain, sentences
from memstone.core.rules.pretence import LAUGHTER, SARCASM, in_earnest
from memstone.core.rules.profile import is_form, profile
from memstone.core.rules.requests import Request, request_of
from memstone.core.rules.shape import clauses, without_asides
from memstone.core.rules.sift import is_about_other, is_of_the_task, is_small_talk, is_unreal, without_fillers
from memstone.core.rules.signals import signals_of, tells_change
from memstone.core.rules.theirs import somebody
from memstone.core.rules.told import Context, Told
from memstone.model.memory import Kind
from memstone.model.own import OwnPattern

MAX_CHARS: Final = 500
MIN_CHARS: Final = 3
INPUT_CHARS: Final = 65_536
MAX_FACTS: Final = 24
_MAX_WORDS: Final = 45

MASK: Final = "[redacted:"
"""What was masked is nothing to know."""

EFFECT: Final = "effect"
"""The category of a sentence that states no fact by itself but may end or change one that is known."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One fact a message may hold. ``start`` and ``end`` say where its evidence stands in the message."""

    text: str
    kind: str
    category: str
    polarity: int
    modality: str
    key: str
    start: int
    end: int
    salience: float = 0.5
    subject: str = "self"
    forget: bool = False
    whole: bool = False
    """A message as a whole, which counts only where none of its parts has changed anything."""
    bare: bool = False
    """Too little to be kept by itself, such as a reaction or half a sentence; it may still change what is known."""
    asked: str = ""
    """The statement a short answer makes of the question before it; '' where the words of the message say it all."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What a configuration adds to the built-in rules."""

    families: tuple[Family, ...] = ()
    patterns: tuple[OwnPattern, ...] = ()


@dataclass(slots=True)
class _Reading:
    """How far a message has been read."""

    context: Context
    text: str = ""
    person_at: int = 0
    noun: str = ""
    """What the clause before was about: "my car is ..."."""
    found: list[Candidate] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Curated:
    """The facts a message states; ``is_cut`` says that there was more in it than is read, or more facts than are kept."""

    facts: list[Candidate]
    is_cut: bool = False


def candidates(message: str, *, speaker: str = "", rules: Rules | None = None, topic: str = "") -> list[Candidate]:
    """The facts a user's message states; of a very long one, its end. ``topic`` is what the talk was about before."""
    return curate(message, speaker=speaker, rules=rules, topic=topic).facts


def curate(message: str, *, speaker: str = "", rules: Rules | None = None, topic: str = "") -> Curated:
    """Return the facts a user's message states, and whether it was read to its end."""
    text = calm(message[-INPUT_CHARS:])
    rules = rules or Rules()
    english = is_english(text)
    if not english and not rules.patterns:
        return Curated([])
    prose = own_prose(text)
    found = _found(text, prose.sentences, speaker, rules, topic if english else None)
    facts = _distinct(found, len(message) - len(text))
    return Curated(facts[:MAX_FACTS], prose.is_cut or len(message) > len(text) or len(facts) > MAX_FACTS)


def _found(text: str, spans: list[Span], speaker: str, rules: Rules, topic: str | None) -> list[Candidate]:
    """Return what rules find in the sentences of a text; without a topic it is not English, and own rules are all."""
    who = speaker if speaker and speaker.lower() not in ("user", "assistant") else "User"
    own = [_own(fact) for fact in own_facts(spans, rules.patterns, who)] if rules.patterns else []
    if topic is None:
        return own
    told = _with_topics(text, in_earnest(spans))
    reading = _Reading(Context(who, rules.families, topic), text, found=own.copy())
    reading.context.is_note, reading.context.is_short = _is_note(told), len(told) <= 2
    reading.context.is_talk = not reading.context.is_short or (who != "User" and _is_chatty(told))
    lines = profile(text)
    for span, line in lines:
        _keep(reading, _candidate(reading, span, line))
    for sentence in [] if SARCASM.search(text) else told:
        if any(span.start < sentence.end and sentence.start < span.end for span, _ in lines):
            continue
        if _FICTION.search(sentence.text):
            return []
        for clause in clauses(sentence):
            if not any(one.start < clause.end and clause.start < one.end for one in own):
                _read(reading, clause)
    if not SARCASM.search(text):
        _anyway(reading, text, told)
        _whole(reading, text, told)
    found = sorted(reading.found, key=lambda one: one.start) if own else reading.found
    # What only tells that something changed comes after the facts that tell into what.
    return sorted(found, key=lambda one: (one.whole, one.category == EFFECT))


def answer(question: str, message: str, *, speaker: str = "", rules: Rules | None = None) -> list[Candidate]:
    """The facts a short message states as an answer to the question that the assistant's words before it end with."""
    from memstone.core.rules.answers import answered  # its patterns are only needed where something was asked

    statement = answered(question, message)
    found = candidates(statement, speaker=speaker, rules=rules) if statement else []
    start = len(message) - len(message.lstrip())
    return [replace(one, start=start, end=start + len(message.strip()), asked=statement) for one in found]


def whole_message(message: str, *, speaker: str = "", skipped: int = 0) -> Candidate | None:
    """A short message as one statement, where it is told as something real and nothing is asked; else None.

    Whoever uses it has to know that it counts: no rule sees a fact in it. It begins ``skipped`` signs into the turn.
    """
    told = own_sentences(message) if len(message) <= MAX_CHARS and is_english(message) else []
    who = speaker if speaker and speaker.lower() not in ("user", "assistant") else "User"
    text = as_a_whole(message, [_SPACES.sub(" ", plain(one.text)) for one in told], who) if told else ""
    if not MIN_CHARS <= len(text) <= MAX_CHARS:
        return None
    span = Span(message[told[0].start : told[-1].end], told[0].start, told[-1].end)
    found = _fact(Told(text, FAMILIES["statement"], plain(span.text)), span)
    bare = bool(SARCASM.search(message) or LAUGHTER.search(message)) or not any(
        is_sentence(_SPACES.sub(" ", plain(one.text))) for one in told
    )
    return replace(found, start=found.start + skipped, end=found.end + skipped, whole=True, bare=bare)


def _own(fact: OwnFact) -> Candidate:
    """What a pattern of the configuration found; its words are not read once more."""
    return _fact(Told(fact.text, FAMILIES[fact.category], fact.said.text), fact.said)


_FICTION: Final = re.compile(r"^(?:[Mm]y name is|I am|I'm) [A-Z][a-z]+ the [A-Z][a-z]+")
"""Nobody but a character in a game has such a name."""


def _is_note(told: list[Span]) -> bool:
    return len(told) == 1 or (len(told) == 2 and not any(is_question(one.text) for one in told))


def _is_chatty(told: list[Span]) -> bool:
    """Whether somebody with a name talks to others; one plain line may as well be told to an assistant."""
    return len(told) > 1 or any(one.text.endswith("!") for one in told)


_TOPIC: Final = re.compile(r"^(?:my |new |current |all-time )*favou?rite [\w' -]{2,30}\?$", re.IGNORECASE)


def _with_topics(text: str, told: list[Span]) -> list[Span]:
    """A question that only names what the next sentence is about ("Favourite dessert? Tiramisu") belongs to it."""
    joined: list[Span] = []
    for one in told:
        if joined and _TOPIC.match(joined[-1].text):
            start = joined.pop().start
            joined.append(Span(text[start : one.end], start, one.end))
        else:
            joined.append(one)
    return joined


def _anyway(reading: _Reading, text: str, told: list[Span]) -> None:
    """A short message in which no family knows a fact may still state one, whatever its verb."""
    known = [one for one in reading.found if one.category != EFFECT]
    unread = [span for span in told if not known or _is_beside(span, known)]
    said = [_SPACES.sub(" ", plain(one.text)) for one in told] if unread else []
    if not may_tell(text, said, reading.context):
        return
    pairs = [(span, told_anyway(one, reading.context)) for span, one in zip(told, said, strict=True) if span in unread]
    facts = [_fact(one, span) for span, one in pairs if one is not None]
    kept = [one for one in facts if MIN_CHARS <= len(one.text) <= MAX_CHARS and not _is_in_fun(reading, one)]
    reading.found = [*reading.found, *kept] if known else kept or reading.found


def _is_beside(span: Span, known: list[Candidate]) -> bool:
    """Whether a sentence tells of somebody by name, and nothing else of it is known: "I have a son. Liam turned 8"."""
    first = span.text.partition(" ")[0].lower().removesuffix("'s")
    return first in FIRST_NAMES and not any(span.start < one.end and one.start < span.end for one in known)


def _whole(reading: _Reading, text: str, told: list[Span]) -> None:
    """A short message is looked at once as a whole: instead of its parts where none is a fact, else after them."""
    if not 0 < len(told) <= 3 or is_form(text) or handed_over(text):  # what others say stands between the parts
        return
    span = Span(text[told[0].start : told[-1].end], told[0].start, told[-1].end)
    said = _SPACES.sub(" ", plain(span.text))
    has_facts = any(one.category != EFFECT for one in reading.found)
    if not has_facts:
        effect = _effect(span, said)
        reading.found = [effect] if effect is not None else reading.found
    elif has_facts and not is_among_people(reading.context) and not any(one.forget for one in reading.found):
        _after_parts(reading, span, " ".join(one for one in sentences(said) if not is_question(one)))


def _after_parts(reading: _Reading, span: Span, said: str) -> None:
    signals = signals_of(said.lower())
    is_all = len(reading.found) == 1 and signals == signals_of(reading.found[0].text.lower())
    if not is_all and tells_change(said.lower()) and not is_unreal(said):
        told = Told(said, Family(EFFECT, kind=Kind.EPISODIC), said)
        reading.found.append(replace(_fact(told, span), whole=True))


def _effect(clause: Span, said: str) -> Candidate | None:
    """Such as "So much for Iceland, we scrapped it" says nothing to keep, and still ends a plan that is known."""
    if is_question(said) or len(said.split()) > _MAX_WORDS or is_about_other(said) or is_small_talk(said):
        return None
    if is_unreal(said) or not (may_change(said.lower()) or PUTS_RIGHT.match(said.lower())):
        return None
    if is_of_the_task(without_fillers(said)):
        return None
    return _fact(Told(said, Family(EFFECT, kind=Kind.EPISODIC), said), clause)


def _read(reading: _Reading, clause: Span) -> None:
    if not any(letter.isalpha() for letter in clause.text):
        return
    said = _with_noun(reading, _SPACES.sub(" ", plain(clause.text)))
    _keep(reading, _candidate(reading, clause, said) or _effect(clause, said))
    if _SAYS_WHO.search(said):
        bare = without_fillers(said).rstrip(" .!…,;:")
        more = behind_name(bare, reading.context)
        _keep(reading, _fact(more, clause) if more else None)
        if other := denied_of_other(bare):
            _keep(reading, _candidate(reading, clause, other))


def _with_noun(reading: _Reading, said: str) -> str:
    """Such as "my dad's is in May" after "my mom's birthday is in March": what it is was said before."""
    short = _WHOSE.match(said)
    if short and reading.noun:
        return f"{short[0]} {reading.noun}{said[short.end() :]}"
    named = _WHAT.match(said)
    reading.noun = named["noun"] if named else ""
    return said


_WHOSE: Final = re.compile(r"(?:and |but )?(?:my|our) [\w-]+'s(?= (?:is|are|was)\b)", re.IGNORECASE)
_WHAT: Final = re.compile(r"(?:my|our)(?: [\w-]+'s)? (?P<noun>[a-z]+(?: [a-z]+)?) (?:is|are|was)\b", re.IGNORECASE)
_SAYS_WHO: Final = re.compile(r"\b(?:i am|name is) [^,]{1,100},|\b(?:it|that) (?:is|was) (?:my|our|i)\b", re.IGNORECASE)
"""What may stand behind a name, or say of whom something is true and of whom not."""


def _is_in_fun(reading: _Reading, candidate: Candidate) -> bool:
    """Whether somebody laughs at what they say of their health: nobody is allergic to mornings."""
    said = reading.text[candidate.start : candidate.end + _BEHIND]
    return candidate.category == "health" and bool(LAUGHTER.search(said))


_BEHIND: Final = 6
"""So far behind its end somebody laughs at a sentence."""


def _keep(reading: _Reading, candidate: Candidate | None) -> None:
    if candidate is not None and (MASK in candidate.text or _is_in_fun(reading, candidate)):
        return
    if candidate is not None and MIN_CHARS <= len(candidate.text) <= MAX_CHARS:
        reading.found.append(candidate)
        if candidate.category != EFFECT:
            reading.context.topic = candidate.category


_SPACES: Final = re.compile(r"\s+")


def _candidate(reading: _Reading, clause: Span, spelled: str) -> Candidate | None:
    context = reading.context
    said = without_fillers(spelled).rstrip(" .!…,;:")
    request = request_of(without_asides(said), context.who)
    if request is not None:
        return _requested(request, clause)
    if not said or len(said.split()) > _MAX_WORDS or is_question(clause.text):
        return None
    before = context.person
    told = read(said, context)
    context.person = told.person if told else somebody(said, context)
    if told is None:
        reading.person_at = clause.start
        return None
    if before and _HE_OR_SHE.match(said):
        return _fact(told, replace(clause, start=reading.person_at))
    reading.person_at = clause.start
    return _fact(told, clause)


_HE_OR_SHE: Final = re.compile(r"(?:he|she|his|her)\b", re.IGNORECASE)
"""Who that is stands in the clause before, which is then part of the evidence."""


def _requested(request: Request, clause: Span) -> Candidate:
    family = Family(request.category, kind=request.kind, modality="requested", salience=0.8)
    return replace(_fact(Told(request.text, family, ""), clause), forget=request.forget)


def _fact(told: Told, clause: Span) -> Candidate:
    family = told.family
    text = _SPACES.sub(" ", told.text)
    polarity = stance(told.said or text, family.category)
    return Candidate(
        text=text,
        kind=family.kind,
        category=family.category,
        polarity=polarity,
        modality=family.modality,
        key=fact_key(family.category, text, polarity),
        start=clause.start,
        end=clause.end,
        salience=family.salience,
        subject=subject_of(plain(told.said or text).lower()),
    )


_NEUTRAL: Final = re.compile(
    r"\b(?:allerg\w+|intoleran\w+|left[- ]handed|blood pressure|runs? out|closed on|laid[- ]back|retired (?=\w)(?!from|last|in|at)|rate limits?"
    r"|(?:flight|train|bus|ferry|plane|boat)\b[^,]{0,100}\bleaves?)\b"
)
"""Words of not liking or of ending that say nothing of the kind here: an allergy is something one has."""

_NOT_ANY_MORE: Final = re.compile(r"\b(not \w.{0,200}?) any ?(?:more|longer)\b")
_AHEAD: Final = re.compile(r"\b(?:sell\w*|retir\w*|leav\w*|clos\w*|end\w*|expir\w*|mov\w+|graduat\w*|remov\w*)\b")
_CONTRAST: Final = re.compile(
    r"(?:,| and| but)? not (?:on )?[\w .]+$|, (?:nobody|\w+days? (?:is|are) off|no longer).*$"
)


def stance(said: str, category: str) -> int:
    """-1 for what is denied, ended or not liked; what stands behind a comma as a contrast does not count."""
    if category == "procedural":
        return 1
    lowered = _NEUTRAL.sub(" ", _NOT_ANY_MORE.sub(r"\1 ", said.lower()))
    if category in ("plan", "date"):
        lowered = _AHEAD.sub(" ", lowered)
    contrast = _CONTRAST.search(lowered)
    if contrast and lowered[contrast.start()] == "," and category != EFFECT:
        lowered = lowered[: contrast.start()]
    return polarity_of(lowered)


def fact_key(category: str, text: str, polarity: int) -> str:
    """A stable name: category, ``not`` for a negative stance, and a slug of the words that carry it."""
    body = re.sub(r"^\S+?(?:'s)? ", "", text)
    slug = re.sub(r"[^a-z0-9]+", "_", body.lower()).strip("_")[:40].rstrip("_")
    return f"{category}:{'not:' if polarity < 0 else ''}{slug}"


def _distinct(found: list[Candidate], skipped: int) -> list[Candidate]:
    """Each key once, the first time it is said; places are counted from the start of the whole message."""
    seen: dict[str, Candidate] = {}
    for candidate in found:
        seen.setdefault(candidate.key, candidate)
    kept = list(seen.values())
    return [replace(one, start=one.start + skipped, end=one.end + skipped) for one in kept] if skipped else kept
