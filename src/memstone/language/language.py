"""The Protocol ``Language``: what the engine asks a language, by subject.

The engine and the core ask a ``Language`` and import no module of one. ``memstone.language.en.english`` is English,
``memstone.language.neutral`` stands for every other language: of it nothing is known, so turns are kept and found, and
nothing is learned from them without a language model. Texts, places in them and what they tell are plain data of
``memstone.model``; what serves any language alike is in ``memstone.language.text``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, datetime, tzinfo
from typing import Protocol

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


class Language(Protocol):
    """A language, by subject; a subject loads its modules when it is first used."""

    @property
    def code(self) -> str:
        """Its tag, as in ``en``; '' where nothing is known of it."""
        ...

    @property
    def facts(self) -> FactReader:
        """What messages state and ask for."""
        ...

    @property
    def changes(self) -> ChangeRules:
        """What a statement does to what is known."""
        ...

    @property
    def names(self) -> NameReader:
        """Whom and what texts name."""
        ...

    @property
    def dates(self) -> DateReader:
        """Which times texts mention."""
        ...

    @property
    def gate(self) -> GateRules:
        """Whether a message needs memory."""
        ...

    @property
    def sessions(self) -> SessionReader:
        """What a session tells as a whole."""
        ...

    @property
    def identity(self) -> IdentityRules:
        """Which facts say who somebody is."""
        ...

    @property
    def guard(self) -> TextGuard:
        """Which words are not the user's own, and what in them is not to be believed."""
        ...

    @property
    def relevance(self) -> RelevanceCues:
        """How questions are put."""
        ...

    @property
    def advice(self) -> SettingsAdvice:
        """Instructions and settings for a use case."""
        ...

    def load(self) -> None:
        """Load what the first question would else wait for."""
        ...

    def reads(self, text: str, /) -> bool:
        """Return whether a text is in this language, as far as its words show it."""
        ...

    def reads_surely(self, text: str, /) -> bool:
        """Return whether a text is in this language, and no common word of another is in it."""
        ...


class FactReader(Protocol):
    """Reads what messages state and ask for."""

    def read(
        self,
        message: str,
        curator: Curator | None,
        /,
        *,
        before: str = "",
        speaker: str = "",
        patterns: Sequence[OwnPattern] = (),
    ) -> CuratedFacts:
        """Return the facts that a user's message states; ``before`` is what was said to them right before.

        A message in another language is ``is_foreign``; of it only ``patterns``, those of a configuration, are tried.
        """
        ...

    def read_requests(self, message: str, speaker: str = "", /) -> list[Candidate]:
        """Return what a user asks for explicitly: to remember, to forget, how to be answered."""
        ...

    def read_restatements(self, message: str, /) -> list[RestatedSentence]:
        """Return what an assistant says back of the user, as the user would say it."""
        ...

    def own_words(self, message: str, speaker: str, /) -> str:
        """Return a message without the name of its speaker before it; a talk of several people stays as it is."""
        ...

    def is_idle(self, message: Message, before: str, curator: Curator, /) -> bool:
        """Return whether nothing in a short message is worth remembering."""
        ...

    def tells_nothing(self, text: str, /) -> bool:
        """Return whether a text is nothing but courtesies."""
        ...

    def may_ask_to_forget(self, text: str, /) -> bool:
        """Return whether a text has a word by which somebody asks to forget something; most have none."""
        ...

    def asks_to_forget_all(self, text: str, /) -> bool:
        """Return whether a sentence of a text asks to forget everything."""
        ...


class ChangeRules(Protocol):
    """Decides what a statement does to known memories. Statements are sentences about "User", or quotations."""

    def decide(self, new: New, known: Sequence[KnownMemory], /) -> Decision:
        """Return what a statement does to the memories near it."""
        ...

    def also_changed(self, new: New, known: Sequence[KnownMemory], main: Decision, /) -> list[Decision]:
        """Return what else it changes, besides what was decided first."""
        ...

    def rate_changes(self, message: str, memories: Sequence[str], curator: Curator, /) -> list[float]:
        """Return how likely a message changes each memory, from 0 to 1; 0 where the curator cannot read the language.

        Message and memories are told about "User" (``as_user``).
        """
        ...

    def find_to_forget(self, what: str, known: Sequence[str], /) -> list[int]:
        """Return the places of the memories that somebody asks to be forgotten."""
        ...

    def is_known(self, new: str, memory: str, /) -> bool:
        """Return whether a memory proves that a statement is known."""
        ...

    def count_shared_words(self, one: str, other: str, /) -> int:
        """Return how many words that tell something two statements share."""
        ...

    def list_slots(self, text: str, own: Iterable[OwnSlot] = ()) -> list[str]:
        """Return the names of what a person has one of at a time and a statement gives a value to."""
        ...

    def list_known_slots(self) -> frozenset[str]:
        """Return the names of all that people have one of, as far as it is known without a configuration."""
        ...

    def polarity_of(self, text: str, /) -> int:
        """Return -1 for a statement that denies, ends or dislikes something, else 1."""
        ...

    def as_user(self, text: str, name: str, /) -> str:
        """Return a text about somebody by name as it would be told about "User"."""
        ...

    def is_about(self, text: str, name: str, /) -> bool:
        """Return whether a text is told about somebody of this name, or about somebody of theirs."""
        ...

    def in_third_person(self, text: str, /) -> str:
        """Return a sentence of or about the user with "User" as its subject; '' where that is not sure to be right."""
        ...


class NameReader(Protocol):
    """Whom and what texts name."""

    def find(self, text: str, speaker: str, /) -> EntityFound:
        """Return what a text names and how that is related; ``speaker`` is who "I" is, '' for nobody to learn of."""
        ...

    def normalize(self, name: str, /) -> str:
        """Return the form under which a name is known."""
        ...

    def list_forms(self, query: str, /) -> dict[str, float]:
        """Return the forms by which known entities may be meant in a question, and how surely."""
        ...

    def list_roles(self, query: str, /) -> list[tuple[str, str]]:
        """Return whom a question means by what they are to somebody: of whom, and the relation."""
        ...

    def list_asked(self, question: str, /) -> list[str]:
        """Return the names in a question, where capitals tell names."""
        ...

    def list_unsaid(self, fact: str, text: str, leave_out: Sequence[str], /) -> list[str]:
        """Return the names in a statement that nobody said, in whatever form."""
        ...

    def list_marked(self, text: str, /) -> list[str]:
        """Return the names in a text that capitals make names, as they stand there."""
        ...

    def rephrase_as_speaker(self, query: str, speakers: Collection[str], /) -> SpeakerQuestion:
        """Return a question in the words of the speakers it names; ``speakers`` are known names in small letters."""
        ...


class DateReader(Protocol):
    """Which times texts mention, seen from when they were said."""

    def find(self, text: str, said_at: datetime, zone: tzinfo, /) -> list[TimeRef]:
        """Return the times a text mentions, in order; days are those of ``zone``."""
        ...

    def list_words(self, refs: Iterable[TimeRef], /) -> str:
        """Return the words by which times can be searched for."""
        ...

    def list_day_words(self, when: Instant, /) -> str:
        """Return the words by which the day of a moment can be searched for."""
        ...

    def list_asked_days(self, query: str, now: datetime, zone: tzinfo, /) -> tuple[str, list[str]]:
        """Return a question without phrases such as "last month", and the days they mean as the full text has them."""
        ...

    def find_asked_range(self, query: str, now: datetime, zone: tzinfo, /) -> tuple[datetime, datetime] | None:
        """Return from when to when a question looks back; None if it names no time that is over, or asks nothing."""
        ...

    def count_other_words(self, query: str, /) -> int:
        """Return how many words of a question say something besides a date."""
        ...

    def add_dates(self, text: str, said_at: datetime, zone: tzinfo, /, *, is_quote: bool) -> str:
        """Return a memory with the dates without which its words would mean something else when they are read later."""
        ...

    def find_due_day(self, text: str, said_at: datetime, zone: tzinfo, today: date, /) -> date | None:
        """Return the day of a thing to do, if it is one of these days and lay ahead when it was said."""
        ...

    def is_done(self, text: str, later: Iterable[str], /) -> bool:
        """Return whether something that was said later says that a thing to do is done, or not to be done any more."""
        ...

    def trim_due(self, text: str, /) -> str:
        """Return what is to be done as a block tells it, without who said it."""
        ...

    def sort_due(self, found: Sequence[Due], /) -> list[Due]:
        """Return what is due, the most urgent first, each thing once."""
        ...


class GateRules(Protocol):
    """Whether a message needs memory, by rules over the user's own words."""

    def route(self, message: str, names: Collection[str], /) -> GateDecision:
        """Return which part of the memory helps with a message; ``names`` are people and things already known."""
        ...

    def may_ask_for_words(self, message: str, /) -> bool:
        """Return whether a message can ask for the very words that were said; most cannot."""
        ...

    def asks_for_words(self, message: str, names: Collection[str], /) -> GateDecision | None:
        """Return the decision for a message that asks for the very words that were said; None for any other."""
        ...

    def speaks_to_assistant(self, message: str, /) -> bool:
        """Return whether a message names the one it is written to."""
        ...

    def asks_what_is_due(self, message: str, /) -> bool:
        """Return whether somebody begins to talk, or asks what there is to do."""
        ...


class SessionReader(Protocol):
    """What a session tells as a whole."""

    def digest(
        self, turns: Sequence[Message], stated: Sequence[SessionFact], curator: Curator | None, /
    ) -> Digest | None:
        """Return the digest of a session; None when nothing in it tells anything."""
        ...

    def says_the_same(self, new: str, known: str, overlap: float, /) -> bool:
        """Return whether a fact says no more than a known one, with so much of their words in common."""
        ...


class IdentityRules(Protocol):
    """Which facts say who somebody is. Facts are sentences about "User"."""

    def importance_rank(self, category: str, text: str, /) -> int:
        """Return the place of what a fact is about in ``memstone.model.fact.CLASSES``."""
        ...

    def category_of(self, category: str, text: str, /) -> str:
        """Return the category of a fact as an identity has it."""
        ...

    def is_lasting(self, text: str, /) -> bool:
        """Return whether a statement tells how somebody lives, and not what happened, goes on or is planned."""
        ...

    def is_of_self(self, text: str, /) -> bool:
        """Return whether a fact may be about the user and not about something of theirs."""
        ...

    def tells_life(self, text: str, /) -> bool:
        """Return whether a fact says where or as what the user lives or works, whatever its category."""
        ...

    def is_of_thing(self, text: str, /) -> bool:
        """Return whether the subject of a sentence is no person."""
        ...


class TextGuard(Protocol):
    """Which words of a message are not the user's own, and what in them is not to be believed or obeyed."""

    def blank_suspect_text(self, message: Message, /, *, own: bool) -> Message:
        """Return a message of the same length, without what others try to have remembered or done."""
        ...

    def own_words(self, text: str, /) -> str:
        """Return what somebody says in a message themselves; '' if that is next to nothing."""
        ...

    def words_to_show(self, text: str, /, *, own: bool) -> str:
        """Return what of a turn a model may be shown unasked; '' if nothing is left."""
        ...

    def hands_over(self, text: str, /) -> bool:
        """Return whether others speak in a message, or something is passed on in it to work on."""
        ...

    def is_quoted(self, text: str, start: int, end: int, /) -> bool:
        """Return whether most of a stretch of a user's message is what others say in it."""
        ...

    def is_suspicious(self, text: str, /) -> bool:
        """Return whether a sentence that is not the user's orders something, or claims what only they may say."""
        ...

    def is_order(self, text: str, /) -> bool:
        """Return whether a sentence is an order, whoever it is about."""
        ...

    def remove_orders(self, text: str, /) -> str:
        """Return a text without the sentences that tell whoever reads it what to do."""
        ...


class RelevanceCues(Protocol):
    """How questions are put, for judging whether memory has anything to do with them."""

    @property
    def probes(self) -> tuple[str, ...]:
        """Questions that hardly anybody's memory answers; none where no others are to be compared with them."""
        ...

    def is_judged(self, question: str, /) -> bool:
        """Return whether the fitted weights know how such a question is put."""
        ...

    def question_cues(self, question: str, rarity: Mapping[str, float], /) -> list[float]:
        """Return how a question is put, as the weights want it; ``rarity`` is how much each word tells."""
        ...

    def memory_forms(self, text: str, /) -> list[float]:
        """Return what a memory has that questions ask for, as the weights want it."""
        ...

    def is_light(self, word: str, /) -> bool:
        """Return whether a word, as it is indexed, says little about what a text is about."""
        ...


class SettingsAdvice(Protocol):
    """Instructions and settings for a use case in plain words."""

    def suggest(self, use_case: str, /) -> SuggestedSettings:
        """Return what rules suggest."""
        ...

    def complete(
        self,
        use_case: str,
        include: tuple[str, ...],
        exclude: tuple[str, ...],
        categories: tuple[tuple[str, str], ...],
        /,
    ) -> SuggestedSettings:
        """Return what somebody else suggests, with what is always left out, and with categories if there are none."""
        ...
