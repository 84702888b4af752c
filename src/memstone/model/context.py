"""What a model is shown of the memory, and the account of how it came about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, field, fields
from datetime import date
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

from memstone.model.context_gate import GateDecision, Route
from memstone.model.instant import Instant

NO_GATE: Final = GateDecision(Route.NONE, "")


@dataclass(frozen=True, slots=True)
class Section:
    """One part of a block: its name, its heading, and what stands under it."""

    name: str
    heading: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Citation:
    """Where one line of a block comes from; ``turn_id`` is what was said, when that is known.

    ``memory`` is what the memory says, without what stands around it in the line.
    """

    memory_id: str
    turn_id: str | None
    date: str
    line: str
    memory: str = ""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A memory that is shown, and what it costs.

    What stands in the profile is shown whatever is asked, so that showing it does not count as a use.
    """

    id: str
    layer: str
    tokens: int
    score: float | None = None
    counts: bool = True


@dataclass(frozen=True, slots=True)
class Dropped:
    """A memory that was considered and is not shown, and why."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """The account of one block. It names memories by their ids and never holds their text.

    ``query`` is what was asked, with secrets masked. ``ms`` says how long each step took. ``degraded`` says which part
    of a search could not be used, and why.
    """

    id: str
    created_at: Instant
    query: str
    gate: GateDecision
    budget: int
    tokens: int
    considered: int
    user_id: str | None = None
    agent_id: str | None = None
    run_id: str | None = None
    chosen: tuple[Chosen, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    ms: Mapping[str, float] = field(default_factory=dict)
    degraded: tuple[Mapping[str, Any], ...] = ()
    used: tuple[str, ...] | None = None
    """The memories that the answer took something from; None as long as no answer is known."""

    def as_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {
            **self._as_dict(),
            "chosen": tuple(map(_as_flat_dict, self.chosen)),
            "dropped": tuple(map(_as_flat_dict, self.dropped)),
        }

    def as_stored(self) -> dict[str, Any]:
        """The same in less room: names stand nowhere twice, and most of what is dropped is dropped for one reason."""
        runs = groupby(self.dropped, key=attrgetter("reason"))
        return {
            **self._as_dict(),
            "chosen": list(map(_CHOSEN, self.chosen)),
            "dropped": [[reason, [one.id for one in some]] for reason, some in runs],
        }

    def _as_dict(self) -> dict[str, Any]:
        held = {name: getattr(self, name) for name in _RECEIPT}
        return {
            **held,
            "gate": asdict(self.gate),
            "ms": dict(self.ms),
            "degraded": tuple(map(deepcopy, self.degraded)),
        }

    @classmethod
    def from_dict(cls, body: Mapping[str, Any]) -> Receipt:
        """What ``as_dict`` or ``as_stored`` gave, also after a way through JSON."""
        inner = {
            "gate": GateDecision(**{**body["gate"], "route": Route(body["gate"]["route"])}),
            "chosen": tuple(Chosen(**one) if isinstance(one, Mapping) else Chosen(*one) for one in body["chosen"]),
            "dropped": tuple(one for run in body["dropped"] for one in _expand_dropped(run)),
            "degraded": tuple(body["degraded"]),
            "used": tuple(body["used"]) if body.get("used") is not None else None,
        }
        return cls(**{**body, **inner})


@dataclass(frozen=True, slots=True)
class ContextPack:
    """What to put into a prompt.

    ``text`` is everything in one block. ``stable`` and ``volatile`` are the same in two: the first stays the same,
    byte for byte, until what it is made of changes, so that prompt caches keep it; the second belongs to this query
    and this day. All three are empty when there is nothing to say. ``receipt_id`` is '' when no receipt could be kept.
    """

    text: str = ""
    stable: str = ""
    volatile: str = ""
    sections: tuple[Section, ...] = ()
    citations: tuple[Citation, ...] = ()
    tokens: int = 0
    budget: int = 0
    gate: GateDecision = NO_GATE
    receipt_id: str = ""
    degraded: tuple[Mapping[str, Any], ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether there is nothing to put into a prompt."""
        return not self.text

    def __bool__(self) -> bool:
        return bool(self.text)

    def as_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        held = {name: getattr(self, name) for name in _PACK}
        return {
            **held,
            "sections": tuple(map(_as_flat_dict, self.sections)),
            "citations": tuple(map(_as_flat_dict, self.citations)),
            "gate": asdict(self.gate),
            "degraded": tuple(map(deepcopy, self.degraded)),
            "empty": self.empty,
        }


_RECEIPT: Final = tuple(one.name for one in fields(Receipt))
_CHOSEN: Final = attrgetter(*(one.name for one in fields(Chosen)))
_PACK: Final = tuple(one.name for one in fields(ContextPack))


def _expand_dropped(run: Mapping[str, str] | Sequence[Any]) -> Iterable[Dropped]:
    """One that was dropped, or a reason and the ids of all that were dropped for it."""
    if isinstance(run, Mapping):
        return (Dropped(**run),)
    reason, ids = run
    return (Dropped(one, reason) for one in ids)


def _as_flat_dict(one: Section | Citation | Chosen | Dropped) -> dict[str, Any]:
    """A flat part as a dictionary; ``asdict`` copies whatever it finds, which takes longer than all the rest."""
    return {name: getattr(one, name) for name in one.__slots__}


@dataclass(frozen=True, slots=True)
class Due:
    """Something to do, or a date, on a day; ``id`` is the memory that tells it."""

    id: str
    text: str
    day: date
