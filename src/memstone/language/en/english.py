"""The class for English; each subject loads its modules when it is first used."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, datetime, tzinfo
from importlib import import_module
from typing import Final

from memstone.language.text.dates import TimeRef
from memstone.model.context import Due
from memstone.model.context_gate import GateDecision
from memstone.model.curator import Curator
from memstone.model.digest import Digest, SessionFact
from memstone.model.fact import Candidate, CuratedFacts, Decision, KnownMemory, New, RestatedSentence
from memstone.model.instant import Instant
from memstone.model.memory import EntityFound
from memstone.model.message import Message
from memstone.model.policy import OwnPattern, OwnSlot, SuggestedSettings
from memstone.model.query import SpeakerQuestion

# What is in ``memstone.language.en`` holds hundreds of patterns: compiling them takes longer than all other
# imports, and most processes need few of them. So every import is in the method that needs it.


_OF_RECALL: Final = ("dates", "entities", "gate.rules", "identity", "relations", "relevance", "prompt_injection")
"""What a question is read with."""


class English:
    """See ``memstone.language.language.Language``."""

    code = "en"

    def __init__(self) -> None:
        self.facts = EnglishFacts()
        self.changes = EnglishChanges()
        self.names = EnglishNames()
        self.dates = EnglishDates()
        self.gate = EnglishGate()
        self.sessions = EnglishSessions()
        self.identity = EnglishIdentity()
        self.guard = EnglishGuard()
        self.relevance = EnglishRelevance()
        self.advice = EnglishAdvice()

    def load(self) -> None:
        """Load what recall needs; learning can wait."""
        for name in _OF_RECALL:
            import_module(f"memstone.language.en.{name}")

    def reads(self, text: str) -> bool:
        """Return whether rules for English may be tried on a text."""
        from memstone.language.en.own_prose import is_english

        return is_english(text)

    def reads_surely(self, text: str) -> bool:
        """Return whether it has no common word of another language, either."""
        from memstone.language.en.own_prose import has_foreign_words, is_english
        from memstone.language.text.content import is_foreign

        return is_english(text) and not has_foreign_words(text) and not is_foreign(text)


class EnglishFacts:
    """See ``memstone.language.language.FactReader``."""

    def read(
        self,
        message: str,
        curator: Curator | None,
        *,
        before: str = "",
        speaker: str = "",
        patterns: Sequence[OwnPattern] = (),
    ) -> CuratedFacts:
        from memstone.language.en.facts import read_message

        return read_message(message, curator, before=before, speaker=speaker, patterns=patterns)

    def read_requests(self, message: str, speaker: str = "") -> list[Candidate]:
        from memstone.language.en.facts import requests_in

        return requests_in(message, speaker)

    def read_restatements(self, message: str) -> list[RestatedSentence]:
        from memstone.language.en.restatements import extract_restatements

        return extract_restatements(message)

    def own_words(self, message: str, speaker: str) -> str:
        from memstone.language.en.sentences import own_words

        return own_words(message, speaker)

    def is_idle(self, message: Message, before: str, curator: Curator) -> bool:
        from memstone.language.en.session import is_idle

        return is_idle(message, before, curator)

    def tells_nothing(self, text: str) -> bool:
        from memstone.language.en.sentences import tells_nothing

        return tells_nothing(text)

    def may_ask_to_forget(self, text: str) -> bool:
        from memstone.language.en.requests import may_forget

        return may_forget(text)

    def asks_to_forget_all(self, text: str) -> bool:
        from memstone.language.en.requests import asks_to_forget_all

        return asks_to_forget_all(text)


class EnglishChanges:
    """See ``memstone.language.language.ChangeRules``."""

    def decide(self, new: New, known: Sequence[KnownMemory]) -> Decision:
        from memstone.language.en.changes import decide_change

        return decide_change(new, known)

    def also_changed(self, new: New, known: Sequence[KnownMemory], main: Decision) -> list[Decision]:
        from memstone.language.en.changes import also_changed

        return also_changed(new, known, main)

    def rate_changes(self, message: str, memories: Sequence[str], curator: Curator) -> list[float]:
        from memstone.language.en.changes import rate_changes

        return rate_changes(message, memories, curator)

    def find_to_forget(self, what: str, known: Sequence[str]) -> list[int]:
        from memstone.language.en.changes import to_forget

        return to_forget(what, known)

    def is_known(self, new: str, memory: str) -> bool:
        from memstone.language.en.changes import is_known, parse_statement

        return is_known(parse_statement(new), parse_statement(memory))

    def count_shared_words(self, one: str, other: str) -> int:
        from memstone.language.en.changes import shared_words

        return shared_words(one, other)

    def list_slots(self, text: str, own: Iterable[OwnSlot] = ()) -> list[str]:
        from memstone.language.en.changes import parse_statement, slots_of

        return sorted({one.slot for one in slots_of(parse_statement(text), own)})

    def list_known_slots(self) -> frozenset[str]:
        from memstone.language.en.slots import shipped_slots

        return frozenset(shipped_slots())

    def polarity_of(self, text: str) -> int:
        from memstone.language.en.stance import polarity_of

        return polarity_of(text.lower())

    def as_user(self, text: str, name: str) -> str:
        from memstone.language.en.sentences import as_user

        return as_user(text, name)

    def is_about(self, text: str, name: str) -> bool:
        from memstone.language.en.sentences import begins_with

        return begins_with(text, name)

    def in_third_person(self, text: str) -> str:
        from memstone.language.en.fact_text import reword_in_third_person

        return reword_in_third_person(text, "User")


class EnglishNames:
    """See ``memstone.language.language.NameReader``."""

    def find(self, text: str, speaker: str) -> EntityFound:
        from memstone.language.en.relations import found_in

        return found_in(text, speaker)

    def normalize(self, name: str) -> str:
        from memstone.language.en.entities import normalize_name

        return normalize_name(name)

    def list_forms(self, query: str) -> dict[str, float]:
        from memstone.language.en.entities import query_forms

        return query_forms(query)

    def list_roles(self, query: str) -> list[tuple[str, str]]:
        from memstone.language.en.relations import query_roles

        return query_roles(query)

    def list_asked(self, question: str) -> list[str]:
        from memstone.language.en.relevance import names_asked

        return names_asked(question)

    def list_unsaid(self, fact: str, text: str, leave_out: Sequence[str]) -> list[str]:
        from memstone.language.en.names import unsaid_names

        return unsaid_names(fact, text, leave_out)

    def list_marked(self, text: str) -> list[str]:
        from memstone.language.en.entities import capital_names

        return [one.name for one in capital_names(text)]

    def rephrase_as_speaker(self, query: str, speakers: Collection[str]) -> SpeakerQuestion:
        from memstone.language.en.entities import rephrase_as_speaker

        return rephrase_as_speaker(query, speakers)


class EnglishDates:
    """See ``memstone.language.language.DateReader``."""

    def find(self, text: str, said_at: datetime, zone: tzinfo) -> list[TimeRef]:
        from memstone.language.en.dates import resolve_dates

        return resolve_dates(text, said_at, zone)

    def list_words(self, refs: Iterable[TimeRef]) -> str:
        from memstone.language.en.dates import date_words

        return date_words(refs)

    def list_day_words(self, when: Instant) -> str:
        from memstone.language.en.dates import day_terms

        return day_terms(when)

    def list_asked_days(self, query: str, now: datetime, zone: tzinfo) -> tuple[str, list[str]]:
        from memstone.language.en.dates import asked_days

        return asked_days(query, now, zone)

    def find_asked_range(self, query: str, now: datetime, zone: tzinfo) -> tuple[datetime, datetime] | None:
        from memstone.language.en.dates import asked_range

        return asked_range(query, now, zone)

    def count_other_words(self, query: str) -> int:
        from memstone.language.en.dates import count_other_words

        return count_other_words(query)

    def add_dates(self, text: str, said_at: datetime, zone: tzinfo, *, is_quote: bool) -> str:
        from memstone.language.en.dates import add_dates

        return add_dates(text, said_at, zone, is_quote=is_quote)

    def find_due_day(self, text: str, said_at: datetime, zone: tzinfo, today: date) -> date | None:
        from memstone.language.en.due import due_day

        return due_day(text, said_at, zone, today)

    def is_done(self, text: str, later: Iterable[str]) -> bool:
        from memstone.language.en.due import is_done

        return is_done(text, later)

    def trim_due(self, text: str) -> str:
        from memstone.language.en.due import line_of_due

        return line_of_due(text)

    def sort_due(self, found: Sequence[Due]) -> list[Due]:
        from memstone.language.en.due import by_day

        return by_day(found)


class EnglishGate:
    """See ``memstone.language.language.GateRules``."""

    def route(self, message: str, names: Collection[str]) -> GateDecision:
        from memstone.language.en.gate.rules import first_match

        return first_match(message, names)

    def may_ask_for_words(self, message: str) -> bool:
        from memstone.language.en.gate.rules import may_ask_for_words

        return may_ask_for_words(message)

    def asks_for_words(self, message: str, names: Collection[str]) -> GateDecision | None:
        from memstone.language.en.gate.rules import asks_for_words

        return asks_for_words(message, names)

    def speaks_to_assistant(self, message: str) -> bool:
        from memstone.language.en.gate.rules import speaks_to_assistant

        return speaks_to_assistant(message)

    def asks_what_is_due(self, message: str) -> bool:
        from memstone.language.en.gate.rules import asks_what_is_up

        return asks_what_is_up(message)


class EnglishSessions:
    """See ``memstone.language.language.SessionReader``."""

    def digest(self, turns: Sequence[Message], stated: Sequence[SessionFact], curator: Curator | None) -> Digest | None:
        from memstone.language.en.digest import build_extractive_digest

        return build_extractive_digest(turns, stated, curator)

    def says_the_same(self, new: str, known: str, overlap: float) -> bool:
        from memstone.language.en.digest import says_the_same

        return says_the_same(new, known, overlap)


class EnglishIdentity:
    """See ``memstone.language.language.IdentityRules``."""

    def importance_rank(self, category: str, text: str) -> int:
        from memstone.language.en.identity import importance_rank

        return importance_rank(category, text)

    def category_of(self, category: str, text: str) -> str:
        from memstone.language.en.identity import identity_category

        return identity_category(category, text)

    def is_lasting(self, text: str) -> bool:
        from memstone.language.en.identity import is_lasting

        return is_lasting(text)

    def is_of_self(self, text: str) -> bool:
        from memstone.language.en.identity import is_of_self

        return is_of_self(text)

    def tells_life(self, text: str) -> bool:
        from memstone.language.en.identity import tells_life

        return tells_life(text)

    def is_of_thing(self, text: str) -> bool:
        from memstone.language.en.identity import is_of_thing

        return is_of_thing(text)


class EnglishGuard:
    """See ``memstone.language.language.TextGuard``."""

    def blank_suspect_text(self, message: Message, *, own: bool) -> Message:
        from memstone.language.en.prompt_injection import blank_suspect_text

        return blank_suspect_text(message, own=own)

    def own_words(self, text: str) -> str:
        from memstone.language.en.prompt_injection import own_words

        return own_words(text)

    def words_to_show(self, text: str, *, own: bool) -> str:
        from memstone.language.en.prompt_injection import words_to_show

        return words_to_show(text, own=own)

    def hands_over(self, text: str) -> bool:
        from memstone.language.en.own_prose import handed_over

        return bool(handed_over(text))

    def is_quoted(self, text: str, start: int, end: int) -> bool:
        from memstone.language.en.prompt_injection import is_quoted

        return is_quoted(text, start, end)

    def is_suspicious(self, text: str) -> bool:
        from memstone.language.en.prompt_injection import is_suspicious

        return is_suspicious(text)

    def is_order(self, text: str) -> bool:
        from memstone.language.en.prompt_injection import is_order

        return is_order(text)

    def remove_orders(self, text: str) -> str:
        from memstone.language.en.prompt_injection import without_orders

        return without_orders(text)


class EnglishRelevance:
    """See ``memstone.language.language.RelevanceCues``."""

    @property
    def probes(self) -> tuple[str, ...]:
        from memstone.language.en.relevance import PROBES

        return PROBES

    def is_judged(self, question: str) -> bool:
        from memstone.language.en.relevance import is_judged

        return is_judged(question)

    def question_cues(self, question: str, rarity: Mapping[str, float]) -> list[float]:
        from memstone.language.en.relevance import question_cues

        return question_cues(question, rarity)

    def memory_forms(self, text: str) -> list[float]:
        from memstone.language.en.relevance import memory_forms

        return memory_forms(text)

    def is_light(self, word: str) -> bool:
        from memstone.language.en.relevance import is_light_term

        return is_light_term(word)


class EnglishAdvice:
    """See ``memstone.language.language.SettingsAdvice``."""

    def suggest(self, use_case: str) -> SuggestedSettings:
        from memstone.language.en.instructions import suggest_settings

        return suggest_settings(use_case)

    def complete(
        self,
        use_case: str,
        include: tuple[str, ...],
        exclude: tuple[str, ...],
        categories: tuple[tuple[str, str], ...],
    ) -> SuggestedSettings:
        from memstone.language.en.instructions import complete_settings

        return complete_settings(use_case, include, exclude, categories)
