"""Who the user is, in sentences that are known: which facts tell it, and a text made of nothing but them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, Final

from memstone.core.changes.decide import parse_statement, slots_of
from memstone.core.entities.names import names_in
from memstone.core.ranking.importance import CLASSES, importance_rank
from memstone.core.reading.facts import KEEP
from memstone.core.reading.pieces import Piece, read_pieces
from memstone.core.reading.wording import strip_filler
from memstone.core.rules.own_prose import Span, is_english, own_sentences
from memstone.core.rules.sentence import expand_contractions, is_question
from memstone.core.rules.verbs import finite_at, is_past, is_verb
from memstone.core.text.analyze import query_terms
from memstone.core.text.normalize import CHARS_PER_TOKEN, estimate_tokens, normal_text
from memstone.model.curator import Curator
from memstone.model.message import Message

# --- who the user is, in sentences that are known ---------------------------------------------------------------------


IDENTITY_GRADE: Final = frozenset({"identity", "home", "work", "health", "family"})
"""The categories of what somebody would write into a profile."""

IDENTITY_SALIENCE: Final = 0.7
_ORDER: Final = ("identity", "home", "work", "family", "health", "skill", "preference", "instruction")
_OF_A_PERSON: Final = frozenset({"name", "home", "employer", "trade", "age", "marriage", "birthday"})
_PASSING: Final = frozenset({"past", "once"})
_UNREAL: Final = frozenset({"planned", "wished", "supposed"})
_VERB: Final = re.compile(
    r"(?:user|i|we) (?:\w+ly |now |just |still |also |has |have )*"
    r"(?:(?P<leaves>got|adopted|became|become|joined|started|quit|stopped|retired|gave up|given up|turned(?= \d)"
    r"|(?:was|been) diagnosed)\b"
    r"|(?P<going_on>(?:is|am|are) (?:\w+ly |now |just |still )?\w{2,}ing\b)|(?P<verb>\w+))"
)
"""The verb of a statement about the user. What some of them tell has happened, and holds since."""

_END: Final = re.compile(r"[.!?\u2026\u3002]$")
_NAME: Final = re.compile(r"\b[^\W\d_a-z]\w+")
_PARTS: Final = re.compile(r"(?<=[.!?\u2026\u3002])\s+")


@dataclass(frozen=True, slots=True)
class Line:
    """A fact that a text about the user may be made of; ``version`` is a hash of its words."""

    id: str
    text: str
    version: str
    category: str = ""
    salience: float = 0.5
    updated_at: str = ""
    said_at: str = ""


def is_identity_grade(category: str, salience: float, subject: str, polarity: int) -> bool:
    """Whether a fact says who the user is, and not what they did or who others are; their family belongs to them.

    What they are not says nothing, but for their health: what somebody must not eat belongs to them.
    """
    about_user = subject in ("", "self", "user") or (category == "family" and subject == "near")
    stated = polarity > 0 or category == "health"
    return about_user and stated and category in IDENTITY_GRADE and salience >= IDENTITY_SALIENCE


def identity_category(category: str, text: str) -> str:
    """The category of a fact as an identity has it: what somebody eats, drinks or suffers from is their health."""
    is_health = category == "preference" and CLASSES[importance_rank(category, text)] == "health"
    return "health" if is_health else category


def is_lasting(text: str) -> bool:
    """Whether a statement tells how somebody lives, and not what happened, is going on or is planned.

    "Moved to Bergen" is how they live now: what a person has one of counts however it is told.
    """
    said = parse_statement(text)
    if any(one.slot in _OF_A_PERSON for one in slots_of(said)):
        return True
    verb = _VERB.match(said.said)
    if verb is not None and verb["leaves"]:
        return not said.meant & _UNREAL
    happened = verb is not None and (verb["going_on"] is not None or is_past(verb["verb"]))
    return not happened and not said.meant & (_PASSING | _UNREAL)


def inputs_of(lines: Iterable[Line]) -> str:
    """What a text about the user was made from, as one hash: it is made anew only when this changes."""
    told = "\n".join(sorted(f"{line.id}:{line.version}" for line in lines))
    return hashlib.sha256(told.encode()).hexdigest()


def compose_user_text(lines: Sequence[Line], tokens: int) -> str:
    """The sentences of facts one after the other, as far as they fit; the most salient are taken first.

    Of those that are alike in that, what was said last. Ids decide nothing: wherever the same was told, the text is.
    """
    room, kept, seen = tokens * CHARS_PER_TOKEN, list[Line](), set[str]()
    latest = sorted(lines, key=_time_sort_key, reverse=True)
    for line in sorted(latest, key=lambda one: (-one.salience, _category_rank(one))):
        said = normal_text(line.text)
        if said not in seen and len(_as_sentence(line.text)) + 1 <= room:
            seen.add(said)
            kept.append(line)
            room -= len(_as_sentence(line.text)) + 1
    kept.sort(key=lambda one: (_category_rank(one), -one.salience, _time_sort_key(one)))
    return " ".join(_as_sentence(line.text) for line in kept)


def with_names(text: str, lines: Sequence[Line], tokens: int) -> str:
    """Return a text about the user with what they are called before it, where whoever wrote it left that out.

    Beside such a text nothing else says it. Sentences at the end go where there is no room for both.
    """
    said = frozenset(_NAME.findall(text))
    missing = [_as_sentence(line.text) for line in lines if line.category == "identity" and _is_unnamed(line, said)]
    told = [*missing, *(part for part in _PARTS.split(text) if part)]
    most = tokens * CHARS_PER_TOKEN + 1
    room = sum(chars <= most for chars in accumulate(len(part) + 1 for part in told))
    return " ".join(told[: max(len(missing), room)]) if missing else text


def _is_unnamed(line: Line, said: frozenset[str]) -> bool:
    names = _names_in_line(line)
    return bool(names) and names.isdisjoint(said)


def _names_in_line(line: Line) -> frozenset[str]:
    """Return what in a sentence is written as a name; how it begins is none."""
    return frozenset(_NAME.findall(line.text.partition(" ")[2]))


def _time_sort_key(line: Line) -> tuple[str, str]:
    return line.said_at, line.text


def _category_rank(line: Line) -> int:
    return _ORDER.index(line.category) if line.category in _ORDER else len(_ORDER)


def _as_sentence(text: str) -> str:
    said = " ".join(text.split())
    return said if _END.search(said) else f"{said}."


def is_within_budget(text: str, tokens: int) -> bool:
    """Whether a text is short enough to stand in every prompt."""
    return estimate_tokens(text) <= tokens


# --- what was said in a session, sentence by sentence -----------------------------------------------------------------


_SPOKEN: Final = ("user", "assistant")
_MOST_SENTENCES: Final = 2_000
_MOST_READ: Final = 60
"""So many turns of a session are read by the curator, the last ones."""

_MOST_WORDS: Final = 60
_LEAST_TERMS: Final = 3
_LEAST_WORDS: Final = 4

_SURELY_NOT: Final = 0.02
"""What is so little likely to be worth remembering is not, whatever else it may be."""

_FILLER: Final = frozenset({"mood", "smalltalk"})
_UNMEANT: Final = frozenset({"joke", "hypothetical"})
_MANY_TERMS: Final = 5
"""What says so much is told even where it may be a joke: the curator takes some news for one."""

_ORDERS: Final = frozenset({"task", "pasted"})
_LIGHT: Final = 0.5
"""So much counts what happened and is not worth keeping by itself, against what is."""

_IDLE_TERMS: Final = 8
_FRAGMENT_WORDS: Final = 12
_STATEMENT_WORDS: Final = 3
_TO_SOMEBODY: Final = frozenset("please thanks thank let lets can could would ok okay sorry".split())
"""How something begins that is said to whoever listens."""

_SUBJECTS: Final = frozenset("i we you he she it they".split())
_ORDINAL: Final = re.compile(r"(?<!\d)\d{1,2}\.$")
_TOLD_UNREAL: Final = re.compile(r"(?:if|imagine|suppose|pretend|what if|i wish)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence as it was said; ``terms`` are the words it is about."""

    text: str
    role: str
    name: str
    turn: int
    start: int
    end: int
    at: int
    terms: frozenset[str]
    names: frozenset[str]
    asks: bool = False
    weight: float = 1.0
    """How much it tells; what keeps the talk going, or only asks for something, tells nothing."""

    kept: bool = False
    """Whether the curator finds it worth remembering."""

    why: str = ""
    """What it is otherwise, as the curator has it; '' where nobody has read it."""

    @property
    def empty(self) -> bool:
        """Whether it tells nothing by itself."""
        return not self.weight

    @property
    def requests(self) -> bool:
        """Whether the user asks for something in it."""
        enough = self.role == "user" and len(self.text.split()) >= _LEAST_WORDS
        return enough and (self.why in _ORDERS or (self.asks and self.why in ("", "question")))

    @property
    def states(self) -> bool:
        """Whether it is a statement, worth keeping or not: somebody or something does what its verb says."""
        words = expand_contractions(self.text).lower().split()
        if self.asks or len(words) < _STATEMENT_WORDS or words[0].strip(".,!") in _TO_SOMEBODY or "you" in words:
            return False
        return words[0] in _SUBJECTS or finite_at(words) > 0

    @property
    def speaker(self) -> str:
        """Whose words these are."""
        return self.name or self.role.capitalize()

    @property
    def line(self) -> str:
        """The sentence with its speaker before it."""
        return f"{self.speaker}: {self.text}"


@dataclass(frozen=True, slots=True)
class _Talk:
    """The turns of a session, with what the curator says of each that it has read."""

    turns: Sequence[Message]
    speakers: Sequence[str]
    pieces: dict[int, list[Piece]] = field(default_factory=dict)


def read_session_sentences(turns: Sequence[Message], curator: Curator | None = None) -> list[Sentence]:
    """The sentences of a session, in order; code, quotes and what was pasted are left out."""
    return _build_sentences(
        _Talk(turns, [turn.name.casefold() for turn in turns if turn.name], _read_turn_pieces(turns, curator))
    )


def _build_sentences(talk: _Talk) -> list[Sentence]:
    found: list[Sentence] = []
    for number, turn in enumerate(talk.turns):
        if turn.role not in _SPOKEN or len(found) > _MOST_SENTENCES:
            continue
        for span in _join_fragments(turn.text, own_sentences(turn.text)):
            if any(letter.isalnum() for letter in span.text):
                found.append(_told_sentence(talk, span, number, len(found)))
    return found


def is_idle(message: Message, before: str, curator: Curator) -> bool:
    """Whether the curator finds nothing to remember in any sentence of a short message, and nothing that happened.

    A longer question or task often tells something on the way, and a message in two languages is hardly read.
    """
    if not message.text.isascii() or len(query_terms(message.text)) > _IDLE_TERMS:
        return False
    if not is_english(message.text):
        return False
    pieces = read_pieces(curator, message.text, before)
    if pieces and all(one.keep < _SURELY_NOT for one in pieces):
        return True
    said = _build_sentences(_Talk([message], (), {0: pieces}))
    return bool(said) and all(one.why and one.empty and not one.kept for one in said)


def _read_turn_pieces(turns: Sequence[Message], curator: Curator | None) -> dict[int, list[Piece]]:
    """What the curator says of the turns that it can read, each behind what was said before it."""
    if curator is None:
        return {}
    spoken = [at for at, turn in enumerate(turns) if turn.role in _SPOKEN and turn.text.strip()][-_MOST_READ:]
    return {
        at: read_pieces(curator, turns[at].text, turns[at - 1].text if at else "")
        for at in spoken
        if is_english(turns[at].text)
    }


def _join_fragments(text: str, spans: Sequence[Span]) -> Iterator[Span]:
    """Sentences with what hangs on them: a few words without a verb, and what follows a date such as "2. März"."""
    last: Span | None = None
    for span in spans:
        if last is not None and "\n" not in text[last.end : span.start] and _goes_on(last.text, span.text):
            last = Span(text[last.start : span.end], last.start, span.end)
            continue
        if last is not None:
            yield last
        last = span
    if last is not None:
        yield last


def _goes_on(before: str, text: str) -> bool:
    if _ORDINAL.search(before.rstrip()):
        return True
    words = expand_contractions(text).split()
    few = len(words) <= _FRAGMENT_WORDS and len(before.split()) <= _MOST_WORDS
    return few and is_english(text) and not is_question(text) and not is_question(before) and not _has_verb(words)


def _has_verb(words: list[str]) -> bool:
    first = words[0].lower().strip(".,!?") if words else ""
    return finite_at(words) > 0 or is_verb(first) or (first in _SUBJECTS and len(words) > 1)


def _told_sentence(talk: _Talk, span: Span, number: int, at: int) -> Sentence:
    turn = talk.turns[number]
    text = " ".join(span.text.split())
    # Those who talk call each other by name, often by the beginning of it.
    names = frozenset(one for name in names_in(text) if not _is_among(one := name.casefold(), talk.speakers))
    terms = frozenset(query_terms(text, 128))
    place = (number, span.start, span.end, at)
    said = Sentence(text, turn.role, turn.name, *place, terms, names, is_question(text))
    pieces = [one for one in talk.pieces.get(number, ()) if one.start < span.end and span.start < one.end]
    return _apply_curator_verdict(said, pieces) if pieces else replace(said, weight=float(not _says_little(said)))


def _apply_curator_verdict(said: Sentence, pieces: Sequence[Piece]) -> Sentence:
    """A sentence as the curator has it; of an assistant, who is not the one to be remembered, less is believed."""
    main = max(pieces, key=lambda one: min(one.end, said.end) - max(one.start, said.start))
    own = said.role == "user"
    kept = own and max(one.keep for one in pieces) >= KEEP and not said.asks
    few = len(strip_filler(said.text).split()) < _LEAST_WORDS
    idle = said.asks or main.why in _FILLER | _ORDERS | {"question"}
    idle = idle or (main.why in _UNMEANT and len(said.terms) < _MANY_TERMS)
    weight = 0.0 if few or (idle and not kept) else 1.0 if kept else _LIGHT
    return replace(said, weight=weight, kept=kept, why=main.why)


def _says_little(said: Sentence) -> bool:
    """Whether a sentence that nobody has read tells nothing, by its words."""
    too_little = len(said.terms) < _LEAST_TERMS or len(said.text.split()) > _MOST_WORDS
    few = len(strip_filler(said.text).split()) < _LEAST_WORDS
    return said.asks or too_little or few or _TOLD_UNREAL.match(said.text) is not None


def _is_among(name: str, speakers: Sequence[str]) -> bool:
    return any(speaker.startswith(name) for speaker in speakers)


# --- what a session is distilled into, whoever does it ----------------------------------------------------------------


MAX_TEXT: Final = 50_000
"""What Memstone writes itself is cut here; what a caller writes is refused beyond its limit."""

EPISODE_SALIENCE: Final = 0.5
LISTS: Final = ("topics", "entities", "decisions", "action_items")


@dataclass(frozen=True, slots=True)
class Digest:
    """A session in few words. The lists hold each thing once, the most important first."""

    summary: str
    topics: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    action_items: tuple[str, ...] = ()
    salience: float = EPISODE_SALIENCE

    @classmethod
    def of(cls, summary: str, lists: Mapping[str, Any], salience: float) -> Digest:
        """A digest from lists as a memory holds them."""
        topics, entities, decisions, items = (tuple(map(str, lists.get(name) or ())) for name in LISTS)
        return cls(summary, topics, entities, decisions, items, salience)

    @property
    def lists(self) -> dict[str, list[str]]:
        """The lists as a memory holds them."""
        return {name: list(getattr(self, name)) for name in LISTS}


def truncate_text(text: str, limit: int = MAX_TEXT) -> str:
    """A text that Memstone made itself, within its limit."""
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}\u2026"


_NUMBER: Final = re.compile(r"\s*([+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+))\s*(%?)")


def clamp_salience(value: Any, default: float) -> float:
    """A salience from 0 to 1; a number may be written as text, what is none is the default."""
    if isinstance(value, str):
        found = _NUMBER.match(value)
        value = float(found[1].replace(",", ".")) / (100 if found[2] else 1) if found else None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:  # noqa: PLR0124 - NaN is none
        return default
    return min(1.0, max(0.0, float(value)))


def merge_digests(first: Digest, second: Digest, *, sentences: int = 3) -> Digest:
    """What was distilled before of a session, and what came since, where the words of before are not kept."""
    told = [one for one in (*first.summary.splitlines(), *second.summary.splitlines()) if one.strip()]
    kept = told if len(told) <= sentences else [told[0], *told[-(sentences - 1) :]]
    mine, theirs = first.lists, second.lists
    lists = {name: dict.fromkeys([*mine[name], *theirs[name]]) for name in LISTS}
    return Digest.of("\n".join(dict.fromkeys(kept)), lists, max(first.salience, second.salience))
