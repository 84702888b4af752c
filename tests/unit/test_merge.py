from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstone.core.changes.merge import merged_text, refines
from memstone.core.changes.statement import understand


@pytest.mark.parametrize(
    ("old", "new", "merged"),
    [
        (
            "User works at BigTech Inc as a data scientist",
            "User works at Acme Labs.",
            "User works at Acme Labs as a data scientist",
        ),
        ("User lives in Rome and works at Acme", "User moved to Paris.", "User lives in Paris and works at Acme"),
        ("User lives in Rome", "User lives in Paris.", "User lives in Paris."),
        ("User works as an engineer at Acme", "User works as a teacher.", "User works as a teacher."),
        ("User lives in Rome and works at Acme", "User lives in Paris with Tom.", "User lives in Paris with Tom."),
        ("User likes tea", "User does not like tea.", "User does not like tea."),
        ("User works at Acme as a clerk", "User was laid off.", "User was laid off."),
    ],
)
def test_the_rest_of_the_old_sentence_is_kept_where_only_a_value_changes(old: str, new: str, merged: str) -> None:
    assert merged_text(understand(old), understand(new), new) == merged


def test_the_article_fits_the_new_value() -> None:
    old, new = "User drives an Audi and lives in Rome", "User drives a Kia."
    assert merged_text(understand(old), understand(new), new) == "User drives a Kia and lives in Rome"


@pytest.mark.req("P-17")
@pytest.mark.parametrize(
    ("old", "new", "more"),
    [
        ("User has a dog", "User has a dog named Rex.", True),
        ("User works at Acme.", "User works at Acme as a clerk", True),
        ("User has a dog", "User has a doghouse", False),
        ("User has a dog", "User has a dog", False),
        ("User has a dog named Rex", "User has a dog", False),
        ("User has a dog", "User had a dog named Rex", False),
    ],
)
def test_a_sentence_refines_the_one_it_begins_with(old: str, new: str, *, more: bool) -> None:
    assert refines(old, new) is more


@given(st.text(max_size=80), st.text(min_size=1, max_size=80))
def test_there_is_always_a_next_text(old: str, new: str) -> None:
    assert merged_text(understand(old), understand(new), new)
