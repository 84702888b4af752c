"""Packs, citations and receipts: what a model is shown, and the record of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, fields
from datetime import date
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, cast

from memstone.model.context_gate import GateDecision, Route
from memstone.model.instant import Instant

if TYPE_CHECKING:
    from memstone.literals import LayerName
    from memstone.results import (
        BlockCitation,
        BlockSection,
        ContextBlock,
        ContextReceipt,
        Degradation,
        ReceiptChoice,
        ReceiptOmission,
    )

NO_GATE: Final = GateDecision(Route.NONE, "")


@dataclass(frozen=True, slots=True)
class ContextSection:
    """A section of a block: its name, its heading, and its lines."""

    name: str
    heading: str
    lines: tuple[str, ...]

    def as_dict(self) -> BlockSection:
        """Return it as JSON can hold it."""
        return {"name": self.name, "heading": self.heading, "lines": list(self.lines)}


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

    def as_dict(self) -> BlockCitation:
        """Return it as JSON can hold it."""
        return {
            "memory_id": self.memory_id,
            "turn_id": self.turn_id,
            "date": self.date,
            "line": self.line,
            "memory": self.memory,
        }


@dataclass(frozen=True, slots=True)
class SelectedMemory:
    """A memory that is shown, and what it costs.

    What is in the profile is shown whatever is asked, so that showing it does not count as a use.
    """

    id: str
    layer: str
    tokens: int
    score: float | None = None
    counts: bool = True

    def as_dict(self) -> ReceiptChoice:
        """Return it as JSON can hold it."""
        layer = cast("LayerName", str(self.layer))
        return {"id": self.id, "layer": layer, "tokens": self.tokens, "score": self.score, "counts": self.counts}


@dataclass(frozen=True, slots=True)
class OmittedMemory:
    """A memory that was considered and is not shown, and why."""

    id: str
    reason: str

    def as_dict(self) -> ReceiptOmission:
        """Return it as JSON can hold it."""
        return {"id": self.id, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class Receipt:
    """The record of one block. It names memories by id and never contains their text.

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
    chosen: tuple[SelectedMemory, ...] = ()
    dropped: tuple[OmittedMemory, ...] = ()
    ms: Mapping[str, float] = field(default_factory=dict)
    degraded: tuple[Degradation, ...] = ()
    used: tuple[str, ...] | None = None
    """The memories that the answer took something from; None as long as no answer is known."""

    def as_dict(self) -> ContextReceipt:
        """Return it as JSON can hold it."""
        return {
            "id": self.id,
            "created_at": self.created_at,
            "query": self.query,
            "gate": self.gate.as_dict(),
            "budget": self.budget,
            "tokens": self.tokens,
            "considered": self.considered,
            "user_id": self.user_id,
            "agent_id": self.agent_id,
            "run_id": self.run_id,
            "chosen": [one.as_dict() for one in self.chosen],
            "dropped": [one.as_dict() for one in self.dropped],
            "ms": dict(self.ms),
            "degraded": [deepcopy(one) for one in self.degraded],
            "used": None if self.used is None else list(self.used),
        }

    def as_stored(self) -> dict[str, Any]:
        """Return the same in less room.

        Names stand nowhere twice, and most of what is dropped is dropped for one reason.
        """
        runs = groupby(self.dropped, key=attrgetter("reason"))
        return {
            **{name: getattr(self, name) for name in _RECEIPT},
            "gate": self.gate.as_dict(),
            "ms": dict(self.ms),
            "degraded": list(map(deepcopy, self.degraded)),
            "chosen": list(map(_CHOSEN, self.chosen)),
            "dropped": [[reason, [one.id for one in some]] for reason, some in runs],
        }

    @classmethod
    def from_dict(cls, body: Mapping[str, Any]) -> Receipt:
        """Return what ``as_dict`` or ``as_stored`` gave, also after a way through JSON."""
        inner = {
            "gate": GateDecision(**{**body["gate"], "route": Route(body["gate"]["route"])}),
            "chosen": tuple(
                SelectedMemory(**one) if isinstance(one, Mapping) else SelectedMemory(*one) for one in body["chosen"]
            ),
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
    sections: tuple[ContextSection, ...] = ()
    citations: tuple[Citation, ...] = ()
    tokens: int = 0
    budget: int = 0
    gate: GateDecision = NO_GATE
    receipt_id: str = ""
    degraded: tuple[Degradation, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether there is nothing to put into a prompt."""
        return not self.text

    def __bool__(self) -> bool:
        return bool(self.text)

    def as_dict(self) -> ContextBlock:
        """Return it as JSON can hold it."""
        return {
            "text": self.text,
            "stable": self.stable,
            "volatile": self.volatile,
            "tokens": self.tokens,
            "budget": self.budget,
            "empty": self.empty,
            "receipt_id": self.receipt_id,
            "sections": [one.as_dict() for one in self.sections],
            "citations": [one.as_dict() for one in self.citations],
            "gate": self.gate.as_dict(),
            "degraded": [deepcopy(one) for one in self.degraded],
            "warnings": list(self.warnings),
        }


_RECEIPT: Final = tuple(one.name for one in fields(Receipt))
_CHOSEN: Final = attrgetter(*(one.name for one in fields(SelectedMemory)))


def _expand_dropped(run: Mapping[str, str] | Sequence[Any]) -> Iterable[OmittedMemory]:
    """Yield each that was dropped, from it alone or from a reason and the ids of all that were dropped for it."""
    if isinstance(run, Mapping):
        return (OmittedMemory(**run),)
    reason, ids = run
    return (OmittedMemory(one, reason) for one in ids)


@dataclass(frozen=True, slots=True)
class Due:
    """A task or a date on a day; ``id`` is the memory that states it."""

    id: str
    text: str
    day: date
