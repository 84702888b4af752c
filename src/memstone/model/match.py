"""The reference evaluator: what a tree of conditions means, in plain Python.

Every translation of the tree (SQL, vector stores) must select exactly what this selects; the meaning in words
stands in ``memstone.core.checks.filters``. It is part of the model, so that a vector store in this process can use it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias, TypeGuard

from memstone.errors import InvalidFilter
from memstone.model.query import DATA, FIELDS, METADATA, And, Condition, Op, Or, Where

Lookup: TypeAlias = Callable[[str], object]
"""The value of a field by its name in the tree; ``None`` for what is absent."""

UNSET_WHEN_EMPTY: Final = frozenset({"tenant_id", "user_id", "agent_id", "run_id"})
Test: TypeAlias = Callable[[Any, Any], bool]
INT64: Final = range(-(2**63), 2**63)


def matches(where: Where, fields: Lookup | Mapping[str, Any]) -> bool:
    """Whether something with these fields meets the conditions."""
    lookup = fields.get if isinstance(fields, Mapping) else fields
    return _holds(where, lookup)


def _holds(where: Where, lookup: Lookup) -> bool:
    if isinstance(where, And):
        return all(_holds(part, lookup) for part in where.parts)
    if isinstance(where, Or):
        return any(_holds(part, lookup) for part in where.parts)
    if isinstance(where, Condition):
        return TESTS[where.op](_stored(where.field, lookup), where.value)
    return not _holds(where.part, lookup)


def _stored(field: str, lookup: Lookup) -> object:
    if field not in FIELDS and not field.startswith((METADATA, DATA)):
        raise InvalidFilter(f"{field!r} names no field")
    value = lookup(field)
    return None if field in UNSET_WHEN_EMPTY and value == "" else value


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _number(value: float) -> int | float:
    """A number as databases hold it: beyond 64 bits a whole number becomes a float."""
    if not isinstance(value, int) or value in INT64:
        return value
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _equal(stored: object, value: object) -> bool:
    if _is_number(stored) and _is_number(value):
        return _number(stored) == _number(value)
    for kind in (bool, str, type(None)):
        if isinstance(stored, kind):
            return isinstance(value, kind) and stored == value
    return False


def _one_of(stored: object, values: Iterable[object]) -> bool:
    return any(_equal(stored, value) for value in values)


def _ordered(compare: Test) -> Test:
    def test(stored: object, value: object) -> bool:
        if _is_number(stored) and _is_number(value):
            return compare(_number(stored), _number(value))
        return isinstance(stored, str) and isinstance(value, str) and compare(stored, value)

    return test


def _contains(stored: object, value: object) -> bool:
    if isinstance(stored, str):
        return isinstance(value, str) and value in stored
    return isinstance(stored, list) and any(_equal(member, value) for member in stored)


def _contains_folded(stored: object, value: object) -> bool:
    folded = [_folded(member) for member in stored] if isinstance(stored, list) else _folded(stored)
    return _contains(folded, _folded(value))


def _folded(value: object) -> object:
    return value.casefold() if isinstance(value, str) else value


def _negated(test: Test) -> Test:
    return lambda stored, value: not test(stored, value)


TESTS: Final[dict[Op, Test]] = {
    Op.EQ: _equal,
    Op.NE: _negated(_equal),
    Op.IN: _one_of,
    Op.NIN: _negated(_one_of),
    Op.GT: _ordered(operator.gt),
    Op.GTE: _ordered(operator.ge),
    Op.LT: _ordered(operator.lt),
    Op.LTE: _ordered(operator.le),
    Op.CONTAINS: _contains,
    Op.ICONTAINS: _contains_folded,
    Op.EXISTS: lambda stored, value: (stored is not None) == value,
}
