"""Within which ids a fact is known once, and changes what is known."""

from __future__ import annotations

from typing import Any

import pytest

from memstone import Memory
from memstone.errors import ConfigError, InvalidInput
from tests.faces.harness import Face, Opens, verb_of
from tests.faces.infer_steps import told


@pytest.mark.parametrize(
    ("within", "left"),
    [
        (None, ["User lives in Rome."]),
        (["user_id"], ["User lives in Rome."]),
        (["user_id", "agent_id"], ["User lives in Bergen.", "User lives in Rome."]),
    ],
)
async def test_facts_are_held_against_each_other_within_the_ids_that_count(
    opens: Opens, within: list[str] | None, left: list[str]
) -> None:
    face = opens({"reconcile": {"within": within}} if within else {})
    await told(face, "I live in Oslo.", opens, agent_id="a", run_id="monday")
    await told(face, "I live in Bergen.", opens, agent_id="a", run_id="tuesday")
    await told(face, "I live in Rome.", opens, agent_id="b", run_id="tuesday")

    assert sorted(await face.listed()) == left


@pytest.mark.req("P-19")
async def test_those_who_give_none_of_the_ids_that_count_share_nothing(opens: Opens) -> None:
    face = opens({"reconcile": {"within": ["user_id"]}})
    for agent in ("x", "y"):
        answer = await face.add("I live in Oslo.", agent_id=agent)
        assert [one["event"] for one in answer["results"]] == ["ADD"], agent
        assert [one["event"] for one in (await face.store("The sea", agent_id=agent))["results"]] == ["ADD"]


@pytest.mark.parametrize("wrong", [[], ["tenant_id"], "run"])
def test_what_is_no_list_of_ids_is_refused(wrong: Any) -> None:
    with pytest.raises(ConfigError):
        Memory({"store": {"url": "memory:"}, "reconcile": {"within": wrong}})


@pytest.mark.parametrize(
    ("verb", "arguments"),
    [
        ("add", {"messages": ""}),
        ("add", {"messages": []}),
        ("add", {"messages": [{"role": "user", "content": " "}]}),
        ("search", {"query": ""}),
        ("search", {"query": "x", "limit": 0}),
        ("search", {"query": "x", "limit": 10**9}),
        ("search", {"query": "x", "min_score": 7}),
        ("context", {"query": " "}),
        ("get_all", {"limit": 0}),
        ("get_all", {"page": 0}),
        ("get_all", {"offset": -1}),
        ("sessions.episodes", {"offset": -1}),
    ],
)
async def test_an_argument_that_cannot_be_comes_with_a_hint(face: Face, verb: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as caught:
        await verb_of(face, verb)(**arguments, user_id="alice")
    assert caught.value.hint
