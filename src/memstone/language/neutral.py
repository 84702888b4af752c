"""The neutral language: it reads nothing, but turns are stored and found.

Whatever a rule would have to guess is left undone. Without a language model nothing is learned (``add`` gives the
reason ``language``), no memory changes another but by the same words, and nothing is shown unasked that others than
the user have said.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, datetime, tzinfo

from memstone.language.text.dates import TimeRef
from memstone.language.text.normal import normal_text
from memstone.language.text.tokens import match_text, query_terms
from memstone.model.context import Due
from memstone.model.context_gate import GateDecision, Route
from memstone.model.curator import Curator
from memstone.model.digest import Digest, SessionFact
from memstone.model.fact import (
    CLASSES,
    Candidate,
    CuratedFacts,
    Decision,
    FactAction,
    KnownMemory,
    New,
    RestatedSentence,
)
from memstone.model.instant import Instant
from memstone.model.memory import NOTHING, EntityFound
from memstone.model.message import Message
from memstone.model.policy import OwnPattern, OwnSlot, SuggestedSettings
from memstone.model.query import NOBODY, SpeakerQuestion


class Neutral:
    """See ``memstone.language.language.Language``."""

    code = ""

    def __init__(self) -> None:
        self.facts = NeutralFacts()
        self.changes = NeutralChanges()
        self.names = NeutralNames()
        self.dates = NeutralDates()
        self.gate = NeutralGate()
        self.sessions = NeutralSessions()
        self.identity = NeutralIdentity()
        self.guard = NeutralGuard()
        self.relevance = NeutralRelevance()
        self.advice = NeutralAdvice()

    def load(self) -> None:
        """Do nothing: there is nothing to load."""

    def reads(self, _text: str) -> bool:
        """Return False: no text is known to be in it."""
        return False

    def reads_surely(self, _text: str) -> bool:
        """Return False: no text is known to be in it."""
        return False


class NeutralFacts:
    """See ``memstone.language.language.FactReader``."""

    def read(
        self,
        message: str,
        _curator: Curator | None,
        *,
        before: str = "",
        speaker: str = "",
        patterns: Sequence[OwnPattern] = (),
    ) -> CuratedFacts:
        del before, speaker, patterns
        return CuratedFacts(is_foreign=any(map(str.isalpha, message)))

    def read_requests(self, _message: str, _speaker: str = "") -> list[Candidate]:
        return []

    def read_restatements(self, _message: str) -> list[RestatedSentence]:
        return []

    def own_words(self, message: str, _speaker: str) -> str:
        return message

    def is_idle(self, _message: Message, _before: str, _curator: Curator) -> bool:
        return False

    def tells_nothing(self, text: str) -> bool:
        return not any(map(str.isalnum, text))

    def may_ask_to_forget(self, _text: str) -> bool:
        return False

    def asks_to_forget_all(self, _text: str) -> bool:
        return False


class NeutralChanges:
    """See ``memstone.language.language.ChangeRules``."""

    def decide(self, new: New, known: Sequence[KnownMemory]) -> Decision:
        if not new.adds:
            return Decision(FactAction.IGNORE, None, "says nothing by itself")
        same = (at for at, one in enumerate(known) if not one.is_others and self.is_known(new.text, one.text))
        at = next(same, None)
        return (
            Decision(FactAction.ADD, None, "other words")
            if at is None
            else Decision(FactAction.IGNORE, at, "already known")
        )

    def also_changed(self, _new: New, _known: Sequence[KnownMemory], _main: Decision) -> list[Decision]:
        return []

    def rate_changes(self, _message: str, memories: Sequence[str], _curator: Curator) -> list[float]:
        return [0.0] * len(memories)

    def find_to_forget(self, _what: str, _known: Sequence[str]) -> list[int]:
        return []

    def is_known(self, new: str, memory: str) -> bool:
        return normal_text(new) == normal_text(memory)

    def count_shared_words(self, one: str, other: str) -> int:
        return len({*query_terms(one)} & {*query_terms(other)})

    def list_slots(self, _text: str, _own: Iterable[OwnSlot] = ()) -> list[str]:
        return []

    def list_known_slots(self) -> frozenset[str]:
        return frozenset()

    def polarity_of(self, _text: str) -> int:
        return 1

    def as_user(self, text: str, _name: str) -> str:
        return text

    def is_about(self, _text: str, _name: str) -> bool:
        return False

    def in_third_person(self, _text: str) -> str:
        return ""


class NeutralNames:
    """See ``memstone.language.language.NameReader``."""

    def find(self, _text: str, _speaker: str) -> EntityFound:
        return NOTHING

    def normalize(self, name: str) -> str:
        return normal_text(name)

    def list_forms(self, _query: str) -> dict[str, float]:
        return {}

    def list_roles(self, _query: str) -> list[tuple[str, str]]:
        return []

    def list_asked(self, _question: str) -> list[str]:
        return []

    def list_unsaid(self, _fact: str, _sentence: str, _leave_out: Sequence[str]) -> list[str]:
        return []

    def list_marked(self, _text: str) -> list[str]:
        return []

    def rephrase_as_speaker(self, _query: str, _speakers: Collection[str]) -> SpeakerQuestion:
        return NOBODY


class NeutralDates:
    """See ``memstone.language.language.DateReader``."""

    def find(self, _text: str, _said_at: datetime, _zone: tzinfo) -> list[TimeRef]:
        return []

    def list_words(self, _refs: Iterable[TimeRef]) -> str:
        return ""

    def list_day_words(self, when: Instant) -> str:
        return match_text(f"{when[:4]} {when[:7]} {when[:10]}")

    def list_asked_days(self, query: str, _now: datetime, _zone: tzinfo) -> tuple[str, list[str]]:
        return query, []

    def find_asked_range(self, _query: str, _now: datetime, _zone: tzinfo) -> tuple[datetime, datetime] | None:
        return None

    def count_other_words(self, query: str) -> int:
        return len(query_terms(query))

    def add_dates(self, text: str, _said_at: datetime, _zone: tzinfo, *, is_quote: bool) -> str:
        del is_quote
        return text

    def find_due_day(self, _text: str, _said_at: datetime, _zone: tzinfo, _today: date) -> date | None:
        return None

    def is_done(self, _text: str, _later: Iterable[str]) -> bool:
        return False

    def trim_due(self, text: str) -> str:
        return text

    def sort_due(self, found: Sequence[Due]) -> list[Due]:
        return sorted(found, key=lambda one: (one.day, one.text))


class NeutralGate:
    """See ``memstone.language.language.GateRules``."""

    def route(self, _message: str, _names: Collection[str]) -> GateDecision:
        return GateDecision(Route.NONE, "no rule reads this language")

    def may_ask_for_words(self, _message: str) -> bool:
        return False

    def asks_for_words(self, _message: str, _names: Collection[str]) -> GateDecision | None:
        return None

    def speaks_to_assistant(self, _message: str) -> bool:
        return False

    def asks_what_is_due(self, _message: str) -> bool:
        return False


class NeutralSessions:
    """See ``memstone.language.language.SessionReader``."""

    def digest(
        self, _turns: Sequence[Message], _stated: Sequence[SessionFact], _curator: Curator | None
    ) -> Digest | None:
        return None

    def says_the_same(self, new: str, known: str, _overlap: float) -> bool:
        return normal_text(new) == normal_text(known)


class NeutralIdentity:
    """See ``memstone.language.language.IdentityRules``."""

    def importance_rank(self, category: str, _text: str) -> int:
        return CLASSES.index(category if category in CLASSES else "other")

    def category_of(self, category: str, _text: str) -> str:
        return category

    def is_lasting(self, _text: str) -> bool:
        return False

    def is_of_self(self, _text: str) -> bool:
        return True

    def tells_life(self, _text: str) -> bool:
        return False

    def is_of_thing(self, _text: str) -> bool:
        return False


class NeutralGuard:
    """See ``memstone.language.language.TextGuard``.

    Nobody can tell an order from news here: what others say is not believed.
    """

    def blank_suspect_text(self, message: Message, *, own: bool) -> Message:
        del own
        return message

    def own_words(self, text: str) -> str:
        return text

    def words_to_show(self, text: str, *, own: bool) -> str:
        return text if own else ""

    def hands_over(self, _text: str) -> bool:
        return False

    def is_quoted(self, _text: str, _start: int, _end: int) -> bool:
        return False

    def is_suspicious(self, _text: str) -> bool:
        return True

    def is_order(self, _text: str) -> bool:
        return False

    def remove_orders(self, text: str) -> str:
        return text


class NeutralRelevance:
    """See ``memstone.language.language.RelevanceCues``."""

    probes: tuple[str, ...] = ()

    def is_judged(self, _question: str) -> bool:
        return False

    def question_cues(self, _question: str, _rarity: Mapping[str, float]) -> list[float]:
        return []

    def memory_forms(self, _text: str) -> list[float]:
        return []

    def is_light(self, _word: str) -> bool:
        return False


class NeutralAdvice:
    """See ``memstone.language.language.SettingsAdvice``."""

    def suggest(self, use_case: str) -> SuggestedSettings:
        return SuggestedSettings((), use_case, (), (), (), ())

    def complete(
        self,
        use_case: str,
        include: tuple[str, ...],
        exclude: tuple[str, ...],
        categories: tuple[tuple[str, str], ...],
    ) -> SuggestedSettings:
        lines = [use_case, *(f"+ {one}" for one in include), *(f"- {one}" for one in exclude)]
        return SuggestedSettings((), "\n".join(lines), include, exclude, categories, ())
