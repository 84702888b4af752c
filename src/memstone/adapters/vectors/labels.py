"""Filters for stores with labels only: each field of a payload becomes a text.

Stores differ in what equal means: whether 7 equals 7.0, whether "b" equals a list with "b" in it, whether a field that
is null is there. A label has one meaning in all of them. Numbers can also be compared, where a store does that.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from memstone.errors import InvalidFilter, Unsupported
from memstone.model.query import DATA, FIELDS, INT64, METADATA, UNSET_WHEN_EMPTY, And, Condition, Not, Op, Where

LABEL_OPERATORS: Final = frozenset({Op.EQ, Op.NE, Op.IN, Op.NIN, Op.EXISTS})
"""What labels alone can answer."""

COMPARISONS: Final = frozenset({Op.GT, Op.GTE, Op.LT, Op.LTE})
_OPPOSITES: Final = {Op.GT: Op.LTE, Op.GTE: Op.LT, Op.LT: Op.GTE, Op.LTE: Op.GT}
_NEGATIONS: Final = {Op.NE: Op.EQ, Op.NIN: Op.IN}
_LONGEST: Final = 200
"""A longer label is replaced by its digest: stores limit what they index."""

Clause: TypeAlias = Any
"""A filter in the terms of a store; True and False where nothing has to be asked."""


def labels_of(payload: Mapping[str, Any]) -> list[str]:
    """Return every label of a payload, each once, in order."""
    found: set[str] = set()
    for field, value in payload.items():
        if value is None or (field in UNSET_WHEN_EMPTY and value == ""):
            continue
        found.add(_presence_label(field))
        if is_number(value):
            found.add(_number_label(field))
        if isinstance(value, (bool, int, float, str)):
            found.add(_value_label(field, value))
    return sorted(found)


def numbers_of(payload: Mapping[str, Any]) -> dict[str, int | float]:
    """Return the fields of a payload that can be compared by size."""
    return {field: value for field, value in payload.items() if is_number(value)}


def is_number(value: object) -> bool:
    """Return whether it is a number; a flag is none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def check_operators(where: Where | None, operators: frozenset[Op], store: str) -> None:
    """Raise if a filter asks for a field that there is not, or for what the store cannot do."""
    if where is None:
        return
    if isinstance(where, Not):
        check_operators(where.part, operators, store)
    elif isinstance(where, Condition):
        _check_condition(where, operators, store)
    else:
        for part in where.parts:
            check_operators(part, operators, store)


def _check_condition(condition: Condition, operators: frozenset[Op], store: str) -> None:
    if condition.field not in FIELDS and not condition.field.startswith((METADATA, DATA)):
        raise InvalidFilter(f"{condition.field!r} is not a field")
    if condition.op not in operators or (condition.op in COMPARISONS and not is_number(condition.value)):
        raise Unsupported(
            f"a {store} store does not support {condition.op} with {type(condition.value).__name__}",
            hint="filter by a field of the memory, which the ledger does",
        )


class LabelFilter:
    """Translates filters; a subclass says how a store writes them.

    Negations are moved down to the labels, because some stores negate nothing else.
    """

    def translate(self, where: Where | None) -> Clause:
        """Return a filter in the terms of the store, or True or False."""
        return True if where is None else self._translate(where, negated=False)

    def has_any(self, labels: Sequence[str], *, negated: bool) -> Clause:
        """Test that a point has one of these labels, or has none of them."""
        raise NotImplementedError

    def compare(self, field: str, op: Op, value: float) -> Clause:
        """Test that a point has a number in this field that compares so; only for stores that say so."""
        raise NotImplementedError

    def join(self, clauses: Sequence[Clause], *, every: bool) -> Clause:
        """Test that every clause holds, or some; there are at least two."""
        raise NotImplementedError

    def _translate(self, where: Where, *, negated: bool) -> Clause:
        if isinstance(where, Not):
            return self._translate(where.part, negated=not negated)
        if isinstance(where, Condition):
            return self._condition(where, negated=negated)
        every = isinstance(where, And) is not negated
        return self._join([self._translate(part, negated=negated) for part in where.parts], every=every)

    def _join(self, clauses: Sequence[Clause], *, every: bool) -> Clause:
        """Leave out what changes nothing, and say at once what decides."""
        if any(clause is not every for clause in clauses if isinstance(clause, bool)):
            return not every
        rest = [clause for clause in clauses if not isinstance(clause, bool)]
        if not rest:
            return every
        return rest[0] if len(rest) == 1 else self.join(rest, every=every)

    def _condition(self, condition: Condition, *, negated: bool) -> Clause:
        field, op, value = condition.field, condition.op, condition.value
        if op in _NEGATIONS:
            return self._condition(Condition(field, _NEGATIONS[op], value), negated=not negated)
        if op is Op.EXISTS:
            return self.has_any([_presence_label(field)], negated=negated is bool(value))
        if op in COMPARISONS:
            return self._comparison(field, op, value, negated=negated)
        return self._equality(field, tuple(value) if op is Op.IN else (value,), negated=negated)

    def _equality(self, field: str, values: tuple[Any, ...], *, negated: bool) -> Clause:
        labels = sorted({_value_label(field, each) for each in values if isinstance(each, (bool, int, float, str))})
        clauses: list[Clause] = [self.has_any(labels, negated=negated)] if labels else []
        if any(each is None for each in values):
            clauses.append(self.has_any([_presence_label(field)], negated=not negated))
        return self._join(clauses, every=negated)

    def _comparison(self, field: str, op: Op, value: float, *, negated: bool) -> Clause:
        """Return the opposite of a comparison also holds for what is no number."""
        if not negated:
            return self.compare(field, op, value)
        opposite = self.compare(field, _OPPOSITES[op], value)
        return self._join([self.has_any([_number_label(field)], negated=True), opposite], every=False)


def _presence_label(field: str) -> str:
    return _shorten(f"{field}?")


def _number_label(field: str) -> str:
    return _shorten(f"{field}#")


def _value_label(field: str, value: object) -> str:
    if isinstance(value, bool):
        return _shorten(f"{field}=b:{value}")
    if isinstance(value, str):
        return _shorten(f"{field}=s:{value}")
    return _shorten(f"{field}=n:{_write_number(value)}")


def _write_number(value: Any) -> str:
    """Write equal numbers as one text: a whole one is written as such, whatever its type."""
    whole = isinstance(value, int) or value == int(value) if value == value and abs(value) < INT64.stop else False  # noqa: PLR0124 - NaN differs from itself
    if whole:
        return str(int(value))
    try:
        return repr(float(value))
    except OverflowError:
        return "inf" if value > 0 else "-inf"


def _shorten(label: str) -> str:
    if len(label) <= _LONGEST // 4:  # no character has more than four bytes
        return label
    encoded = label.encode("utf-8", "surrogatepass")
    return label if len(encoded) <= _LONGEST else f"sha256:{hashlib.sha256(encoded).hexdigest()}"
