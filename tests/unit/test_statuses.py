from __future__ import annotations

import pytest

from memstone.engine.store import status
from memstone.model.memory import APPROVED, ASIDE, ENDED, INDEXED, LISTED, OPEN, Status


def test_every_status_is_open_or_ended_and_none_is_both() -> None:
    assert {*OPEN, *ENDED} == set(Status)
    assert not set(OPEN) & set(ENDED)


def test_there_is_a_way_out_of_every_status_of_a_current_version() -> None:
    assert set(status._WAYS_OUT) == set(OPEN)


@pytest.mark.parametrize("some", [APPROVED, ASIDE, INDEXED])
def test_statuses_of_current_versions_are_open(some: tuple[Status, ...]) -> None:
    assert set(some) < set(OPEN) < set(LISTED)
