"""From a message to candidate facts, by rules alone.

A candidate is a third-person sentence with its kind, category, stance and the place in the message that it comes from.
What is not clearly a fact about the speaker, or about somebody they name as theirs, is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from retain.core.rules.families import Family, family_of, past_start
from retain.core.rules.lexicon import LIGHT, STOP_WORDS
from retain.core.rules.material import Span, is_english, own_sentences
from retain.core.rules.plain import is_question, plain
from retain.core.rules.requests import Request, request_of
from retain.core.rules.rewrite import third
from retain.core.rules.sift import is_task, is_unreal, not_a_fact, points, without_fillers
from retain.core.rules.verbs import is_past
from retain.core.statement import content_tokens, may_change, names_of, polarity_of, subject_of
from retain.model.memory import Kind

MAX_CHARS: Final = 500
MIN_CHARS: Final = 3
INPUT_CHARS: Final = 65_536
MAX_FACTS: Final = 24
_MAX_WORDS: Final = 45


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


@dataclass(frozen=True, slots=True)
class Rules:
    """What a configuration adds to the built-in rules."""

    families: tuple[Family, ...] = ()


@dataclass(slots=True)
class _Reading:
    """How far a message has been read: who speaks and what the last sentence was about."""

    who: str
    rules: Rules
    topic: str = ""
    is_note: bool = False
    is_short: bool = False
    found: list[Candidate] = field(default_factory=list)


def candidates(message: str, *, speaker: str = "", rules: Rules | None = None, topic: str = "") -> list[Candidate]:
    """The facts a user's message states; of a very long one, its end. ``topic`` is what the talk was about before."""
    text = message[-INPUT_CHARS:]
    skipped = len(message) - len(text)
    if not is_english(text):
        return []
    reading = _Reading(
        speaker if speaker and speaker.lower() not in ("user", "assistant") else "User", rules or Rules(), topic
    )
    told = own_sentences(text)
    reading.is_note, reading.is_short = len(told) == 1, len(told) <= 2
    for sentence in told:
        for clause in _clauses(sentence):
            _read(reading, clause)
    _whole(reading, text, told)
    return _distinct(reading.found, skipped)


def _whole(reading: _Reading, text: str, told: list[Span]) -> None:
    """A short message none of whose sentences is a fact is looked at once as a whole."""
    if 1 < len(told) <= 3 and all(one.category == EFFECT for one in reading.found):
        span = Span(text[told[0].start : told[-1].end], told[0].start, told[-1].end)
        effect = _effect(span)
        reading.found = [effect] if effect is not None else reading.found


EFFECT: Final = "effect"
"""The category of a sentence that states no fact by itself but may end or change one that is known."""


def _effect(clause: Span) -> Candidate | None:
    """Such as "So much for Iceland, we scrapped it" says nothing to keep, and still ends a plan that is known."""
    said = plain(clause.text)
    lowered = said.lower()
    if is_question(said) or len(said.split()) > _MAX_WORDS or is_unreal(said) or not may_change(lowered):
        return None
    return _fact(said, EFFECT, Kind.EPISODIC, clause, said=said)


def _read(reading: _Reading, clause: Span) -> None:
    candidate = _candidate(reading, clause) or _effect(clause)
    if candidate is not None and MIN_CHARS <= len(candidate.text) <= MAX_CHARS:
        reading.found.append(candidate)
        reading.topic = candidate.category if candidate.category != EFFECT else reading.topic


_ASIDES: Final = re.compile(
    r",? (?:by the way|btw|fyi|for the record|sadly|unfortunately|luckily|fortunately|haha|lol|as you know|you know|i guess|though|too|actually|of course|to be honest|tbh|honestly|:\)|:d|xd)$",
    re.IGNORECASE,
)


def _candidate(reading: _Reading, clause: Span) -> Candidate | None:
    said = _ASIDES.sub("", without_fillers(plain(clause.text)).rstrip(" .!…,;:"))
    said = re.sub(r"^(?:we are|we were) ", lambda m: "I am " if "are" in m[0] else "I was ", said, flags=re.IGNORECASE)
    request = request_of(said, reading.who)
    if request is not None:
        return _requested(request, clause)
    if len(said.split()) > _MAX_WORDS or is_question(clause.text):
        return None
    named = _introduction(said, reading.who)
    if named:
        return _fact(named, "identity", Kind.FACTUAL, clause, salience=0.9)
    if re.match(r"^(?:i|we|my|our|every|each|on|the)\b", said, re.IGNORECASE) or " i " in f" {said.lower()} ":
        return _first_person(reading, said, clause)
    return _third_person(reading, said, clause) or _without_subject(reading, said, clause)


def _first_person(reading: _Reading, said: str, clause: Span) -> Candidate | None:
    if not_a_fact(said):
        return None
    family = family_of(said, reading.rules.families) or _plain_statement(reading, said)
    if family is None or unresolved(said) or (family.category == "event" and len(content_tokens(said.lower())) < 3):
        return None
    text = _told(said, reading.who)
    return _fact(text, family.category, family.kind, clause, family.modality, family.salience, said)


_STATEMENT: Final = Family("statement", re.compile(r"^(?:i|my|our|we) "), salience=0.4)
_ANY_VERB: Final = re.compile(
    r"^(?:i|we) (?:(?:do|did|can|could|am|was|will|have|had) not )?(?:\w+ly )?[a-z]+\b|^(?:my|our) [\w' ]+? (?:is|are|was|were|has|have|does|do|can|will|leaves?|starts?|ends?|runs?|goes|lives?|works?|plays?|got|gets|needs?|likes?|wants?|turned|became|died|moved)\b",
    re.IGNORECASE,
)


def _plain_statement(reading: _Reading, said: str) -> Family | None:
    """A short message that states something concrete is taken at its word, whatever the verb."""
    concrete = bool(names_of(said.lstrip("I ")) or re.search(r"\d", said)) or (
        reading.is_short and len(content_tokens(said.lower())) >= 2
    )
    return _STATEMENT if concrete and _ANY_VERB.match(said) else None


_UNRESOLVED: Final = re.compile(
    r"\b(?:it|them|that|this|those|these|there|him|her|one|ones|some|others|so much|stuff|things|something|everything|anything|a ton|a lot|the same)$"
    r"|^(?:i|we)(?: \w+){1,3} (?:it|them|that|this one|that one|those|these ones|this|him|her|there)\b(?! \w+(?:s|ed|ing)?\b \w+)",
    re.IGNORECASE,
)


def unresolved(said: str) -> bool:
    """Whether a clause hangs on something said elsewhere ("I love having them around")."""
    return bool(_UNRESOLVED.search(said))


def _told(said: str, who: str) -> str:
    """The clause in the third person; a leading adverbial ("Every Monday, I run") moves to the end."""
    moved = re.match(r"^((?:every|each|on) [\w ]+?),? (i|we) (.+)$", said, re.IGNORECASE)
    if moved:
        said = f"I {moved[3]} {moved[1][0].lower()}{moved[1][1:]}"
    if re.match(r"^the\b", said, re.IGNORECASE):
        return said[0].upper() + said[1:] + "."
    liked = re.match(r"^(.+?) (?:is|are) something i (.+)$", said, re.IGNORECASE)
    if liked:
        said = f"I {liked[2]} {liked[1][0].lower()}{liked[1][1:]}"
    return third(said, who)


_NOTE_SUBJECT: Final = re.compile(r"^(?:the )?user(?:'s)?\b|^[A-Z][a-z]+ \(the user\)", re.IGNORECASE)
_NAMED: Final = re.compile(
    r"^[A-Z][a-z]+ (?:[a-z]+s|is|was|has|had|did|does|[a-z]+ed|will|would|can|no longer|still|also|now)\b"
)


def _third_person(reading: _Reading, said: str, clause: Span) -> Candidate | None:
    """A note about the user by name or as "User"; it is kept in its own words."""
    about_speaker = _NOTE_SUBJECT.match(said) or said.startswith(f"{reading.who} ")
    if not about_speaker and not (reading.is_note and _NAMED.match(said) and _is_note(said)):
        return None
    if points(said) or not_a_fact(said):
        return None
    as_first = re.sub(
        r"^(?:(?:the )?user|[A-Z][a-z]+ \(the user\)|[A-Z][a-z]+)\b(?:'s)?", "I", said, count=1, flags=re.IGNORECASE
    )
    family = family_of(_first_form(as_first)) or family_of(as_first)
    category = family.category if family else "event"
    text = re.sub(r"^(?:the )?user\b", "User", said, flags=re.IGNORECASE)
    kind = family.kind if family else Kind.EPISODIC
    return _fact(f"{text}.", category, kind, clause, family.modality if family else "stated", said=said)


def _first_form(said: str) -> str:
    """Such as "I likes tea" as "I like tea", so that the families written for the first person serve."""
    return re.sub(
        r"^(I(?: \w+ly)?) (\w+?)(?:es|s)\b",
        lambda m: (
            f"{m[1]} {m[2]}" if m[2] not in ("i", "wa", "ha") else {"i": "I am", "wa": "I was", "ha": "I have"}[m[2]]
        ),
        said,
    )


def _is_note(said: str) -> bool:
    """A sentence about a person by name: not a general truth ("Paris is ..."), and nobody is addressed."""
    first = said.split(maxsplit=1)[0].lower()
    if first in STOP_WORDS or first in LIGHT or first.endswith(("ing", "ly", "tion", "ness")):
        return False
    if re.match(
        r"^[A-Z][a-z]+ (?:is|was|has|can) (?:the|an?|so|such|one|very|really|located|known|always|never|all)\b", said
    ):
        return False
    return len(said.split()) >= 4 and not re.search(r"\b(?:i|you|we|my|your|our|me|us)\b", said, re.IGNORECASE)


_NOT_EVENTS: Final = frozenset(
    "excited tired bored confused interested amazed impressed agreed noted understood confirmed needed".split()
)


def _without_subject(reading: _Reading, said: str, clause: Span) -> Candidate | None:
    """Such as "Stopped eating meat": a note whose subject is the speaker."""
    verb = past_start(said)
    gone = re.match(
        r"^(?:been|no longer|not|never|still|used to|allergic|mostly|mainly|primarily|now|vegan|vegetarian|pescatarian|single|married|divorced|engaged|retired|unemployed|pregnant|sober|prefer|do not (?:like|eat|drink|want|enjoy|smoke)|can not stand|love|hate|(?:learning|working on|working at|working as|studying|living in|training for|planning|saving|writing|building|renovating|recovering from)) \w+",
        said,
        re.IGNORECASE,
    )
    if points(said) or not_a_fact(said) or verb in _NOT_EVENTS:
        return None
    if re.match(r"^(?:mostly|mainly|primarily) ", said, re.IGNORECASE):
        return _focus(reading, said, clause)
    if _IMPERSONAL.match(said) or not (is_past(verb) or gone or _present_note(said)) or is_task(said):
        return None
    first = said.lower().split()[0]
    being = first.endswith("ing") or first in _STATES
    start = "I have " if first == "been" else "I am " if being else "I "
    as_first = start + said[0].lower() + said[1:]
    family = family_of(as_first, reading.rules.families)
    if len(content_tokens(said.lower())) < (1 if family else 2):
        return None
    category, kind = (family.category, family.kind) if family else ("event", Kind.EPISODIC)
    return _fact(
        third(as_first, reading.who), category, kind, clause, family.modality if family else "stated", said=said
    )


_STATES: Final = frozenset(
    "allergic not now still vegan vegetarian pescatarian single married divorced engaged retired unemployed pregnant sober".split()
)


_IMPERSONAL: Final = re.compile(
    r"^(?:been|had|took|was|felt|sounded|looked|seemed|turned out|made|got|meant|cost|used|based|said|told|given|compared|needless|supposed|called|named|inspired|surrounded|filled|packed) (?:a |an |some |the |so |really |very |pretty |quite |me |it |that |to |on |by |with )",
    re.IGNORECASE,
)
"""Starts whose missing subject is a thing or the talk itself ("Been a crazy week", "Took some time")."""


def _present_note(said: str) -> bool:
    """Such as "Prefers tea", "Works at Acme": a note in the third person that leaves the subject out."""
    return bool(
        re.match(
            r"^(?:likes|loves|enjoys|prefers|hates|dislikes|works|lives|wants|needs|uses|has|owns|plays|speaks|drives|avoids|studies|plans) \w+",
            said,
            re.IGNORECASE,
        )
    )


def _focus(reading: _Reading, said: str, clause: Span) -> Candidate | None:
    """Such as "Mostly NLP" after talk about work says what the work is about."""
    if reading.topic not in ("work", "project", "skill"):
        return None
    first, _, rest = said.partition(" ")
    return _fact(f"{reading.who} works {first.lower()} on {rest}.", "work", Kind.FACTUAL, clause, salience=0.6)


_INTRODUCTION: Final = re.compile(
    r"^(?:I am|my name is|this is|it is|the name is) ([A-Z][a-z]+(?:[ -][A-Z][a-z'-]+)?)(?: (?:here|by the way))?$"
)
_NOT_NAMES: Final = frozenset(
    """Italian French German Spanish American British Indian Chinese Japanese Canadian Australian Norwegian Swedish Danish
    Dutch Polish Irish Scottish Brazilian Mexican Korean Russian Greek Turkish Jewish Muslim Christian Catholic Buddhist
    Hindu Vegan Sorry Fine Good Great Okay Ok Back Here Done Ready Sure Happy Sad Tired Busy Portuguese Finnish Swiss
    Austrian Belgian Czech African European Asian Latino Latina Nigerian Kenyan Egyptian Israeli Arab Ukrainian""".split()
)


def _introduction(said: str, who: str) -> str:
    found = _INTRODUCTION.match(said)
    if not found or found[1].split()[0] in _NOT_NAMES or said.lower().startswith(("this is", "it is")):
        return ""
    return f"{who}'s name is {found[1]}."


def _requested(request: Request, clause: Span) -> Candidate:
    base = _fact(request.text, request.category, request.kind, clause, "requested", 0.8)
    return Candidate(**{**{name: getattr(base, name) for name in Candidate.__slots__}, "forget": request.forget})


def _fact(
    text: str,
    category: str,
    kind: str,
    clause: Span,
    modality: str = "stated",
    salience: float = 0.5,
    said: str = "",
) -> Candidate:
    lowered = (said or text).lower()
    polarity = polarity_of(lowered)
    return Candidate(
        text=text,
        kind=kind,
        category=category,
        polarity=polarity,
        modality=modality,
        key=fact_key(category, text, polarity),
        start=clause.start,
        end=clause.end,
        salience=salience,
        subject=subject_of(plain(said or text).lower()),
    )


def fact_key(category: str, text: str, polarity: int) -> str:
    """A stable name: category, ``not`` for a negative stance, and a slug of the words that carry it."""
    body = re.sub(r"^\S+?(?:'s)? ", "", text)
    slug = re.sub(r"[^a-z0-9]+", "_", body.lower()).strip("_")[:40].rstrip("_")
    return f"{category}:{'not:' if polarity < 0 else ''}{slug}"


_SPLIT: Final = re.compile(
    r"(?:,? (?:and|but|so|while|plus|since|because)|;|,) (?=(?:i|im|i'm|i've|we|we're|my|our)\b(?!,| and))|;\s+|\s+[-–—]\s+(?=(?:i|we|my|our)\b)"
    r"|,? (?:so|and|then|but)? ?(?=(?:any ideas?|any tips?|any (?:good|chance)|what|how|could|can|should|would|do|does|is it|is there|where|which|why|got any|please|skip|use that|help|suggest|recommend|give me|tell me)\b[^,]*\??$)"
    r"|,? (?=(?:he|she)(?:'s| is| was| has| works| lives| likes| plays| goes| wants)\b)",
    re.IGNORECASE,
)


def _clauses(sentence: Span) -> Iterator[Span]:
    """A compound sentence as its parts, where each part has a subject of its own."""
    begin = 0
    for cut in _SPLIT.finditer(sentence.text):
        if len(sentence.text[begin : cut.start()].split()) >= 2 and not _subordinate(
            sentence.text[begin : cut.start()]
        ):
            yield _part(sentence, begin, cut.start())
            begin = cut.end()
    yield _part(sentence, begin, len(sentence.text))


def _subordinate(text: str) -> bool:
    return bool(
        re.match(
            r"^(?:if|when|since|because|although|though|while|after|before|as|until|unless|whenever|once)\b",
            text,
            re.IGNORECASE,
        )
    )


def _part(sentence: Span, begin: int, end: int) -> Span:
    return Span(sentence.text[begin:end].strip(), sentence.start + begin, sentence.start + end)


def _distinct(found: list[Candidate], skipped: int) -> list[Candidate]:
    """Each key once, the first time it is said; places are counted from the start of the whole message."""
    seen: dict[str, Candidate] = {}
    for candidate in found:
        seen.setdefault(candidate.key, candidate)
    kept = list(seen.values())[:MAX_FACTS]
    if not skipped:
        return kept
    moved = ({name: getattr(one, name) for name in Candidate.__slots__} for one in kept)
    return [Candidate(**{**one, "start": one["start"] + skipped, "end": one["end"] + skipped}) for one in moved]
