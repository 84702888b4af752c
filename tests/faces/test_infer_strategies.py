"""Which extractors run is a setting; all give the same kind of candidate, and what they find is settled once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from memstone.engine.learn.by_model import ConversationQuestion
from memstone.engine.learn.extract import extract_facts
from memstone.engine.store.turns import turns_of
from memstone.errors import ConfigError
from memstone.model.fact import Candidate
from memstone.model.message import Message
from memstone.model.scope import Scope
from memstone.testing.wire import WireReply, WireServer
from tests.faces.harness import Face, Opens
from tests.faces.infer_model import Model, configured
from tests.faces.infer_steps import kept

_NORWEGIAN: Final = "Fra pulten min ser jeg havnen hver dag."
_HARBOUR: Final = "User sees the harbour from the desk."
_BY_MODEL: Final = {"I live in Oslo": "User lives in Oslo.", "ser jeg havnen": _HARBOUR}


@pytest.fixture
def model() -> Model:
    made = Model()
    made.knows = _BY_MODEL
    return made


@pytest.fixture
def server(model: Model) -> Iterator[WireServer]:
    with WireServer(model) as running:
        yield running


def wants(*strategies: str) -> dict[str, Any]:
    return {"extract": {"strategies": list(strategies)}}


async def sources(face: Face) -> dict[str, str]:
    """The facts that are known, and which extractor each is from."""
    return {line["text"]: line["source"] for line in await kept(face) if line["layer"] == "fact"}


@pytest.mark.req("X-7")
async def test_without_a_setting_the_model_is_asked_where_there_is_one_and_rules_learn_elsewhere(
    opens: Opens, server: WireServer, model: Model
) -> None:
    asked = opens(configured(server.url))
    await asked.add("I live in Oslo.", user_id="alice", infer=True)
    assert await sources(asked) == {"User lives in Oslo.": "facts"}
    assert model.asked == ["operations"]

    alone = opens()
    await alone.add("I love tea.", user_id="bob", infer=True)
    assert (await sources(alone))["User loves tea."] == "pattern"


@pytest.mark.req("X-7")
async def test_patterns_alone_ask_nobody(opens: Opens, server: WireServer, model: Model) -> None:
    face = opens(configured(server.url, **wants("pattern")))

    await face.add("I live in Oslo.", user_id="alice", infer=True)

    assert await sources(face) == {"User lives in Oslo.": "pattern"}
    assert model.asked == []


@pytest.mark.req("X-7")
async def test_both_find_what_one_of_them_misses_and_say_nothing_twice(
    opens: Opens, server: WireServer, model: Model
) -> None:
    model.knows = {"ser jeg havnen": _HARBOUR, "love tea": "User loves tea."}
    face = opens(configured(server.url, **wants("pattern", "facts")))

    answer = await face.add(["I live in Oslo.", "I love tea.", _NORWEGIAN], user_id="alice", infer=True)

    assert answer["status"] == "ok"
    found = await sources(face)
    assert (found["User lives in Oslo."], found["User loves tea."]) == ("pattern", "facts")
    assert found[_HARBOUR] == "facts"
    texts = [one["memory"] for one in answer["results"]]
    assert len(texts) == len(set(texts)), "a sentence that both found is one fact"
    assert texts.index("User lives in Oslo.") < texts.index("User loves tea."), "in the order in which it was said"


@pytest.mark.req("X-7", "X-25")
async def test_when_the_model_is_out_of_reach_patterns_learn_and_the_rest_waits(
    opens: Opens, server: WireServer, model: Model
) -> None:
    face = opens(configured(server.url, **wants("pattern", "facts")))
    server.script(WireReply(500))

    answer = await face.add(["I live in Oslo.", _NORWEGIAN], user_id="alice", infer=True)

    assert (answer["status"], answer["error"]["code"]) == ("partial", "backend_unavailable")
    assert "User lives in Oslo." in await face.listed()
    assert (await face.stats())["pending"] == 1
    assert await face.sessions.flush(everybody=True) == {"stored": 1, "waiting": 0}
    assert _HARBOUR in await face.listed()


@pytest.mark.req("X-7")
async def test_every_extractor_gives_the_same_kind_of_candidate(opens: Opens, server: WireServer) -> None:
    face = opens(configured(server.url, **wants("pattern", "facts")))
    scope, runtime = Scope(user_id="alice"), face.memory.engine.runtime
    await face.stats()  # opens the store
    messages = [Message("user", "I live in Oslo and I love tea."), Message("user", _NORWEGIAN)]
    turns = turns_of(scope, messages, runtime.now(), dated=False)

    found = await extract_facts(runtime, ConversationQuestion(scope, scope, turns, {}))

    assert {fact.draft.source for fact in found.facts} == {"pattern", "facts"}
    assert {type(fact.candidate) for fact in found.facts} == {Candidate}
    for fact in found.facts:
        assert fact.candidate.kind == fact.draft.kind
        assert fact.candidate.key == fact.draft.key
        assert fact.draft.role == "user"


@pytest.mark.req("X-7")
@pytest.mark.parametrize(
    ("strategies", "message", "hint"),
    [
        (["digest"], "digest is not supported yet", "in the background"),
        (["pattern", "digest"], "digest is not supported yet", "in the background"),
        (["facts"], "no language model is configured", "configure llm"),
        (["guess"], "extract.strategies", "configuration"),
        ([], "extract.strategies", "configuration"),
    ],
)
async def test_a_strategy_that_cannot_be_had_is_refused_at_once(
    opens: Opens, strategies: list[str], message: str, hint: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        opens(wants(*strategies))
    assert message in caught.value.message
    assert hint in caught.value.hint
