"""``add(infer=True)`` when the model that makes vectors fails, for one fact or for all."""

from __future__ import annotations

from typing import Final

import pytest

from memstone.errors import EmbeddingError
from tests.faces.fragile import Fragile
from tests.faces.harness import Face, Opens
from tests.faces.infer_steps import said_in

_THREE: Final = ["I have two cats.", "I live in Oslo.", "I love tea."]
_LEARNED: Final = ["User has two cats.", "User lives in Oslo.", "User loves tea."]


@pytest.fixture
def vectors() -> Fragile:
    return Fragile()


@pytest.fixture
def rules(opens: Opens, vectors: Fragile) -> Face:
    """Facts by rules, with an embedder that may fail."""
    return opens({"embedding_cache": {"entries": 0}}, embedder=vectors)


@pytest.mark.req("C-58.37", "C-55")
async def test_of_three_facts_one_cannot_be_embedded_and_two_are_stored(rules: Face, vectors: Fragile) -> None:
    vectors.bad = {"User loves tea."}

    answer = await rules.add(_THREE, user_id="alice", infer=True)

    assert answer["status"] == "partial"
    assert [(one["event"], one["memory"]) for one in answer["results"]] == [
        ("ADD", "User has two cats."),
        ("ADD", "User lives in Oslo."),
    ]
    (waiting,) = answer["deferred"]
    assert (waiting["memory"], waiting["id"], waiting["event"]) == ("User loves tea.", None, "DEFERRED")
    assert waiting["error"]["code"] == "embedding"
    assert sorted(await rules.listed()) == ["User has two cats.", "User lives in Oslo."]
    assert (await rules.stats())["pending"] == 1
    assert await said_in(rules) == _THREE

    assert await rules.sessions.flush(everybody=True) == {"stored": 0, "waiting": 1}
    assert (await rules.stats())["pending"] == 1
    vectors.bad = set()
    assert await rules.sessions.flush(user_id="alice") == {"stored": 1, "waiting": 0}

    assert sorted(await rules.listed()) == _LEARNED
    assert await said_in(rules) == _THREE
    stats = await rules.stats()
    assert (stats["pending"], stats["events"], stats["vectors"]) == (0, 3, 6)


@pytest.mark.req("C-55")
async def test_a_turn_that_cannot_be_embedded_does_not_keep_its_facts_from_being_learned(
    rules: Face, vectors: Fragile
) -> None:
    vectors.bad = {_THREE[1]}

    answer = await rules.add(_THREE, user_id="alice", infer=True)

    assert answer["status"] == "ok"
    assert sorted(await rules.listed()) == _LEARNED
    assert await said_in(rules) == _THREE
    assert (await rules.stats())["pending"] == 0


@pytest.mark.req("C-55", "X-25")
async def test_without_any_vector_the_conversation_waits(rules: Face, vectors: Fragile) -> None:
    vectors.down = True
    answer = await rules.add(_THREE, user_id="alice", infer=True)

    assert (answer["status"], answer["results"], answer["error"]["code"]) == ("deferred", [], "embedding")
    assert await said_in(rules) == _THREE
    assert (await rules.stats())["pending"] == 1
    vectors.down = False
    assert await rules.sessions.flush(everybody=True) == {"stored": 1, "waiting": 0}
    assert sorted(await rules.listed()) == _LEARNED


@pytest.mark.req("C-55", "X-25")
async def test_an_amended_memory_that_cannot_be_embedded_waits_too(rules: Face, vectors: Fragile, opens: Opens) -> None:
    await rules.add("I work at Acme as a nurse.", user_id="alice", infer=True)
    amended = 'User works at Acme as a nurse. On 2026-01-01: "I work at Globex now.".'
    vectors.bad = {amended}
    opens.clock.advance(minutes=1)

    answer = await rules.add("I work at Globex now.", user_id="alice", infer=True)

    assert (answer["status"], answer["error"]["code"]) == ("deferred", "embedding")
    assert await rules.listed() == ["User works at Acme as a nurse."]
    assert len(await said_in(rules)) == 2
    vectors.bad = set()
    assert await rules.sessions.flush(everybody=True) == {"stored": 1, "waiting": 0}
    assert await rules.listed() == [amended]


@pytest.mark.req("C-55", "X-25")
async def test_whoever_is_strict_hears_of_one_failing_vector(rules: Face, vectors: Fragile) -> None:
    vectors.bad = {"User loves tea."}
    with pytest.raises(EmbeddingError):
        await rules.add(_THREE, user_id="alice", infer=True, strict=True)
    assert (await rules.stats())["pending"] == 0
    vectors.bad = set()
    await rules.add(_THREE, user_id="alice", infer=True, strict=True)
    assert sorted(await rules.listed()) == _LEARNED
