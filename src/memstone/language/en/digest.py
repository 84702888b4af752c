"""Digest a session without a model: its most informative sentences, word for word.

Nothing is worded again, so nothing can be invented. A sentence is telling when it states a fact, decides something,
names somebody, or is about what the session comes back to; those that say something the others do not come first.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import takewhile
from typing import Final

from memstone.language.en.changes import is_known, parse_statement
from memstone.language.en.entities import entities_from_spotted, find_names, normalize_name
from memstone.language.en.gate.words import CALENDAR
from memstone.language.en.lexicon import LIGHT, STOP_WORDS
from memstone.language.en.names import COMMON, NOUNS_LIKE_ADJECTIVES, ORDINARY, NameSpan
from memstone.language.en.own_prose import is_english
from memstone.language.en.sentences import expand_contractions
from memstone.language.en.session import Sentence, read_session_sentences
from memstone.language.en.verbs import ADVERBS, FINITE, is_past, is_verb, lemmatize_verb
from memstone.language.text.tokens import document_terms
from memstone.model.curator import Curator
from memstone.model.digest import Digest, SessionFact, truncate_text
from memstone.model.memory import Entity, EntityType
from memstone.model.message import Message

# --- what was decided in a session, and what is still to be done ------------------------------------------------------


MOST: Final = 5
_WE: Final = r"(?:i|we|you)(?: have|'ve|'re|'m| am| are)?(?: finally| all| both| now| just)*"
_CHOSEN: Final = (
    r"(?:decided|agreed|chose|chosen|settled on|went with|going with|picked|opted|committed to|made up my mind"
    r"|signed up)"
)
_DECIDED: Final = re.compile(
    rf"\b{_WE} {_CHOSEN}\b|\b(?:let us|lets) (?:go with|use|take|stick (?:with|to)|do)\b"
    r"|\b(?:the )?decision (?:is|was)\b|\bit is (?:decided|settled|a deal)\b",
    re.IGNORECASE,
)
_ACCEPTED: Final = re.compile(
    r"(?:yes|yeah|yep|yup|ok|okay|sure|deal|agreed|great|perfect|good idea|sounds good|let us do (?:it|that))\b",
    re.IGNORECASE,
)
_SHORT: Final = 8
_TO_DO: Final = re.compile(
    r"\b(?:i|we) (?:still |also |really |just )*(?:need|have|must|ought|got) to\b"
    r"|\b(?:i|we) (?:will|am going to|are going to) \w+"
    r"|(?:^|\bplease |\bcan you )(?:remind me|do not (?:let me )?forget|remember) to\b"
    r"|\b(?:to-?do|action items?|next steps?)\s*:"
    r"|\bplease (?:send|check|book|call|order|prepare|remind|schedule|draft|write|finish|review)\b"
    r"|\b(?:i am|we are) (?:planning|hoping|about) to\b|\bi plan to\b",
    re.IGNORECASE,
)
_FILLER: Final = frozenset({"mood", "smalltalk", "joke", "hypothetical"})


def extract_decisions(sentences: Sequence[Sentence], marked: frozenset[int]) -> tuple[str, ...]:
    """Return what was decided; ``marked`` are sentences that state a decision, by their place.

    A proposal of the assistant that the user accepts is shown with the words that accept it.
    """
    found = []
    for at, one in enumerate(sentences):
        proposed = _accepted_proposal(sentences, at)
        if proposed:
            found.append(f"{proposed} {one.line}")
        elif _may_list(one) and (one.at in marked or _DECIDED.search(expand_contractions(one.text))):
            found.append(one.line)
    return _latest_lines(found)


def _accepted_proposal(sentences: Sequence[Sentence], at: int) -> str:
    """Return what the assistant said right before, where the user accepts it in a few telling words; else ''."""
    one = sentences[at]
    first = not at or sentences[at - 1].turn != one.turn
    text = expand_contractions(one.text)
    short = one.role == "user" and first and len(text.split()) <= _SHORT
    if not short or not _ACCEPTED.match(text) or not (one.is_worth_keeping or _DECIDED.search(text)):
        return ""
    before = [other for other in sentences[:at] if other.turn == one.turn - 1 and other.role == "assistant"]
    asked = [other.text for other in before[-2:]]
    return f"{before[-1].speaker}: {' '.join(asked)}" if before and before[-1].asks else ""


def action_items(sentences: Sequence[Sentence]) -> tuple[str, ...]:
    """Return what somebody said they would do, or asked for."""
    return _latest_lines([one.line for one in sentences if is_to_do(one)])


def is_to_do(one: Sentence) -> bool:
    """Return whether a sentence says what is still to be done; what an assistant says it will do is only its answer."""
    return one.role == "user" and _may_list(one) and _TO_DO.search(expand_contractions(one.text)) is not None


def is_decided(one: Sentence) -> bool:
    """Return whether a sentence says explicitly that something was decided."""
    return _may_list(one) and _DECIDED.search(expand_contractions(one.text)) is not None


def _may_list(one: Sentence) -> bool:
    """Return whether a sentence means what it says: it does not ask, joke, feel or suppose."""
    if one.asks or (one.why in _FILLER and not one.is_worth_keeping):
        return False
    return bool(one.why) or not one.empty


def _latest_lines(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the last ones, in order: what was settled later stands."""
    return tuple(dict.fromkeys(lines))[-MOST:]


# --- whom and what a session mentions --------------------------------------------------------------------------------


MOST_ENTITIES: Final = 24
MOST_TOPICS: Final = 8
_SPOKEN: Final = ("user", "assistant")
_TOKEN: Final = re.compile(r"[^\W\d_][\w\'\u2019-]*[^\W_]|[^\W\d_]|\d[\w.,:]*|[^\w\s]")
_BEFORE_NOUNS: Final = frozenset(
    """a an the my our your his her their its this that these those some any no every each another
    of with without for from about against into on in at by after before during between up down off out
    over under through around have has had""".split()
)
"""Small words that a noun follows."""

_ENDINGS: Final = tuple("ly ous ful ive ible able less ish al ic ed body".split())
"""How words end that are hardly nouns."""

_LIGHT: Final = COMMON | ORDINARY | CALENDAR | ADVERBS
"""Words that say little about what a talk is about."""

_LINKING: Final = frozenset("be feel get go seem look become turn sound taste stay keep grow".split())
"""Verbs that an adjective follows."""

_LEAST_LETTERS: Final = 3
_MOST_NOUNS: Final = 3
_FOREIGN_LETTERS: Final = 5
"""A word of another language that is shorter is hardly what a talk is about."""


def extract_entity_names(turns: Sequence[Message]) -> tuple[str, ...]:
    """Return the speakers, then everybody and everything that is named, what comes up most first."""
    spoken = [turn for turn in turns if turn.role in _SPOKEN]
    spotted = [one for turn in spoken for one in find_names(turn.text).names]
    often = Counter(normalize_name(one.name) for one in spotted)
    speakers = list(dict.fromkeys(turn.name for turn in spoken if turn.name))
    proper = [
        one for one in _distinct_entities(spotted) if one.name != one.name.lower() or one.type != EntityType.CONCEPT
    ]
    ranked = sorted(proper, key=lambda one: -often[one.norm])
    return _each_once([*speakers, *(one.name for one in ranked)])[:MOST_ENTITIES]


def _distinct_entities(spotted: Iterable[NameSpan]) -> list[Entity]:
    """Return each name once; more than one text holds, so they are taken in pieces."""
    found: dict[str, Entity] = {}
    for one in spotted:
        for entity in entities_from_spotted([one]):
            found.setdefault(entity.norm, entity)
    return list(found.values())


def extract_topics(turns: Sequence[Message], sentences: Sequence[Sentence], names: Sequence[str]) -> tuple[str, ...]:
    """Return the nouns that a session is about, as they were said: repeated ones first, then those that tell most.

    Names are no topics. Of what only keeps the talk going nothing is taken.
    """
    taken = {term for one in names for term in document_terms(one)}
    compounds = _compound_names(turns)
    found: dict[str, _Topic] = {}
    for sentence in sentences:
        text = sentence.text.lower()
        for phrase in (*(one for one in compounds if one in text), *_topic_phrases(sentence, turns)):
            words = document_terms(phrase)
            if words and words[-1] not in taken:
                found.setdefault(words[-1], _Topic()).add(phrase, sentence)
    ranked = [one.label for one in sorted(found.values(), key=lambda one: -one.weight)]
    longer = {word for label in ranked if " " in label for word in document_terms(label)}
    return _each_once(label for label in ranked if " " in label or longer.isdisjoint(document_terms(label)))[
        :MOST_TOPICS
    ]


class _Topic:
    """What stands for one noun: the turns that mention it, how much they tell, and its longest form."""

    def __init__(self) -> None:
        self.turns: set[int] = set()
        self.best_weight = 0.0
        self.label = ""

    def add(self, phrase: str, sentence: Sentence) -> None:
        """Count one more place where it is."""
        self.turns.add(sentence.turn)
        self.best_weight = max(self.best_weight, sentence.weight)
        if phrase.count(" ") > self.label.count(" ") or not self.label:
            self.label = phrase

    @property
    def weight(self) -> float:
        """What comes back weighs most, then what is worth keeping, then what is said in two words."""
        return len(self.turns) + self.best_weight + (" " in self.label) / 2


def _topic_phrases(sentence: Sentence, turns: Sequence[Message]) -> Iterator[str]:
    """Yield the nouns of a sentence that tells something; of another language, the longer words of one that does."""
    if sentence.empty:
        return
    if is_english(turns[sentence.turn].text):
        yield from extract_nouns(sentence.text)
        return
    words = (word for word in _TOKEN.findall(sentence.text) if len(word) >= _FOREIGN_LETTERS)
    yield from (word for word in words if word[0].isupper() and document_terms(word))


def extract_nouns(text: str) -> Iterator[str]:
    """Yield the nouns of an English sentence, with the noun before each: what follows a small word or a verb."""
    words = _TOKEN.findall(text)
    at = 0
    while at + 1 < len(words):
        leads = _can_precede_noun(words[at].lower(), words[at + 1].lower())
        found = list(takewhile(_is_content, words[at + 1 : at + 2 + _MOST_NOUNS])) if leads else []
        phrase = _noun_phrase(found)
        if phrase:
            yield " ".join(phrase)
        at += 1 + (len(found) if phrase else 0)


def _can_precede_noun(word: str, following: str) -> bool:
    """Return whether a noun may follow a word.

    Behind a verb it is what is done, but not behind one that tells how it is.
    """
    if word in _BEFORE_NOUNS or word.endswith("'s"):
        return True
    return is_verb(word) and word not in FINITE and lemmatize_verb(word) not in _LINKING and not is_verb(following)


def _noun_phrase(words: list[str]) -> list[str]:
    """Return the noun that a run of words begins with, and the noun before it.

    Of a long run, which goes on, it is the first two.
    """
    ends = (at for at, word in enumerate(words) if at and (is_verb(word) or is_past(word)))
    run = words[: next(ends, len(words) if len(words) <= _MOST_NOUNS else 2)]
    while run and not (_is_noun(run[-1]) or (len(run) > 1 and _is_noun(run[-2]) and run[-1] in LIGHT)):
        run = run[:-1]
    return [word for word in run[-2:-1] if _is_noun(word)] + run[-1:]


def _is_content(word: str) -> bool:
    """Return whether a word may be part of a noun phrase; a capital is that of a name."""
    return word[0].islower() and word not in _BEFORE_NOUNS and word not in STOP_WORDS and not word.endswith("'s")


def _is_noun(word: str) -> bool:
    if len(word) < _LEAST_LETTERS or word in _LIGHT or word.removesuffix("s") in _LIGHT:
        return False
    return word in NOUNS_LIKE_ADJECTIVES or not word.endswith(_ENDINGS)


def _compound_names(turns: Sequence[Message]) -> list[str]:
    """Return names in small letters of several words, such as "pottery class", in the form they have there."""
    texts: dict[str, str] = {}
    for turn in turns:
        for one in find_names(turn.text).names if turn.role in _SPOKEN else ():
            if one.name == one.name.lower() and " " in one.name:
                texts.setdefault(normalize_name(one.name), turn.text[one.start : one.end].lower())
    return list(texts.values())


def _each_once(names: Iterable[str]) -> tuple[str, ...]:
    found: dict[str, str] = {}
    for name in names:
        found.setdefault(normalize_name(name), name)
    return tuple(name for form, name in found.items() if form)


# --- a session in few words, without a model --------------------------------------------------------------------------


SENTENCES: Final = 3
_EXTRACTIVE_SHORT: Final = 4
"""Fewer words than this weigh no more for being few."""

_FACT_BONUS: Final = 1.0
_NAME_BONUS: Final = 0.5
_FIRST_BONUS: Final = 0.5
"""What the user tells first is what they came for."""

_ASSISTANT_SHARE: Final = 0.6
"""What an assistant says counts less: it is the user's memory."""


def build_extractive_digest(
    turns: Sequence[Message], stated: Sequence[SessionFact] = (), curator: Curator | None = None
) -> Digest | None:
    """Return the digest of a session; None when nothing in it tells anything."""
    sentences = read_session_sentences(turns, curator)
    facts = _map_facts_to_sentences(sentences, stated)
    decided = frozenset(at for at, fact in facts.items() if fact.category == "decision")
    settled = extract_decisions(sentences, decided)
    lines = [
        one.line for one in _select_sentences(sentences, {at: fact.salience for at, fact in facts.items()})
    ] or settled
    if not lines:
        return None
    names = extract_entity_names(turns)
    return Digest(
        summary=truncate_text("\n".join(lines)),
        topics=extract_topics(turns, sentences, names),
        entities=names,
        decisions=settled,
        action_items=action_items(sentences),
        salience=_digest_salience(stated, decided),
    )


def _map_facts_to_sentences(sentences: Sequence[Sentence], stated: Sequence[SessionFact]) -> dict[int, SessionFact]:
    """Return the weightiest fact of every sentence that states one."""
    found: dict[int, SessionFact] = {}
    for one in sorted(stated, key=lambda fact: fact.salience):
        for sentence in sentences:
            if sentence.turn == one.turn and one.start < sentence.end and sentence.start < one.end:
                found[sentence.at] = one
    return found


def _select_sentences(sentences: Sequence[Sentence], facts: dict[int, float]) -> list[Sentence]:
    """Return the sentences that together say most, in the order in which they were said."""
    weights = _term_weights(sentences)
    left = _summary_candidates(sentences)
    bonus = {one.at: _FIRST_BONUS for one in [one for one in left if one.role == "user"][:1]}
    chosen: list[Sentence] = []
    covered: set[str] = set()
    while left and len(chosen) < SENTENCES:
        best = max(
            left, key=lambda one: (_score_sentence(one, weights, facts, covered) + bonus.get(one.at, 0.0), -one.at)
        )
        if chosen and _score_sentence(best, weights, facts, covered) <= 0:
            break
        chosen.append(best)
        covered |= best.terms
        left = [one for one in left if one is not best and one.text != best.text]
    return sorted(_with_closing(sentences, chosen), key=lambda one: one.at)


def _with_closing(sentences: Sequence[Sentence], chosen: list[Sentence]) -> list[Sentence]:
    """Return the chosen sentences with that one with which the last message ends that tells something.

    It is what the message comes to, and stands behind the sentence before it where that was chosen; else it takes the
    place of what was chosen last.
    """
    turn = max((one.turn for one in chosen if one.role == "user"), default=-1)
    last = next((one for one in reversed(sentences) if one.turn == turn), None)
    if last is None or any(one.text == last.text for one in chosen):
        return chosen
    before = next((one for one in sentences if one.at == last.at - 1 and one.turn == turn), None)
    if last.empty and not (last.states and before is not None and not before.empty):
        return chosen
    if before in chosen and before is not None:
        both = replace(before, text=f"{before.text} {last.text}", end=last.end, terms=before.terms | last.terms)
        return [both if one is before else one for one in chosen]
    return [*chosen[: SENTENCES - 1], last]


def _summary_candidates(sentences: Sequence[Sentence]) -> list[Sentence]:
    """Return those that tell something; if the user tells nothing, what they asked; else what nobody could judge.

    An answer alone is no session: without what the user said nobody knows what it is about.
    """
    telling = [one for one in sentences if not one.empty or is_decided(one) or is_to_do(one)]
    if not any(one.role == "user" for one in telling):
        asked = [one for one in sentences if one.requests]
        telling = [*asked, *telling] if asked else []
    unread = [one for one in sentences if not one.why]
    return telling or [one for one in unread if not one.asks] or unread


def _term_weights(sentences: Sequence[Sentence]) -> dict[str, float]:
    """Return how much a word says about a session: more when several turns have it."""
    turns = Counter(term for term, _ in {(term, one.turn) for one in sentences for term in one.terms})
    return {term: 1.0 + math.log(count) for term, count in turns.items()}


def _score_sentence(one: Sentence, weights: dict[str, float], facts: dict[int, float], covered: set[str]) -> float:
    new = one.terms - covered
    value = sum(weights[term] for term in new) / math.sqrt(max(_EXTRACTIVE_SHORT, len(one.terms)))
    share = len(new) / len(one.terms) if one.terms else 0.0
    value += share * (_FACT_BONUS * 2 * facts.get(one.at, 0.0) + _NAME_BONUS * min(2, len(one.names)))
    value += _NAME_BONUS * is_decided(one)
    return value * (one.weight or 1.0) * (_ASSISTANT_SHARE if one.role == "assistant" else 1.0)


def _digest_salience(stated: Sequence[SessionFact], decided: frozenset[int]) -> float:
    """Return how salient it is by what it states: chit-chat is little, a decision or a fact about oneself is much."""
    if not stated:
        return 0.3
    most = max(one.salience for one in stated)
    return round(min(0.9, max(most, 0.7 if decided else 0.4)), 2)


# --- whether a fact of a session is one that is known already ---------------------------------------------------------


MIN_CHARS: Final = 5
"""What is not longer than this is no fact."""


def word_overlap(one: str, other: str) -> float:
    """Return how many of the words of two texts both have, from 0 to 1."""
    own, others = _term_set(one), _term_set(other)
    return len(own & others) / len(own | others) if own or others else 0.0


def says_the_same(new: str, known: str, most: float) -> bool:
    """Return whether two facts share more than ``most`` of their words, and nothing in the new one is new."""
    return word_overlap(new, known) > most and is_known(parse_statement(new), parse_statement(known))


@lru_cache(maxsize=4_096)
def _term_set(text: str) -> frozenset[str]:
    return frozenset(document_terms(text))
