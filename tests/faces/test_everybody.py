"""A verb that takes a scope acts on one; on everybody only by that word. The cases are made from the signatures."""

from __future__ import annotations

import inspect
from typing import Any, Final

import pytest

from memstone import Memory
from memstone.engine.memory_page import PageRequest, memory_page
from memstone.errors import Forbidden, InvalidInput, NotFoundError, ScopeError
from memstone.model.scope import NO_SCOPE
from tests.faces.harness import Face, Opens, verb_of
from tests.faces.test_arguments import METHODS, RIGHT

ANYBODY: Final = {"acting_for", "admin.accounts.create", "admin.keys.create", "admin.accounts.update"}
"""They say whom somebody reaches: without anybody it is the tenant."""

LEVELS: Final = {"settings.get", "settings.set", "settings.unset"}
"""A setting stands at the level of an agent, a user or the tenant, and nobody's is the tenant's."""

NOBODY: Final = {"vectors.insert", "vectors.upsert"}
"""What they store is held by nobody until somebody is linked to it."""

BY_ID: Final = {"admin.erase", "review.feedback"}
"""They are about one memory, and a scope only says for whom."""

OF_THE_SOURCE: Final = {"sessions.backfill", "admin.import_from"}
"""What they take in may name its owners itself."""

MORE: Final[dict[str, dict[str, Any]]] = {
    "review.rollback": {"since": "2025-01-01"},
    "sessions.ingest": {"run_id": None},
}
"""What a call needs besides, to get as far as its scope."""


_MEMORY: Final = Memory({"store": {"url": "memory:"}, "embedder": {"provider": "hash"}})
METHOD: Final = {verb: verb_of(_MEMORY, verb) for verb in METHODS}


def _takes(verb: str, name: str) -> bool:
    return name in inspect.signature(METHOD[verb]).parameters


def _given(verb: str, memory_id: str) -> dict[str, Any]:
    needed = inspect.signature(METHOD[verb]).parameters.values()
    right = {**RIGHT, "memory_id": memory_id}
    values = {one.name: right[one.name] for one in needed if one.default is one.empty and one.name != "self"}
    return {**values, **MORE.get(verb, {})}


SCOPED: Final = [
    verb
    for verb in METHODS
    if _takes(verb, "user_id") and inspect.signature(METHOD[verb]).parameters["user_id"].default is None
]
ON_SOMEBODY: Final = [verb for verb in SCOPED if verb not in ANYBODY | LEVELS | NOBODY | BY_ID | OF_THE_SOURCE]
ON_EVERYBODY: Final = [verb for verb in METHODS if _takes(verb, "everybody")]


async def _two_people(opens: Opens) -> tuple[Face, str]:
    face = opens()
    memory_id = await face.remember("I live in Oslo")
    await face.remember("I live in Rome", user_id="bob")
    return face, memory_id


@pytest.mark.req("C-5", "R-9", "C-58.38")
@pytest.mark.parametrize("verb", ON_SOMEBODY)
async def test_who_names_nobody_does_not_mean_everybody(opens: Opens, verb: str) -> None:
    face, memory_id = await _two_people(opens)
    values = _given(verb, memory_id)
    before = (await face.review.events(everybody=True))["cursor"]
    with pytest.raises(ScopeError) as refused:
        await verb_of(face, verb)(**values)
    assert refused.value.message == NO_SCOPE or verb in {"sessions.ingest", "profile.get"}
    assert ("everybody" in refused.value.hint) is (verb in ON_EVERYBODY)
    assert (await face.review.events(everybody=True))["cursor"] == before


@pytest.mark.req("C-5")
@pytest.mark.parametrize("verb", sorted(BY_ID))
async def test_who_names_neither_somebody_nor_a_memory_means_nothing(opens: Opens, verb: str) -> None:
    face, memory_id = await _two_people(opens)
    with pytest.raises((ScopeError, InvalidInput)):
        await verb_of(face, verb)(**_given(verb, memory_id))
    assert len(await face.listed()) == 1


@pytest.mark.req("R-9")
@pytest.mark.parametrize("verb", ON_EVERYBODY)
async def test_everybody_is_a_word_of_its_own(opens: Opens, verb: str) -> None:
    face, memory_id = await _two_people(opens)
    values = _given(verb, memory_id)

    await verb_of(face, verb)(**values, everybody=True)
    with pytest.raises(InvalidInput, match="everybody cannot be combined"):
        await verb_of(face, verb)(**values, everybody=True, user_id="alice")
    await verb_of(face, verb)(**values, user_id="alice")


@pytest.mark.req("R-9", "R-4")
@pytest.mark.parametrize("verb", ON_EVERYBODY)
async def test_who_is_bound_to_somebody_reaches_nobody_else(opens: Opens, verb: str) -> None:
    face, memory_id = await _two_people(opens)
    alice = Face(face.memory.acting_for("default", user_id="alice"))
    with pytest.raises(Forbidden):
        await verb_of(alice, verb)(**_given(verb, memory_id), everybody=True)
    try:
        answer = await verb_of(alice, verb)(**_given(verb, memory_id))
    except (Forbidden, NotFoundError):  # some are a tenant's only
        return
    assert "Rome" not in str(answer)
    assert "bob" not in str(answer)


@pytest.mark.req("R-9")
async def test_what_everybody_means_is_everybody(opens: Opens) -> None:
    face, _ = await _two_people(opens)
    everybody: dict[str, Any] = {"everybody": True}
    page = await face.run(memory_page, PageRequest({}, **everybody))
    assert sorted(one["memory"] for one in page["results"]) == ["I live in Oslo", "I live in Rome"]
    assert {one["user_id"] for one in (await face.review.events(**everybody))["results"]} == {"alice", "bob"}
    assert {one["user_id"] for one in await face.export(**everybody) if one["type"] == "event"} == {"alice", "bob"}
    assert (await face.admin.metrics(**everybody))["memory_total_count"] == 2
    assert (await face.review.list(**everybody, filters={"user_id": "bob"}))["results"][0]["user_id"] == "bob"
