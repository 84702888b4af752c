"""Conditions of one shape as SQL, written once: from one question to the next only their values differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from memstone.model.query import FIELDS, And, Condition, Not, Op, Or, Where

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
        """A boolean expression in brackets, and its parameters in order."""
        values: list[Any] = []
        shape = _shape(where, values)
        if shape is None:
            return self._compiled(where)
        known = self._known[shape] if shape in self._known else self._learned(shape, where)
        if known is None:
            return self._compiled(where)
        return known[0], [values[at] for at in known[1]]

    def _learned(self, shape: Shape, where: Where) -> tuple[str, list[int]] | None:
        """The text for a shape and which of the values stands where; None where a value does not stand as it is."""
        text, params = self._compiled(_numbered(where, iter(range(1 << 30))))
        plain = all(isinstance(one, (_Text, _Number)) for one in params)
        if len(self._known) >= _SHAPES:
            self._known.clear()
        self._known[shape] = (text, [one.at for one in params]) if plain else None
        return self._known[shape]


def _shape(where: Where, values: list[Any]) -> Shape | None:
    """What the SQL depends on, or None where it depends on more; the values are collected in order."""
    if isinstance(where, Condition):
        return _leaf(where, values)
    if isinstance(where, Not):
        inner = _shape(where.part, values)
        return None if inner is None else (Not, inner)
    parts = [_shape(part, values) for part in where.parts]
    return None if None in parts else (type(where), *parts)


def _leaf(condition: Condition, values: list[Any]) -> Shape | None:
    field, op, value = condition.field, condition.op, condition.value
    if field not in FIELDS:
        return None
    if op is Op.EXISTS:
        return field, op, value is True
    if op in _COMPARED:
        kind = _kind(value)
        values.append(value)
        return None if kind is None else (field, op, kind)
    if op not in _AMONG or not isinstance(value, tuple) or len(value) > _LISTED:
        return None
    kinds = tuple(map(_kind, value))
    values += value
    return None if None in kinds else (field, op, *kinds)


def _kind(value: Any) -> type | None:
    """Values of one kind are written alike; '' and null are not, nor are true and false."""
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


def _numbered(where: Where, numbers: Any) -> Where:
    """The same conditions with the place of each value instead of it."""
    if isinstance(where, Condition):
        if where.op in _COMPARED:
            return Condition(where.field, where.op, _placed(where.value, numbers))
        if where.op in _AMONG:
            return Condition(where.field, where.op, tuple(_placed(one, numbers) for one in where.value))
        return where
    if isinstance(where, Not):
        return Not(_numbered(where.part, numbers))
    return (And if isinstance(where, And) else Or)(tuple(_numbered(part, numbers) for part in where.parts))


def _placed(value: Any, numbers: Any) -> _Text | _Number:
    at = next(numbers)
    placed = _Text(f"value {at}") if isinstance(value, str) else _Number(at)
    placed.at = at
    return placed
