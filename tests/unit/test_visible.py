from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from memstone.core.checks.filters import found_fields, where_visible
from memstone.model.memory import FoundMemory, Layer, Link, Record, Status
from memstone.model.query import is_match
from memstone.model.scope import Scope

THEN, NOW, LATER = "2026-01-01T00:00:00.000000Z", "2026-02-01T00:00:00.000000Z", "2026-03-01T00:00:00.000000Z"
RECORD = Record("id", "text", "hash", THEN, THEN, THEN, valid_from=THEN, anchor_at=THEN)
ALICE = Scope(user_id="alice", agent_id="guide", run_id="r1")


def seen(scope: Scope = ALICE, link: Scope = ALICE, *, asked: dict[str, Any] | None = None, **changes: Any) -> bool:
    found = FoundMemory(replace(RECORD, **changes), Link(link, THEN))
    return is_match(where_visible(scope, NOW, **(asked or {})), found_fields(found))


@pytest.mark.req("C-6", "X-29", "R-4")
@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        (ALICE, True),
        (Scope(user_id="alice"), True),
        (Scope(agent_id="guide"), True),
        (Scope(run_id="r1", agent_id="guide"), True),
        (Scope(user_id="bob"), False),
        (Scope(user_id="alice", run_id="r2"), False),
        (Scope("other", "alice", "guide", "r1"), False),
    ],
)
def test_every_field_that_is_set_must_match(scope: Scope, *, expected: bool) -> None:
    assert seen(scope) is expected


@pytest.mark.req("R-4")
@pytest.mark.parametrize("status", list(Status))
def test_only_what_is_active_is_seen(status: Status) -> None:
    assert seen(status=status) is (status is Status.ACTIVE)
    assert seen(status=status, valid_to=THEN) is False


@pytest.mark.req("R-4")
def test_a_listing_may_name_a_status() -> None:
    assert seen(status=Status.DISABLED, asked={"statuses": (Status.DISABLED,)})
    assert not seen(asked={"statuses": (Status.DISABLED, Status.QUARANTINED)})


@pytest.mark.req("N-38", "O-97", "R-4")
def test_what_has_expired_is_not_seen() -> None:
    assert not seen(expires_at=THEN)
    assert not seen(expires_at=NOW)
    assert seen(expires_at=LATER)
    assert seen(expires_at=THEN, asked={"show_expired": True})


@pytest.mark.req("X-37")
@pytest.mark.parametrize("layer", list(Layer))
def test_facts_are_seen_unless_layers_are_named(layer: Layer) -> None:
    assert seen(layer=layer) is (layer is Layer.FACT)
    assert seen(layer=layer, asked={"layers": (layer, Layer.FACT)})


@pytest.mark.req("X-10")
@pytest.mark.parametrize(
    ("as_of", "changes", "expected"),
    [
        (THEN, {}, True),
        ("2025-12-31T23:59:59.999999Z", {}, False),
        (NOW, {"valid_to": NOW, "status": Status.SUPERSEDED}, False),
        (THEN, {"valid_to": NOW, "status": Status.SUPERSEDED}, True),
        (THEN, {"valid_to": NOW, "status": Status.DELETED}, False),
        (THEN, {"valid_to": THEN, "status": Status.SUPERSEDED}, False),
        (THEN, {"expires_at": NOW}, True),
        (LATER, {"expires_at": NOW}, False),
        (THEN, {"status": Status.QUARANTINED}, False),
    ],
)
def test_the_past_is_seen_as_it_was(as_of: str, changes: dict[str, Any], *, expected: bool) -> None:
    assert seen(asked={"as_of": as_of}, **changes) is expected
