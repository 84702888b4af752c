"""A compiler that remembers shapes says what one says that does not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstone.adapters.sql.where import Shapes, compile_where
from memstone.model.query import FIELDS, And, Condition, Not, Op, Or, Where

texts = st.sampled_from(["", "a", "2026-01-01", "value 1", "x" * 9])
values = texts | st.integers(-2, 9) | st.floats(0, 1) | st.none() | st.booleans()
one = st.sampled_from([Op.EQ, Op.NE, Op.GT, Op.GTE, Op.LT, Op.LTE])
fields = st.sampled_from(sorted(FIELDS)) | st.just("metadata.k")
leaves = (
    st.builds(Condition, fields, one, values)
    | st.builds(Condition, fields, st.sampled_from([Op.IN, Op.NIN]), st.lists(values, max_size=10).map(tuple))
    | st.builds(Condition, fields, st.just(Op.EXISTS), st.booleans())
    | st.builds(Condition, fields, st.sampled_from([Op.CONTAINS, Op.ICONTAINS]), texts)
)


def _joined(inner: st.SearchStrategy[Where]) -> st.SearchStrategy[Where]:
    many = st.lists(inner, max_size=4).map(tuple)
    return st.builds(Not, inner) | st.builds(And, many) | st.builds(Or, many)


trees: st.SearchStrategy[Where] = st.recursive(leaves, _joined, max_leaves=8)


@pytest.mark.req("R-26")
@given(st.lists(trees, min_size=1, max_size=6))
def test_what_is_remembered_is_what_would_be_said_anew(asked: list[Where]) -> None:
    remembering = Shapes(compile_where)
    for where in [*asked, *asked]:
        assert remembering(where) == compile_where(where)


def test_a_shape_is_compiled_once_and_every_question_has_its_own_values() -> None:
    compiled: list[Where] = []

    def counting(where: Where) -> tuple[str, list[Any]]:
        compiled.append(where)
        return compile_where(where)

    remembering = Shapes(counting)
    asked = [
        And(
            (Condition("user_id", Op.EQ, user), Or((Condition("seq", Op.GT, at), Condition("layer", Op.IN, ("a", at)))))
        )
        for user, at in (("alice", 1), ("bob", 2), ("carol", 3))
    ]
    assert [remembering(where)[1] for where in asked] == [compile_where(where)[1] for where in asked]
    assert len(compiled) == 1


def test_more_shapes_than_are_remembered_are_compiled_all_the_same() -> None:
    remembering = Shapes(compile_where)
    for count in range(600):
        where = And(tuple(Condition("user_id", Op.EQ, str(at + 1)) for at in range(count)))
        assert remembering(where) == compile_where(where)
    assert len(remembering._known) < 600
