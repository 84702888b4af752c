"""Learn facts from a message without a language model.

A fact is a sentence about the user, or their own words where telling it otherwise is not sure to be right, with the place
in the message that it comes from. What people ask for (to remember, to forget, how to be answered) is found by rule.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from memstone.language.en.fact_text import (
    MAX_CHARS,
    Clause,
    build_wording,
    is_context_dependent,
    is_fragment,
    is_of_something,
    is_plain,
    is_text_in_quote,
    quote_speaker,
    quote_with_question,
    reword_continuation,
    statement_from_answer,
    strip_filler,
    trigger_of,
)
from memstone.language.en.own_prose import is_english, own_prose
from memstone.language.en.pieces import JUDGEMENTS, Piece, read_pieces
from memstone.language.en.requests import UserRequest, forgets_everything, request_of
from memstone.language.en.sentences import as_user, expand_contractions, lowercase_all_caps
from memstone.language.en.slots import own_facts, shipped_slots
from memstone.language.en.stance import polarity_of
from memstone.language.en.verbs import finite_at
from memstone.language.text.tokens import query_terms
from memstone.language.text.words import has_words
from memstone.model.curator import Curator
from memstone.model.fact import Candidate, CuratedFacts, Span, fact_key
from memstone.model.memory import Kind
from memstone.model.policy import OwnPattern

INPUT_CHARS: Final = 65_536
MIN_CHARS: Final = 3
MAX_FACTS: Final = 24
KEEP: Final = 0.5
"""So likely a piece has to be worth remembering."""

SURE: Final = 0.75
"""So likely it has to be for a piece that only goes on with what was said before it."""

DOUBT, KEEP_ALONE = 0.05, 0.8
"""From the first on it is read once more by itself, and then has to be as likely as the second."""

LEANS: Final = 0.5
"""So likely it has to take what stands around a piece to understand it."""

MOST_JOINED: Final = 280
"""So long a memory may become by what only its first words explain."""

OK: Final = 0.6
"""So likely a reader has to find a memory clear by itself and worth keeping."""

CERTAIN: Final = 0.95
"""So likely a piece has to be worth remembering to be quoted with the words around it, whatever a reader finds of that."""

MOST_QUOTED: Final = 45
"""So many words a memory may quote to be understood."""

SHORT: Final = 8
"""An answer to a question has at most so many words."""

MASK: Final = "[redacted:"
"""What was masked is nothing to know."""

_EPISODIC: Final = frozenset({"plan", "event", "decision"})
_SALIENCE: Final = {
    "identity": 0.9,
    **dict.fromkeys(("health", "home", "work", "instruction"), 0.8),
    **dict.fromkeys(("preference", "decision", "project", "skill"), 0.6),
    "family": 0.7,
    "event": 0.4,
}
_TELLING: Final = frozenset({"passing", "other", "mood", "joke"})
"""What is not worth remembering, and may still tell that something known has changed; a question or a task does not."""

_SPACES: Final = re.compile(r"\s+")
_SUBJECT: Final = re.compile(
    r"(?:[^\w\s]{1,3} ?)?(?:\b(?:and|but|so|oh|also|plus|btw|ok|well|yeah) ){0,3}(i|we)(?:'|’|m\b|ve\b|\b)",
    re.IGNORECASE,
)
_FIRST_PERSON: Final = re.compile(r"(?:i|i['’]?(?:m|ve)|my|we|we['’](?:re|ve)|our)\b", re.IGNORECASE)
_RELATIVE: Final = re.compile(r"^(?:who|which|that|whose|where)\b", re.IGNORECASE)
_CORRECTS: Final = re.compile(
    r"(?:oh |ah |um |uh |er |actually,? )?(?:no[,.]? (?!one\b|more\b|idea|worries|thanks|thank|problem|rush|pressure)|wait\b|sorry\b|i mean\b"
    r"|scratch that|correction|make that|or rather|my mistake|oops)",
    re.IGNORECASE,
)
_REMINDS: Final = re.compile(
    r"^(?:as|like) i (?:have )?(?:already |just )?(?:said|told you|mentioned)(?: already| before| earlier)?(?=[,:])[,:]",
    re.IGNORECASE,
)
"""What is said again may still be unknown."""

_FEW_WORDS: Final = 3
_LONG: Final = 40
_OWN: Final = re.compile(r"\b(?:i|i'm|im|me|my|mine|we|us|our|ours|user)\b", re.IGNORECASE)


def read_message(
    message: str,
    curator: Curator | None,
    *,
    before: str = "",
    speaker: str = "",
    patterns: Sequence[OwnPattern] = (),
) -> CuratedFacts:
    """Return the facts that a user's message states; of a very long one those of its end.

    ``before`` is what was said to them right before, and may be a question. ``patterns`` are those of a configuration.
    """
    text = lowercase_all_caps(message[-INPUT_CHARS:])
    who = _speaker_or_user(speaker)
    prose = own_prose(text)
    found = [
        _build_candidate(one.text, one.category, one.span, one.text)
        for one in own_facts(prose.sentences, patterns, who)
    ]
    is_read = _is_read(text, before)
    reading = _FactReader(text, who, before, found)
    if is_read:
        reading.read(prose.sentences, curator)
    facts, skipped = _distinct_candidates(reading.found), len(message) - len(text)
    return CuratedFacts(
        [_shift_candidate(one, skipped) for one in facts[:MAX_FACTS]],
        [Span(one.text, one.start + skipped, one.end + skipped) for one in reading.rest],
        prose.is_cut or skipped > 0 or len(facts) > MAX_FACTS,
        not is_read and any(has_words(one.text) for one in prose.sentences),
    )


def _is_read(text: str, before: str) -> bool:
    """Return whether a message is in a language that is read here.

    A mere number is in that of the question to the user.
    """
    return is_english(text) if has_words(text) else "you" in before.lower() and is_english(before)


def requests_in(message: str, speaker: str = "") -> list[Candidate]:
    """Return what a user asks for explicitly: to remember, to forget, how to be answered."""
    text = lowercase_all_caps(message[-INPUT_CHARS:])
    who = _speaker_or_user(speaker)
    found = [(one, _parse_request(one, who)) for one in own_prose(text).sentences]
    return [
        _shift_candidate(_candidate_from_request(request, one), len(message) - len(text))
        for one, request in found
        if request
    ]


def _speaker_or_user(speaker: str) -> str:
    return speaker if speaker and speaker.lower() not in ("user", "assistant") else "User"


def _parse_request(sentence: Span, who: str) -> UserRequest | None:
    """Return what a sentence asks for, as it is ("remember that …") or behind the words that lead to it."""
    return request_of(expand_contractions(_SPACES.sub(" ", sentence.text)).strip(), who) or request_of(
        _trimmed_plain_text(sentence), who
    )


def _trimmed_plain_text(sentence: Span) -> str:
    return strip_filler(expand_contractions(_SPACES.sub(" ", sentence.text)))


def judge_memory(curator: Curator, text: str) -> str:
    """Return how a memory is to somebody who has not seen the conversation; ``ok`` only where that is likely."""
    odds = [math.exp(float(one)) for one in curator.judge(text)]
    if odds[0] >= OK * sum(odds):
        return JUDGEMENTS[0]
    return JUDGEMENTS[1 + max(range(len(odds) - 1), key=lambda at: odds[1 + at])]


class _FactReader:
    """How far a message has been read, and what was found in it."""

    def __init__(self, text: str, who: str, before: str, found: list[Candidate]) -> None:
        self.text, self.who, self.before, self.found = text, who, before, found
        self.rest: list[Span] = []
        self.ends: set[int] = set()
        self.answers: set[int] = set()
        self.has_words = has_words(text)
        self.is_personal = len(text.split()) <= _LONG or _OWN.search(text) is not None

    def read(self, sentences: Sequence[Span], curator: Curator | None) -> None:
        """Take what is asked for by rule, and let the curator judge the rest."""
        own = [(one.start, one.end) for one in self.found]
        asked = [(one, _parse_request(one, self.who)) for one in sentences]
        for span, request in asked:
            if request is not None:
                self._keep(_candidate_from_request(request, span))
        left = [
            one
            for one, request in asked
            if request is None and not _has_overlap(one, own) and not forgets_everything(_trimmed_plain_text(one))
        ]
        if curator is not None and left:
            taken = len(self.found)
            self._judge(read_pieces(curator, _blank_other_text(self.text, left), self.before), curator)
            read = [one for found in self.found[taken:] if (one := self._complete_fragment(found)) is not None]
            self.found[taken:] = self._select_clear_candidates(read, curator)
        self.found.sort(key=lambda one: one.start)

    def _select_clear_candidates(self, found: Sequence[Candidate], curator: Curator) -> list[Candidate]:
        """Return the memories that a reader understands who has not seen the message, and finds worth keeping.

        What is unclear is told with the memory right before it, or quoted with more of the message. What is left may still
        change what is known.
        """
        candidates: list[Candidate] = []
        for one in found:
            judged = self._candidate_verdict(one, curator)
            if judged == "ok" or self._is_sure(one):
                candidates.append(one)
            elif (judged == "unclear" or self._is_unexplained(one)) and (
                fit := self._add_explanation(one, candidates[-1] if candidates else None, curator)
            ):
                candidates[-1:] = [fit] if candidates and fit.start <= candidates[-1].start else [*candidates[-1:], fit]
            else:
                self.rest.append(Span(self.text[one.start : one.end], one.start, one.end))
        return candidates

    def _is_unexplained(self, found: Candidate) -> bool:
        """Return whether it is surely worth remembering and mentions somebody or something that it does not name."""
        text = self.text[found.start : found.end]
        return found.keep >= CERTAIN and is_context_dependent(Clause(text, text))

    def _add_explanation(self, found: Candidate, near: Candidate | None, curator: Curator) -> Candidate | None:
        """Return a memory with what explains it.

        That is the one right before it, the sentence before it, or all of a message.
        """
        if near is not None and not _has_text_between(self.text[near.end : found.start]):
            return self._beside(near, found)
        taken = near.end if near is not None else 0
        quotes = [one for one in self._wider(found) if one.start >= taken]
        clear = next((one for one in quotes if self._candidate_verdict(one, curator) == "ok"), None)
        return clear or (quotes[-1] if quotes and found.keep >= CERTAIN else None)

    def _beside(self, near: Candidate, found: Candidate) -> Candidate | None:
        """Return two memories as one: both told, or both in the speaker's own words; None if that would be too long."""
        text = f"{near.text} {found.text}"
        is_quote = near.is_quote or found.is_quote
        if is_quote:
            text = quote_speaker(self.text[near.start : found.end], self.who)
        is_short = len(text) <= MOST_JOINED and (near.is_quote or not found.is_quote)
        return replace(near, text=text, end=found.end, is_quote=is_quote, plain="") if is_short else None

    def _is_sure(self, found: Candidate) -> bool:
        """Return whether it is an answer with its question, a plain liking or choice, or what a person has one of."""
        if found.start in self.answers or is_plain(
            strip_filler(expand_contractions(self.text[found.start : found.end]))
        ):
            return True
        text = expand_contractions(as_user(found.text, self.who)).lower()
        return any(one.search(text) for _, patterns in shipped_slots().values() for one in patterns)

    def _candidate_verdict(self, found: Candidate, curator: Curator) -> str:
        return judge_memory(curator, as_user(found.plain or found.text, self.who))

    def _wider(self, found: Candidate) -> Iterator[Candidate]:
        """Yield a memory with the sentence before it, then the whole message where that is short."""
        for start, end in ((self._start_before(found.start), found.end), (0, len(self.text))):
            if len(self.text[start:end].split()) <= MOST_QUOTED and (start, end) != (found.start, found.end):
                text = quote_speaker(self.text[start:end], self.who)
                yield replace(found, text=text, start=start, end=end, is_quote=True, plain="")

    def _start_before(self, start: int) -> int:
        """Return where the sentence before a place begins."""
        before = self._sentence_before(Span("", start, start))
        return self.text.rfind(before, 0, start) if before else start

    def _is_thin(self, found: Candidate) -> bool:
        """Return whether a memory quotes what is left of a sentence, and nothing that explains it."""
        is_bare = found.is_quote and not found.text.startswith(("Asked ", "In reply to "))
        return is_bare and is_fragment(self.text[found.start : found.end])

    def _complete_fragment(self, found: Candidate) -> Candidate | None:
        """Return a memory as it can be understood.

        What is left of a sentence takes what was said before it, or is no memory.
        """
        words = self.text[found.start : found.end]
        if not self._is_thin(found):
            return found
        if self.before and found.start == self.text.find(words.strip()):
            return replace(found, text=quote_with_question(_last_question(self.before), words, self.who), plain="")
        if len(query_terms(words)) >= _FEW_WORDS:
            return found
        self.rest.append(Span(words, found.start, found.end))
        return None

    def _judge(self, pieces: list[Piece], curator: Curator) -> None:
        for sentence in _group_by_sentence(pieces):
            remaining = [one for one in sentence if self._is_kept(one) or self._is_kept_alone(one, curator)]
            remaining = _merge_short_pieces(self.text, [one for one in remaining if not self._is_of_nobody(one)])
            if len(pieces) == 1 and not remaining and self._affirms(sentence[0]):
                remaining = sentence
            span = Span(self.text[sentence[0].start : sentence[-1].end], sentence[0].start, sentence[-1].end)
            if self._is_correction(span):
                self.found[-1] = self._apply_correction(self.found[-1], span)
                self.ends.add(span.end)
                continue
            lines = [self._take(piece, sentence, span, is_first=piece is pieces[0]) for piece in remaining]
            if not any(lines) and (remaining or any(one.why in _TELLING for one in sentence)):
                self.rest.append(span)

    def _is_correction(self, span: Span) -> bool:
        """Return whether a sentence takes back what the memory before it says: "on the 14th. no wait, the 16th"."""
        near = self.found[-1] if self.found and self.found[-1].end in self.ends else None
        return (
            near is not None
            and bool(_CORRECTS.match(span.text))
            and not _has_text_between(self.text[near.end : span.start])
        )

    def _apply_correction(self, near: Candidate, span: Span) -> Candidate:
        """Return the memory with the correction, both in the speaker's own words."""
        text = quote_speaker(self.text[near.start : span.end], self.who)
        return replace(near, text=text, end=span.end, is_quote=True, plain="")

    def _take(self, piece: Piece, sentence: Sequence[Piece], span: Span, *, is_first: bool) -> bool:
        """Keep a piece as a memory of its own, or as part of the one before it where only that explains it.

        False where it is too short for either: it may still change what is known.
        """
        clause = self._clause(piece, sentence, span, is_first=is_first)
        near = self.found[-1] if self.found and self.found[-1].end in self.ends else None
        is_next = near is not None and not _has_text_between(self.text[near.end : span.start])
        is_part = piece.keep >= SURE and (is_fragment(clause.text) or is_of_something(clause.text))
        hangs = is_context_dependent(clause) or piece.leans >= LEANS or is_part
        hangs = hangs or (near is not None and self._is_thin(near))
        self.ends.add(piece.end)
        if near is not None and is_next and hangs and not clause.question and not clause.is_wish:
            self.found[-1] = self._extend_candidate(near, piece, clause)
            return True
        is_part = piece.keep >= SURE and is_fragment(clause.text)
        worded = self._candidate_from_clause(piece, replace(clause, leans=piece.leans >= LEANS or is_part))
        self._add(worded, near if is_next else None)
        return worded is not None

    def _add(self, found: Candidate | None, near: Candidate | None) -> None:
        """Keep a memory of its own; of two that quote the same words, the one that quotes more."""
        if found is not None and near is not None:
            if near.is_quote and is_text_in_quote(near.text, self.text[found.start : found.end]):
                return
            if found.is_quote and is_text_in_quote(found.text, self.text[near.start : near.end]):
                self.found.pop()
        self._keep(found)

    def _extend_candidate(self, near: Candidate, piece: Piece, clause: Clause) -> Candidate:
        answer_text = "" if near.is_quote else reword_continuation(clause, self.who)
        if answer_text and answer_text in near.text:
            return replace(near, end=piece.end, keep=max(near.keep, piece.keep))
        text = f"{near.text} {answer_text}"
        if not answer_text or len(text) > MOST_JOINED:
            text = quote_speaker(self.text[near.start : piece.end], self.who)
        is_quote = near.is_quote or not answer_text
        keep = max(near.keep, piece.keep)
        return replace(near, text=text, end=piece.end, is_quote=is_quote, keep=keep, plain="")

    def _is_kept(self, piece: Piece) -> bool:
        words = self.text[piece.start : piece.end]
        is_listed = self.has_words and not has_words(words)  # the number of a list, and not an answer
        return not is_listed and (piece.keep >= KEEP or is_plain(strip_filler(expand_contractions(words))))

    def _is_kept_alone(self, piece: Piece, curator: Curator) -> bool:
        """Return whether what begins with "I" or "my" is worth remembering by itself, whatever stands around it."""
        words = self.text[piece.start : piece.end]
        is_open = KEEP > piece.keep >= DOUBT and piece.why != "question" and not words.rstrip().endswith("?")
        if not is_open or not _FIRST_PERSON.match(words):
            return False
        alone = read_pieces(curator, words)
        return min((one.keep for one in alone), default=0.0) >= KEEP_ALONE

    def _affirms(self, piece: Piece) -> bool:
        """Return whether it is a yes or no to a question about the user, which the word by itself does not show."""
        text = self.text[piece.start : piece.end]
        return len(text.split()) <= _FEW_WORDS and bool(
            statement_from_answer(_last_question(self.before), text, self.who)
        )

    def _is_of_nobody(self, piece: Piece) -> bool:
        """Return whether it is in a long text in which nobody mentions themselves: an article, a manual."""
        return not self.is_personal and not _OWN.search(self.text[piece.start : piece.end])

    def _clause(self, piece: Piece, sentence: Sequence[Piece], span: Span, *, is_first: bool) -> Clause:
        text = self.text[piece.start : piece.end]
        is_answer = is_first and bool(self.before) and not _SUBJECT.match(text) and self._is_answer(piece, text)
        return Clause(
            text,
            span.text,
            self._sentence_before(span),
            _last_question(self.before) if is_answer else "",
            piece.about == "user",
            _inherited_subject(self.text, sentence, piece),
            is_wish=piece.kind == "instruction",
        )

    def _is_answer(self, piece: Piece, text: str) -> bool:
        """Return whether it takes the question before it: it is short, or says no sentence, or the curator finds so."""
        if not self.before.rstrip().endswith("?"):
            return piece.answers >= LEANS
        return (
            piece.answers >= LEANS
            or len(self.text.split()) <= SHORT
            or finite_at(expand_contractions(text).split()) <= 0
        )

    def _candidate_from_clause(self, piece: Piece, clause: Clause) -> Candidate | None:
        wording = build_wording(clause, self.who)
        if wording is None:
            return None
        if clause.question:
            self.answers.add(piece.start)
        category = trigger_of(expand_contractions(clause.text)) or piece.kind
        found = _build_candidate(
            wording.text, category, Span(clause.text, piece.start, piece.end), expand_contractions(clause.text)
        )
        subject = self._subject(piece, wording.plain or wording.text)
        return replace(found, is_quote=wording.is_quote, subject=subject, keep=piece.keep, plain=wording.plain)

    def _subject(self, piece: Piece, text: str) -> str:
        """Return whom a fact is about: the speaker, where it begins with them, whatever else it is about."""
        return "self" if piece.about == "user" or text.startswith(f"{self.who} ") else piece.about

    def _sentence_before(self, span: Span) -> str:
        lines = self.text[max(0, span.start - MAX_CHARS) : span.start].rstrip().rsplit("\n", 1)[-1]
        return re.split(r"(?<=[.!?…]) +", lines)[-1].strip()

    def _keep(self, candidate: Candidate | None) -> None:
        if candidate is not None and MASK not in candidate.text and len(candidate.text) >= MIN_CHARS:
            self.found.append(candidate)


def _blank_other_text(text: str, sentences: Sequence[Span]) -> str:
    """Return the text with nothing but these sentences left in it, each where it is, without "as I said"."""
    remaining = ["\n"] * len(text)
    for one in sentences:
        sentence = _REMINDS.sub(lambda found: " " * len(found[0]), text[one.start : one.end], count=1)
        remaining[one.start : one.end] = sentence.replace("\n", " ")
    return "".join(remaining)


def _has_overlap(span: Span, taken: Sequence[tuple[int, int]]) -> bool:
    return any(span.start < end and start < span.end for start, end in taken)


def _group_by_sentence(pieces: Sequence[Piece]) -> list[list[Piece]]:
    found: list[list[Piece]] = []
    for piece in pieces:
        if piece.opens or not found:
            found.append([])
        found[-1].append(piece)
    return found


def _merge_short_pieces(text: str, pieces: Sequence[Piece]) -> list[Piece]:
    """Return pieces of one sentence.

    What is too short to stand alone, or only says more of what was named, is part of another.
    """
    found: list[Piece] = []
    for piece in pieces:
        words = text[piece.start : piece.end]
        last = found[-1] if found else None
        hangs = bool(_RELATIVE.match(words)) or len(expand_contractions(strip_filler(words)).split()) < _FEW_WORDS
        short = (
            last is not None
            and len(expand_contractions(strip_filler(text[last.start : last.end])).split()) < _FEW_WORDS
        )
        if last is not None and (hangs or short) and not text[last.end : piece.start].strip():
            found[-1] = replace(last, end=piece.end)
        else:
            found.append(piece)
    return found


def _inherited_subject(text: str, sentence: Sequence[Piece], piece: Piece) -> str:
    """Return with whom the sentence begins before a piece, where that is the speaker."""
    for one in sentence:
        if one.start >= piece.start:
            return ""
        if begins := _SUBJECT.match(text[one.start : one.end]):
            return begins[1].lower().replace("i", "I")
    return ""


def _has_text_between(text: str) -> bool:
    """Return whether more than the end of a sentence lies between two pieces."""
    return any(letter.isalnum() for letter in text)


def _last_question(before: str) -> str:
    return re.split(r"(?<=[.!?…])\s+|\n", before.strip())[-1]


def _candidate_from_request(request: UserRequest, span: Span) -> Candidate:
    found = _build_candidate(request.text, request.category, span, request.text)
    return replace(found, kind=request.kind, salience=0.8, forget=request.forget)


def _build_candidate(text: str, category: str, span: Span, sentence: str) -> Candidate:
    text = _SPACES.sub(" ", text)
    polarity = polarity_of(sentence.lower())
    return Candidate(
        text=text,
        kind=Kind.EPISODIC if category in _EPISODIC else Kind.FACTUAL,
        category=category,
        polarity=polarity,
        key=fact_key(category, text, polarity),
        start=span.start,
        end=span.end,
        salience=_SALIENCE.get(category, 0.5),
    )


def _distinct_candidates(found: Sequence[Candidate]) -> list[Candidate]:
    """Return each text once, the first time it is said."""
    return list({one.text: one for one in reversed(found)}.values())[::-1]


def _shift_candidate(one: Candidate, skipped: int) -> Candidate:
    return replace(one, start=one.start + skipped, end=one.end + skipped) if skipped else one
