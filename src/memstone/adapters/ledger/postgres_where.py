"""Filters in PostgreSQL's words. Metadata is JSON text, and numbers are compared as the reference evaluator does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from memstone.adapters.ledger.where import (
    FALSE,
    JSON_WORDS,
    Dialect,
    Field,
    Sql,
    among,
    bound,
    chain,
    compile_where,
    has_part,
    is_number,
    joined,
    untrue,
)
from memstone.adapters.ledger.where_shapes import Shapes
from memstone.model.query import Where

_WHOLE: Final = 2.0**53
_LARGE: Final = 2.0**63


class PostgresDialect:
    """PostgreSQL, with the functions ``readable``, ``number_of`` and ``folded`` of the schema."""

    def contains(self, text: str) -> str:
        """``strpos``, because LIKE reads % and _ as wildcards."""
        return f"strpos({text}, ?) > 0"

    def folded(self, text: str) -> str:
        """By our own function: not every server knows full case folding."""
        return f"memstone.folded({text})"

    def metadata(self, key: str, column: str = "metadata") -> Field:
        """JSON as it was written: ``jsonb`` would turn 1e16 into a whole number."""
        return _JsonKey(key, self, column)


def _compiled(where: Where) -> tuple[str, list[Any]]:
    return compile_where(where, PostgresDialect())


compiled: Final = Shapes(_compiled)
"""A boolean expression in brackets, and its parameters in order."""


@dataclass(frozen=True, slots=True)
class _JsonKey:
    key: str
    dialect: Dialect
    column: str

    def present(self) -> Sql:
        return self._some(Sql("json_typeof(e.v) <> 'null'"))

    def absent(self) -> Sql:
        return untrue(self.present())

    def one_of(self, values: Sequence[object]) -> Sql:
        return self._some(_equal("e.v", values))

    def ordered(self, sign: str, value: object) -> Sql:
        if isinstance(value, str):
            return self._some(Sql(f"json_typeof(e.v) = 'string' AND {_text('e.v')} {sign} ?", (value,)))
        if is_number(value):
            # CASE keeps the conversion from being tried on anything but a number.
            test = f"CASE json_typeof(e.v) WHEN 'number' THEN {_number('e.v')} {sign} ? END"
            return self._some(Sql(test, (_operand(value),)))
        return FALSE

    def has(self, value: object, *, folded: bool) -> Sql:
        """CASE makes sure that only a list is taken apart as one, and only text is searched."""
        part = has_part(self.dialect, _text("e.v"), value, folded=folded) if isinstance(value, str) else FALSE
        equal = _equal("i.v", [value], self.dialect if folded else None)
        members = f"SELECT 1 FROM json_array_elements(e.v) AS i (v) WHERE {equal.text}"
        text = f"CASE json_typeof(e.v) WHEN 'string' THEN {part.text} WHEN 'array' THEN EXISTS ({members}) END"
        return self._some(Sql(text, (*part.params, *equal.params)))

    def _some(self, test: Sql) -> Sql:
        # OFFSET keeps the planner from taking the metadata apart once for each mention of the value.
        entry = f"SELECT memstone.readable(m.{self.column}) -> ?::text AS v OFFSET 0"
        return Sql(f"EXISTS (SELECT 1 FROM ({entry}) e WHERE {test.text})", (self.key, *test.params))


def _text(value: str) -> str:
    return f"""({value} #>> '{{}}') COLLATE "C\""""


def _number(value: str) -> str:
    return f"memstone.number_of({value} #>> '{{}}')"


def _equal(value: str, wanted: Sequence[object], folding: Dialect | None = None) -> Sql:
    """A test that a JSON value equals one of those wanted, type by type."""
    kind = f"json_typeof({value})"
    tests = [_is_word(kind, value, each, word) for each, word in JSON_WORDS if any(each is one for one in wanted)]
    texts = [each for each in wanted if isinstance(each, str)]
    numbers = [bound(_operand(each)) for each in wanted if is_number(each)]
    if texts:
        read = folding.folded(_text(value)) if folding else _text(value)
        given = [bound(each.casefold() if folding else each) for each in texts]
        tests.append(chain("AND", [Sql(f"{kind} = 'string'"), among(read, given)]))
    if numbers:
        number = among(_number(value), numbers)
        tests.append(Sql(f"CASE {kind} WHEN 'number' THEN {number.text} END", number.params))
    return joined("OR", tests)


def _is_word(kind: str, value: str, wanted: object, word: str) -> Sql:
    """``null``, ``true`` and ``false``; PostgreSQL calls the last two by one type."""
    return Sql(f"{kind} = 'null'" if wanted is None else f"{kind} = 'boolean' AND {value} #>> '{{}}' = '{word}'")


def _operand(value: float) -> int | Decimal:
    """A number as ``number_of`` gives it."""
    if isinstance(value, int):
        return value
    if -_LARGE <= value < _LARGE and abs(value) >= _WHOLE:
        return int(value)
    return Decimal(repr(float(value)))
