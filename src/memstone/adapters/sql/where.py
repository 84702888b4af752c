"""Translate a tree of conditions to SQL over ``m`` (memories) and ``l`` (links).

Values are always bound, never written into the statement; the names of columns come from the tables of fields, and a
metadata key is a bound value like any other.

NOT is pushed down to the leaves, so only AND and OR stand above them, and there NULL means the same as false. A leaf
may therefore be plain (``l.user_id = ?``) and use an index; a negated one says ``IS NOT TRUE``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias, TypeGuard

from memstone.errors import InvalidFilter
from memstone.model.query import DATA, FIELDS, METADATA, RECORD_FIELDS, And, Condition, Not, Op, Or, Where

# --- the tree of conditions as SQL over ``m`` (a row of memories) and ``l`` (the link through which -------------------


NEGATIONS: Final = {Op.NE: Op.EQ, Op.NIN: Op.IN}
SIGNS: Final = {Op.GT: ">", Op.GTE: ">=", Op.LT: "<", Op.LTE: "<="}
EMPTY_IS_ABSENT: Final = frozenset({"tenant_id", "user_id", "agent_id", "run_id"})
JSON_WORDS: Final = ((None, "null"), (True, "true"), (False, "false"))
CHAIN: Final = 30
_READABLE: Final = "iif(json_valid(m.{0}), m.{0}, '{{}}')"
"""One row whose metadata is damaged must not fail the filter for all others."""


@dataclass(frozen=True, slots=True)
class SqlFragment:
    """A piece of a statement with its bound values.

    ``stack`` is how much a parser must remember to read it, roughly: SQLite before 3.46 gives up at 100.
    """

    text: str
    params: tuple[Any, ...] = ()
    stack: int = 8


TRUE: Final = SqlFragment("1 = 1")
FALSE: Final = SqlFragment("1 = 0")


class Field(Protocol):
    """Tests of one field. Where the test does not hold, the result is false or NULL."""

    def present(self) -> SqlFragment:
        """Test that it is there and not null."""
        ...

    def absent(self) -> SqlFragment:
        """Test that it is not there, or null."""
        ...

    def one_of(self, values: Sequence[object]) -> SqlFragment:
        """Test that it equals one of the values, none of which is null."""
        ...

    def compare_order(self, sign: str, value: object) -> SqlFragment:
        """Test that it is of the same type and is in this order to the value."""
        ...

    def has(self, value: object, *, folded: bool) -> SqlFragment:
        """Test that it is text with the value in it, or a list with the value among its members."""
        ...


class SqlDialect(Protocol):
    """What databases write differently."""

    def contains(self, text: str) -> str:
        """Return a test that a text has the bound value in it, taken literally."""
        ...

    def fold_case(self, text: str) -> str:
        """Return a text without regard to case."""
        ...

    def metadata(self, key: str, column: str = "metadata") -> Field:
        """Return the tests of a metadata key, or of a key of another column that holds JSON."""
        ...


def compile_where(where: Where, dialect: SqlDialect | None = None) -> tuple[str, list[Any]]:
    """Return a boolean expression in brackets, and its parameters in order."""
    sql = _add_brackets(_Compiler(dialect or SqliteDialect()).tree(where, holds=True))
    return sql.text, list(sql.params)


@dataclass(frozen=True, slots=True)
class _Compiler:
    dialect: SqlDialect

    def tree(self, where: Where, *, holds: bool) -> SqlFragment:
        """Return a test that ``where`` holds, or that it does not."""
        if isinstance(where, Not):
            return self.tree(where.part, holds=not holds)
        if isinstance(where, Condition):
            return self.leaf(where, holds=holds)
        parts = [self.tree(part, holds=holds) for part in where.parts]
        return join_tests("AND" if isinstance(where, And) == holds else "OR", parts)

    def leaf(self, condition: Condition, *, holds: bool) -> SqlFragment:
        field, op, value = condition.field, condition.op, condition.value
        if op in NEGATIONS:
            return self.leaf(Condition(field, NEGATIONS[op], value), holds=not holds)
        if op is Op.EXISTS:
            return self.presence(field, holds=holds == value)
        if op is Op.EQ and value is None:
            return self.presence(field, holds=not holds)
        if op is Op.IN and None in value:
            others = tuple(each for each in value if each is not None)
            return self.tree(Or((Condition(field, op, others), Condition(field, Op.EQ, None))), holds=holds)
        test = self.test(field, op, value)
        return test if holds else negate_test(test)

    def presence(self, field: str, *, holds: bool) -> SqlFragment:
        tests = self.field(field)
        return tests.present() if holds else tests.absent()

    def test(self, name: str, op: Op, value: Any) -> SqlFragment:
        field = self.field(name)
        if op in SIGNS:
            return field.compare_order(SIGNS[op], value)
        if op in {Op.EQ, Op.IN}:
            return field.one_of((value,) if op is Op.EQ else value)
        return field.has(value, folded=op is Op.ICONTAINS)

    def field(self, name: str) -> Field:
        if name in FIELDS:
            return _Column(name, self.dialect)
        if name.startswith(METADATA):
            return self.dialect.metadata(name.removeprefix(METADATA))
        if name.startswith(DATA):
            return self.dialect.metadata(name.removeprefix(DATA), "data")
        raise InvalidFilter(f"{name!r} is not a field")


@dataclass(frozen=True, slots=True)
class _Column:
    """A column. A value of another type is not even compared, because databases would convert it."""

    name: str
    dialect: SqlDialect

    @property
    def sql(self) -> str:
        return f"m.{self.name}" if self.name in RECORD_FIELDS else f"l.{self.name.removeprefix('link_')}"

    @property
    def nullable(self) -> str:
        return f"nullif({self.sql}, '')" if self.name in EMPTY_IS_ABSENT else self.sql

    def present(self) -> SqlFragment:
        return SqlFragment(f"{self.sql} <> ''" if self.name in EMPTY_IS_ABSENT else f"{self.sql} IS NOT NULL")

    def absent(self) -> SqlFragment:
        return SqlFragment(f"{self.sql} = ''" if self.name in EMPTY_IS_ABSENT else f"{self.sql} IS NULL")

    def one_of(self, values: Sequence[object]) -> SqlFragment:
        absent = "" if self.name in EMPTY_IS_ABSENT else None
        fitting = tuple(value for value in values if self._fits(value) and value != absent)
        if len(fitting) <= 1:
            return equals_any(self.sql, [bind_value(value) for value in fitting])
        return SqlFragment(f"{self.sql} IN ({', '.join('?' * len(fitting))})", fitting)

    def compare_order(self, sign: str, value: object) -> SqlFragment:
        return SqlFragment(f"{self.nullable} {sign} ?", (value,)) if self._fits(value) else FALSE

    def has(self, value: object, *, folded: bool) -> SqlFragment:
        if FIELDS[self.name] == "number" or not isinstance(value, str):
            return FALSE
        return has_part(self.dialect, self.nullable, value, folded=folded)

    def _fits(self, value: object) -> bool:
        return is_number(value) if FIELDS[self.name] == "number" else isinstance(value, str)


def is_number(value: object) -> TypeGuard[int | float]:
    """Return whether it is a number; true and false are none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def equals_any(expression: str, values: Sequence[SqlFragment]) -> SqlFragment:
    """Return a test that an expression equals one of the values."""
    params = tuple(param for value in values for param in value.params)
    if not values:
        return FALSE
    if len(values) == 1:
        return SqlFragment(f"{expression} = {values[0].text}", params)
    return SqlFragment(f"{expression} IN ({', '.join(value.text for value in values)})", params)


def bind_value(value: object) -> SqlFragment:
    """Return a value, never written into the statement."""
    return SqlFragment("?", (value,))


def has_part(dialect: SqlDialect, text: str, value: str, *, folded: bool) -> SqlFragment:
    """Return a test that a text has the value in it."""
    if folded:
        return SqlFragment(dialect.contains(dialect.fold_case(text)), (value.casefold(),))
    return SqlFragment(dialect.contains(text), (value,))


def negate_test(sql: SqlFragment) -> SqlFragment:
    """Return a test that another one does not hold, or holds nothing to test."""
    return SqlFragment(f"({sql.text}) IS NOT TRUE", sql.params, sql.stack + 1)


def _add_brackets(sql: SqlFragment) -> SqlFragment:
    return SqlFragment(f"({sql.text})", sql.params, sql.stack + 1)


def join_tests(word: str, parts: Iterable[SqlFragment]) -> SqlFragment:
    """Join all parts with AND or OR between them.

    The deepest comes first, where a parser has the least to remember, and long chains are cut into groups, because
    databases also limit the height of an expression.
    """
    waiting = sorted((_add_brackets(part) for part in parts), key=lambda part: part.stack, reverse=True)
    if not waiting:
        return TRUE if word == "AND" else FALSE
    first, rest = waiting[0], waiting[1:]
    while len(rest) > CHAIN:
        rest = [_add_brackets(chain_tests(word, rest[start : start + CHAIN])) for start in range(0, len(rest), CHAIN)]
    return chain_tests(word, [first, *rest])


def chain_tests(word: str, parts: Sequence[SqlFragment]) -> SqlFragment:
    """Return the parts with a word between them, as they are."""
    return SqlFragment(
        f" {word} ".join(part.text for part in parts),
        tuple(param for part in parts for param in part.params),
        max(part.stack + (2 if position else 0) for position, part in enumerate(parts)),
    )


class SqliteDialect:
    """SQLite. Needs the function ``casefold``, which gives back unchanged what is not text."""

    def contains(self, text: str) -> str:
        """Test with ``instr``, because LIKE reads % and _ as wildcards and ignores the case of some letters."""
        return f"instr({text}, ?) > 0"

    def fold_case(self, text: str) -> str:
        """Return a function of ours; SQLite folds ASCII only."""
        return f"casefold({text})"

    def metadata(self, key: str, column: str = "metadata") -> Field:
        """Take JSON text apart by ``json_each``: it reports every key as it is, and the type of its value."""
        return _SqliteJsonKey(key, self, column)


@dataclass(frozen=True, slots=True)
class _SqliteJsonKey:
    key: str
    dialect: SqliteDialect
    column: str

    def present(self) -> SqlFragment:
        return self._some(SqlFragment("e.type <> 'null'"))

    def absent(self) -> SqlFragment:
        return negate_test(self.present())

    def one_of(self, values: Sequence[object]) -> SqlFragment:
        return self._some(_json_equal("e.type", "e.value", values))

    def compare_order(self, sign: str, value: object) -> SqlFragment:
        if isinstance(value, str):
            return self._some(SqlFragment(f"e.type = 'text' AND e.value {sign} ?", (value,)))
        if is_number(value):
            number = _json_number(value)
            return self._some(
                SqlFragment(f"e.type IN ('integer', 'real') AND e.value {sign} {number.text}", number.params)
            )
        return FALSE

    def has(self, value: object, *, folded: bool) -> SqlFragment:
        """Test within CASE, so that only a list is taken apart as one, and only text is searched."""
        part, member, wanted = FALSE, "i.value", value
        if isinstance(value, str):
            part = has_part(self.dialect, "e.value", value, folded=folded)
            member, wanted = (self.dialect.fold_case(member), value.casefold()) if folded else (member, wanted)
        equal = _json_equal("i.type", member, [wanted])
        members = f"SELECT 1 FROM json_each(e.value) AS i WHERE {equal.text}"
        text = f"CASE e.type WHEN 'text' THEN {part.text} WHEN 'array' THEN EXISTS ({members}) END"
        return self._some(SqlFragment(text, (*part.params, *equal.params), equal.stack + 15))

    def _some(self, test: SqlFragment) -> SqlFragment:
        readable = _READABLE.format(self.column)
        entries = f"SELECT 1 FROM json_each({readable}) AS e WHERE e.key = ? AND ({test.text})"
        return SqlFragment(f"EXISTS ({entries})", (self.key, *test.params), test.stack + 12)


def _json_equal(kind: str, value: str, wanted: Sequence[object]) -> SqlFragment:
    """Return a test that a JSON value equals one of those wanted, type by type."""
    tests = [SqlFragment(f"{kind} = '{word}'") for each, word in JSON_WORDS if any(each is other for other in wanted)]
    texts = [bind_value(each) for each in wanted if isinstance(each, str)]
    numbers = [_json_number(each) for each in wanted if is_number(each)]
    if texts:
        tests.append(chain_tests("AND", [SqlFragment(f"{kind} = 'text'"), equals_any(value, texts)]))
    if numbers:
        tests.append(chain_tests("AND", [SqlFragment(f"{kind} IN ('integer', 'real')"), equals_any(value, numbers)]))
    return join_tests("OR", tests)


def _json_number(value: float) -> SqlFragment:
    """Read a float by the same reader as the stored one, which in SQLite misses some by one bit."""
    if isinstance(value, float) and math.isfinite(value):
        return SqlFragment("json_extract(?, '$')", (repr(float(value)),))
    return bind_value(value)


# --- conditions of one shape as SQL, written once ---------------------------------------------------------------------


Compile: TypeAlias = Callable[[Where], tuple[str, list[Any]]]
Shape: TypeAlias = tuple[Any, ...]

_SHAPES: Final = 512
_LISTED: Final = 8
"""Longer lists of values are each a shape of their own, and hardly ever asked for again."""

_COMPARED: Final = frozenset({Op.EQ, Op.NE, Op.GT, Op.GTE, Op.LT, Op.LTE})
_AMONG: Final = frozenset({Op.IN, Op.NIN})


class Shapes:
    """A compiler that remembers. Safe to share between threads: each step is one atomic dictionary operation."""

    def __init__(self, compiled: Compile) -> None:
        self._compiled = compiled
        self._known: dict[Shape, tuple[str, list[int]] | None] = {}

    def __call__(self, where: Where) -> tuple[str, list[Any]]:
        """Return a boolean expression in brackets, and its parameters in order."""
        values: list[Any] = []
        shape = _where_shape(where, values)
        if shape is None:
            return self._compiled(where)
        known = self._known[shape] if shape in self._known else self._compile_shape(shape, where)
        if known is None:
            return self._compiled(where)
        return known[0], [values[at] for at in known[1]]

    def _compile_shape(self, shape: Shape, where: Where) -> tuple[str, list[int]] | None:
        """Return the text for a shape and where each value is in it; None where a value does not stand as it is."""
        text, params = self._compiled(_number_values(where, iter(range(1 << 30))))
        plain = all(isinstance(one, (_Text, _Number)) for one in params)
        if len(self._known) >= _SHAPES:
            self._known.clear()
        self._known[shape] = (text, [one.at for one in params]) if plain else None
        return self._known[shape]


def _where_shape(where: Where, values: list[Any]) -> Shape | None:
    """Return what the SQL depends on, or None where it depends on more; the values are collected in order."""
    if isinstance(where, Condition):
        return _condition_shape(where, values)
    if isinstance(where, Not):
        inner = _where_shape(where.part, values)
        return None if inner is None else (Not, inner)
    parts = [_where_shape(part, values) for part in where.parts]
    return None if None in parts else (type(where), *parts)


def _condition_shape(condition: Condition, values: list[Any]) -> Shape | None:
    field, op, value = condition.field, condition.op, condition.value
    if field not in FIELDS:
        return None
    if op is Op.EXISTS:
        return field, op, value is True
    if op in _COMPARED:
        kind = _value_kind(value)
        values.append(value)
        return None if kind is None else (field, op, kind)
    if op not in _AMONG or not isinstance(value, tuple) or len(value) > _LISTED:
        return None
    kinds = tuple(map(_value_kind, value))
    values += value
    return None if None in kinds else (field, op, *kinds)


def _value_kind(value: Any) -> type | None:
    """Return the kind of a value: those of one kind are written alike, but '' and null are not, nor true and false."""
    if type(value) is str:
        return str if value else None
    return float if type(value) in (int, float) else None


class _Text(str):
    """Stands for a text."""

    __slots__ = ("at",)
    at: int


class _Number(float):
    """Stands for a number."""

    __slots__ = ("at",)
    at: int


def _number_values(where: Where, numbers: Any) -> Where:
    """Return the same conditions with the place of each value instead of it."""
    if isinstance(where, Condition):
        if where.op in _COMPARED:
            return Condition(where.field, where.op, _make_stand_in(where.value, numbers))
        if where.op in _AMONG:
            return Condition(where.field, where.op, tuple(_make_stand_in(one, numbers) for one in where.value))
        return where
    if isinstance(where, Not):
        return Not(_number_values(where.part, numbers))
    return (And if isinstance(where, And) else Or)(tuple(_number_values(part, numbers) for part in where.parts))


def _make_stand_in(value: Any, numbers: Any) -> _Text | _Number:
    at = next(numbers)
    placed = _Text(f"value {at}") if isinstance(value, str) else _Number(at)
    placed.at = at
    return placed
