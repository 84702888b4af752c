"""What the suite of vector stores is made of: points, filters, and ways to say what is wrong.

Its failures are plain ``AssertionError``s with both sides in the message, because this module is installed with the
package, where a test runner does not rewrite ``assert``.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Sequence
from typing import Any, Final

from memstone.errors import MemstoneError
from memstone.model.query import And, Condition, Not, Op, Or, Where
from memstone.ports.index import CollectionInfo, Point, VectorStore

NAME: Final = "points"
CLOSE: Final = 1e-5
"""How far a score may be from the cosine in double precision."""

PAYLOADS: Final[tuple[dict[str, Any], ...]] = (
    {"user_id": "alice", "agent_id": "", "seq": 1, "layer": "fact", "metadata.city": "Oslo", "metadata.age": 7},
    {"user_id": "alice", "agent_id": "bot", "seq": 2, "layer": "turn", "metadata.city": "oslo", "metadata.age": 7.5},
    {"user_id": "bob", "agent_id": "bot", "seq": 3, "layer": "fact", "metadata.age": "7", "metadata.on": True},
    {"user_id": "bob", "agent_id": "", "seq": 40, "layer": "fact", "metadata.on": False, "metadata.tags": ["a", "b"]},
    {"user_id": "ann'); --", "agent_id": "", "seq": 500, "layer": "episode", "metadata.city": None},
    {"user_id": "alicé", "agent_id": "", "seq": 6, "layer": "fact", "metadata.age": -1, "metadata.tags": []},
    {"user_id": "carol", "seq": 7, "status": "active", "metadata.status": "open"},
    {"user_id": "carol", "seq": 8, "status": "active", "metadata.status": "archived"},
    {},
)
"""What the points of the filter tests carry."""

CONDITIONS: Final = (
    Condition("user_id", Op.EQ, "alice"),
    Condition("user_id", Op.EQ, "ann'); --"),
    Condition("user_id", Op.NE, "alice"),
    Condition("agent_id", Op.EXISTS, value=True),
    Condition("agent_id", Op.EXISTS, value=False),
    Condition("seq", Op.EQ, 3),
    Condition("seq", Op.IN, (1, 3, 500, 7000)),
    Condition("seq", Op.IN, ()),
    Condition("seq", Op.NIN, (1, 3)),
    Condition("seq", Op.GT, 3),
    Condition("seq", Op.LTE, 3),
    Condition("layer", Op.IN, ("fact", "turn")),
    Condition("metadata.city", Op.EQ, "Oslo"),
    Condition("metadata.city", Op.EXISTS, value=True),
    Condition("metadata.city", Op.CONTAINS, "slo"),
    Condition("metadata.city", Op.ICONTAINS, "OSLO"),
    Condition("metadata.tags", Op.CONTAINS, "b"),
    Condition("metadata.age", Op.EQ, 7),
    Condition("metadata.age", Op.EQ, "7"),
    Condition("metadata.age", Op.GTE, 7),
    Condition("metadata.age", Op.LT, 7.5),
    Condition("metadata.on", Op.EQ, value=True),
    Condition("metadata.on", Op.NE, value=True),
    Condition("metadata.nobody_has_this", Op.EQ, "x"),
    Condition("status", Op.EQ, "active"),
    Condition("status", Op.NE, "archived"),
    Condition("metadata.status", Op.EQ, "active"),
    Condition("metadata.status", Op.NE, "archived"),
)
FILTERS: Final[tuple[Where, ...]] = (
    *CONDITIONS,
    *(Not(condition) for condition in CONDITIONS),
    And(()),
    Or(()),
    And((Condition("user_id", Op.EQ, "alice"), Condition("layer", Op.EQ, "fact"))),
    Or((Condition("user_id", Op.EQ, "bob"), Condition("seq", Op.GT, 100))),
    And((Or((Condition("user_id", Op.EQ, "bob"), Condition("seq", Op.EQ, 1))), Not(Condition("seq", Op.EQ, 40)))),
)
"""Every operator, on every kind of value, alone and together; the reference evaluator says what they choose."""


def same(found: object, expected: object, about: object = None) -> None:
    """Fail unless the two are equal."""
    if found != expected:
        raise AssertionError(f"{found!r} instead of {expected!r}" + (f" for {about!r}" if about is not None else ""))


def close(found: Sequence[float], expected: Sequence[float]) -> None:
    """Fail unless the numbers are nearly equal."""
    if len(found) != len(expected) or any(abs(a - b) > CLOSE for a, b in zip(found, expected, strict=True)):
        raise AssertionError(f"{list(found)!r} instead of nearly {list(expected)!r}")


async def refused(error: type[MemstoneError], call: Awaitable[object]) -> MemstoneError:
    """The error of a call; fail when it is another one, or none."""
    try:
        result = await call
    except error as raised:
        return raised
    raise AssertionError(f"{result!r} instead of {error.__name__}")


async def filled(store: VectorStore, points: Sequence[Point]) -> None:
    """A collection of two (or as many as the first point says) dimensions that holds these points."""
    await store.create(NAME, len(points[0].vector))
    await store.upsert(NAME, points)


async def known(store: VectorStore, point_id: str) -> Point:
    """A point that must be there."""
    point = await store.get(NAME, point_id)
    if point is None:
        raise AssertionError(f"there is no point {point_id!r}")
    return point


async def ids(store: VectorStore, where: Where | None) -> list[str]:
    """The points a scan chooses."""
    return [point.id for point in await store.scan(NAME, where)]


async def listed(store: VectorStore) -> list[CollectionInfo]:
    """The collections by name."""
    return sorted(await store.collections(), key=lambda info: info.name)


def operators(where: Where) -> set[Op]:
    """The operators a filter uses."""
    if isinstance(where, Condition):
        return {where.op}
    if isinstance(where, Not):
        return operators(where.part)
    return {op for part in where.parts for op in operators(part)}


def unit(vector: Sequence[float]) -> list[float]:
    """The same direction with length one."""
    length = math.hypot(*vector)
    return [number / length for number in vector]


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """By its definition."""
    return sum(a * b for a, b in zip(unit(one), unit(other), strict=True))
