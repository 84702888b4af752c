"""The typed tree of conditions, and queries and their results.

The tree is the one language for visibility, scope and caller filters: SQL, the reference evaluator
and every vector store translate the same nodes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Literal, TypeAlias, TypeGuard

from memstone.errors import InvalidFilter
from memstone.model.scope import Scope

# --- conditions on memories as a typed tree, and what a search is asked and answers -----------------------------------


class Op(StrEnum):
    """The operators of conditions. ``exists`` takes a bool: whether the field is present and not null."""

    EQ = "eq"
    NE = "ne"
    GT = "gt"
    GTE = "gte"
    LT = "lt"
    LTE = "lte"
    IN = "in"
    NIN = "nin"
    CONTAINS = "contains"
    ICONTAINS = "icontains"
    EXISTS = "exists"


@dataclass(frozen=True, slots=True)
class Condition:
    """``field`` is a name of ``FIELDS``, ``metadata.<key>`` (everything after the dot is the key) or ``data.<key>``."""

    field: str
    op: Op
    value: Any


@dataclass(frozen=True, slots=True)
class And:
    """All parts hold; true when there are none."""

    parts: tuple[Where, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """True if any part is true; false if there are none."""

    parts: tuple[Where, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The part does not hold. Logic is two-valued: an absent field makes a comparison false."""

    part: Where


Where: TypeAlias = Condition | And | Or | Not

METADATA: Final = "metadata."
DATA: Final = "data."
"""What Memstone itself notes about a memory; of it only the category and the speaker can be asked for."""

FieldType: TypeAlias = Literal["text", "number", "instant"]

RECORD_FIELDS: Final[dict[str, FieldType]] = {
    "id": "text",
    "seq": "number",
    "version": "number",
    "text": "text",
    "hash": "text",
    "key": "text",
    "layer": "text",
    "kind": "text",
    "status": "text",
    "origin": "text",
    "trust": "number",
    "source": "text",
    "source_role": "text",
    "model": "text",
    "origin_id": "text",
    "salience": "number",
    "tokens": "number",
    "occurred_at": "instant",
    "created_at": "instant",
    "updated_at": "instant",
    "expires_at": "instant",
    "valid_from": "instant",
    "valid_to": "instant",
}
"""Fields of the memory itself."""

LINK_FIELDS: Final[dict[str, FieldType]] = {
    "tenant_id": "text",
    "user_id": "text",
    "agent_id": "text",
    "run_id": "text",
    "link_origin": "text",
    "use_count": "number",
    "last_used_at": "instant",
}
"""Fields of the link through which it is seen. '' in an id field counts as absent; ``link_origin`` is its origin."""

FIELDS: Final[dict[str, FieldType]] = {**RECORD_FIELDS, **LINK_FIELDS}


@dataclass(frozen=True, slots=True)
class TextQuery:
    """A full-text question: any of ``words``, within rows that carry all ``scope`` tokens.

    ``owner`` is the scope those tokens are of, for a store that finds its rows by another way.
    """

    words: Sequence[str]
    scope: Sequence[str]
    owner: Scope | None = None


@dataclass(frozen=True, slots=True)
class WordsQuery:
    """What the text channel is asked: any of the analysed ``words``, within a scope; the rest as in ``VectorQuery``.

    ``named`` holds the analysed words of the speaker the question names, when it names exactly one. With ``alone`` only
    the words of a memory itself count, not those said beside it. ``assistant`` is the analysed name under which an
    assistant speaks.
    """

    words: Sequence[str]
    limit: int
    scope: Scope
    layers: tuple[str, ...] = ()
    among: frozenset[int] | None = None
    also: tuple[int, ...] = ()
    named: str = ""
    alone: bool = False
    assistant: str = ""


@dataclass(frozen=True, slots=True)
class VectorQuery:
    """A nearest-neighbour question over one signature.

    ``layers`` empty means any. ``among`` limits the search to these memories; ``also`` asks for the
    similarity of memories another channel found, whatever their rank.
    """

    signature: str
    vector: Any
    limit: int
    scope: Scope
    layers: tuple[str, ...] = ()
    among: frozenset[int] | None = None
    also: tuple[int, ...] = ()
    spoken: Any = None
    """The same question as a speaker would put it, for what is held in the speaker's own words."""


ALIKE: Final = 0.2
ALIKE_WORDS: Final = 0.3
"""How near in meaning something must be that shares no word with a query: as a whole, and word by word.

Measured with the built-in embedder on what answers a question without sharing a word: 97 in 100 are as near. To one
rare word that nobody said most of what somebody said is not.
"""


@dataclass(slots=True)
class ScoreParts:
    """What a score is made of; ``None`` where a channel had nothing to say."""

    semantic: float | None = None
    keyword: float | None = None
    words: float | None = None
    speaker: float | None = None
    asking: float | None = None
    entity: float | None = None
    time: float | None = None
    rrf: float | None = None
    salience: float | None = None
    decay: float | None = None
    rerank: float | None = None

    @property
    def is_alike(self) -> bool:
        """Whether it shares a word, a name or a day with the query, or is near enough to it in meaning."""
        near = (self.semantic or 0.0) >= ALIKE and (self.words is None or self.words >= ALIKE_WORDS)
        return near or bool(self.keyword or self.entity or self.time)


# --- the reference evaluator ------------------------------------------------------------------------------------------


Lookup: TypeAlias = Callable[[str], object]
"""The value of a field by its name in the tree; ``None`` for what is absent."""

UNSET_WHEN_EMPTY: Final = frozenset({"tenant_id", "user_id", "agent_id", "run_id"})
Test: TypeAlias = Callable[[Any, Any], bool]
INT64: Final = range(-(2**63), 2**63)


def is_match(where: Where, fields: Lookup | Mapping[str, Any]) -> bool:
    """Return whether something with these fields meets the conditions."""
    lookup = fields.get if isinstance(fields, Mapping) else fields
    return _is_satisfied(where, lookup)


def _is_satisfied(where: Where, lookup: Lookup) -> bool:
    if isinstance(where, And):
        return all(_is_satisfied(part, lookup) for part in where.parts)
    if isinstance(where, Or):
        return any(_is_satisfied(part, lookup) for part in where.parts)
    if isinstance(where, Condition):
        return TESTS[where.op](_stored_value(where.field, lookup), where.value)
    return not _is_satisfied(where.part, lookup)


def _stored_value(field: str, lookup: Lookup) -> object:
    if field not in FIELDS and not field.startswith((METADATA, DATA)):
        raise InvalidFilter(f"{field!r} is not a field")
    value = lookup(field)
    return None if field in UNSET_WHEN_EMPTY and value == "" else value


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _to_database_number(value: float) -> int | float:
    """Return a number as databases hold it: beyond 64 bits a whole number becomes a float."""
    if not isinstance(value, int) or value in INT64:
        return value
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _is_equal(stored: object, value: object) -> bool:
    if _is_number(stored) and _is_number(value):
        return _to_database_number(stored) == _to_database_number(value)
    for kind in (bool, str, type(None)):
        if isinstance(stored, kind):
            return isinstance(value, kind) and stored == value
    return False


def _one_of(stored: object, values: Iterable[object]) -> bool:
    return any(_is_equal(stored, value) for value in values)


def _order_test(compare: Test) -> Test:
    def test(stored: object, value: object) -> bool:
        if _is_number(stored) and _is_number(value):
            return compare(_to_database_number(stored), _to_database_number(value))
        return isinstance(stored, str) and isinstance(value, str) and compare(stored, value)

    return test


def _contains(stored: object, value: object) -> bool:
    if isinstance(stored, str):
        return isinstance(value, str) and value in stored
    return isinstance(stored, list) and any(_is_equal(member, value) for member in stored)


def _contains_folded(stored: object, value: object) -> bool:
    folded = [_fold_case(member) for member in stored] if isinstance(stored, list) else _fold_case(stored)
    return _contains(folded, _fold_case(value))


def _fold_case(value: object) -> object:
    return value.casefold() if isinstance(value, str) else value


def _negate_test(test: Test) -> Test:
    return lambda stored, value: not test(stored, value)


TESTS: Final[dict[Op, Test]] = {
    Op.EQ: _is_equal,
    Op.NE: _negate_test(_is_equal),
    Op.IN: _one_of,
    Op.NIN: _negate_test(_one_of),
    Op.GT: _order_test(operator.gt),
    Op.GTE: _order_test(operator.ge),
    Op.LT: _order_test(operator.lt),
    Op.LTE: _order_test(operator.le),
    Op.CONTAINS: _contains,
    Op.ICONTAINS: _contains_folded,
    Op.EXISTS: lambda stored, value: (stored is not None) == value,
}


@dataclass(frozen=True, slots=True)
class SpeakerQuestion:
    """The speakers a question names, and the question in their words; '' when it names none."""

    named: tuple[str, ...] = ()
    text: str = ""
    put_in: frozenset[str] = frozenset()
    """The words that stand for them in it."""


NOBODY: Final = SpeakerQuestion()
