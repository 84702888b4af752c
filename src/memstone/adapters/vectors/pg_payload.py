"""Filters in SQL over a payload of JSON.

A field of the tree is a key of the payload. Values are always bound; ``icontains`` is refused, because a server folds
case by rules of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from memstone.errors import InvalidFilter, Unsupported
from memstone.model.match import INT64, UNSET_WHEN_EMPTY
from memstone.model.query import DATA, FIELDS, METADATA, And, Condition, Not, Op, Or, Where

_SIGNS: Final = {Op.GT: ">", Op.GTE: ">=", Op.LT: "<", Op.LTE: "<="}
_NEGATIONS: Final = {Op.NE: Op.EQ, Op.NIN: Op.IN}


@dataclass(frozen=True, slots=True)
class Test:
    """A piece of a statement with ``?`` for its bound values."""

    text: str
    params: tuple[Any, ...] = ()


def compiled(where: Where | None) -> Test:
    """A test of a row's ``payload`` that is true or false, never NULL."""
    if where is None:
        return Test("TRUE")
    if isinstance(where, Not):
        test = compiled(where.part)
        return Test(f"NOT ({test.text})", test.params)
    if isinstance(where, Condition):
        return _leaf(where)
    return _joined("AND" if isinstance(where, And) else "OR", map(compiled, where.parts), empty=isinstance(where, And))


def _joined(word: str, tests: Iterable[Test], *, empty: bool) -> Test:
    parts = list(tests)
    if not parts:
        return Test(str(empty))
    text = f" {word} ".join(f"({part.text})" for part in parts)
    return Test(text, tuple(param for part in parts for param in part.params))


def _leaf(condition: Condition) -> Test:
    field, op, value = condition.field, condition.op, condition.value
    if field not in FIELDS and not field.startswith((METADATA, DATA)):
        raise InvalidFilter(f"{field!r} names no field")
    if op in _NEGATIONS:
        return compiled(Not(Condition(field, _NEGATIONS[op], value)))
    if op is Op.IN:
        return (
            compiled(Or(tuple(Condition(field, Op.EQ, each) for each in value if each is None)))
            if not value
            else (_among(field, tuple(value)))
        )
    if op is Op.EXISTS:
        return _present(field) if value else compiled(Not(Condition(field, Op.EXISTS, value=True)))
    if op is Op.EQ:
        return _among(field, (value,))
    return _part(field, op, value)


def _present(field: str) -> Test:
    empty = " AND payload -> ? <> '\"\"'" if field in UNSET_WHEN_EMPTY else ""
    text = f"coalesce(jsonb_typeof(payload -> ?) <> 'null'{empty}, FALSE)"
    return Test(text, (field, field) if empty else (field,))


def _among(field: str, values: tuple[Any, ...]) -> Test:
    """It equals one of the values: ``jsonb`` compares types and numbers as the reference evaluator does."""
    absent = [each for each in values if each is None]
    wanted = [_json(each) for each in values if each is not None and _comparable(field, each)]
    tests = [Test("coalesce(payload -> ? = ANY (?::jsonb[]), FALSE)", (field, wanted))] if wanted else []
    if absent:
        tests.append(compiled(Condition(field, Op.EXISTS, value=False)))
    return _joined("OR", tests, empty=False)


def _comparable(field: str, value: object) -> bool:
    return isinstance(value, (bool, int, float, str)) and not (field in UNSET_WHEN_EMPTY and value == "")


def _part(field: str, op: Op, value: Any) -> Test:
    if op in _SIGNS:
        return _ordered(field, _SIGNS[op], value)
    if op is not Op.CONTAINS:
        raise Unsupported(f"a pgvector store cannot do {op}", hint="use contains, or filter by the memory itself")
    members = (
        "CASE jsonb_typeof(payload -> ?) WHEN 'array' THEN payload -> ? @> ?::jsonb",
        (field, field, _json(value)),
    )
    if not isinstance(value, str):
        return Test(f"coalesce({members[0]} END, FALSE)", members[1])
    text = f"coalesce({members[0]} WHEN 'string' THEN strpos(payload ->> ?, ?) > 0 END, FALSE)"
    return Test(text, (*members[1], field, value))


def _ordered(field: str, sign: str, value: Any) -> Test:
    """CASE keeps the conversion from being tried on anything but a number."""
    if isinstance(value, str):
        unset = "nullif(payload ->> ?, '')" if field in UNSET_WHEN_EMPTY else "payload ->> ?"
        text = f"CASE jsonb_typeof(payload -> ?) WHEN 'string' THEN ({unset}) COLLATE \"C\" {sign} ? END"
        return Test(f"coalesce({text}, FALSE)", (field, field, value))
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return Test("FALSE")
    text = f"CASE jsonb_typeof(payload -> ?) WHEN 'number' THEN (payload ->> ?)::numeric {sign} ? END"
    return Test(f"coalesce({text}, FALSE)", (field, field, Decimal(repr(_number(value)))))


def _number(value: float) -> int | float:
    """Beyond 64 bits a whole number is compared as a float."""
    return float(value) if isinstance(value, int) and value not in INT64 else value


def _json(value: object) -> str:
    return json.dumps(_number(value) if isinstance(value, int) and not isinstance(value, bool) else value)
