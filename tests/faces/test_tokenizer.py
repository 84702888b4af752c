"""A tokenizer takes the place of the estimate: every budget is spent by what it counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest
import tiktoken
import tiktoken.registry

from memstone import AsyncMemory, Memory, estimate_tokens
from memstone.errors import ConfigError
from memstone.testing.clock import FakeClock
from tests.faces.harness import Opens

_FACTS: Final = [
    f"User's {thing} is kept in the {place}."
    for thing in ("boat", "bicycle", "telescope", "violin", "ladder", "tent", "kettle", "drill")
    for place in ("harbour shed", "cellar", "attic room", "garage behind the house")
]


def count_words(text: str) -> int:
    """A tokenizer for which a token is a word."""
    return len(text.split())


def count_letters(text: str) -> int:
    """A tokenizer for which a token is a character."""
    return len(text)


@pytest.mark.req("X-27.1")
@pytest.mark.parametrize(("tokenizer", "times"), [(count_words, 1), (count_letters, 4), (None, 1)])
async def test_every_budget_is_spent_by_what_the_tokenizer_counts(opens: Opens, tokenizer: Any, times: int) -> None:
    count = tokenizer or estimate_tokens
    face = opens({"context": {"cache_seconds": 0}}, tokenizer=tokenizer)
    for text in _FACTS:
        await face.store(text, user_id="alice")
    for budget in (150 * times, 300 * times, 600 * times):
        pack = await face.context("Where is my boat?", user_id="alice", budget=budget)
        assert pack.tokens == count(pack.text)
        profile = await face.profile.get(user_id="alice", tokens=budget)
        assert profile["tokens"] <= budget or len(profile["facts"]) == 1
        assert profile["tokens"] == count("".join(f"- {one['memory']}\n" for one in profile["facts"]))
        seen = await face.profile.preview_search("boat", user_id="alice", max_tokens=budget)
        assert [one["tokens"] for one in seen["items"]] == [count(one["memory"]) for one in seen["items"]]
        assert seen["totals"]["tokens"] <= budget
        assert pack.tokens <= budget


@pytest.mark.req("X-27.1")
async def test_a_larger_token_leaves_room_for_less_and_the_same_call_gives_the_same_bytes(opens: Opens) -> None:
    blocks = dict[Any, set[str]]()
    for tokenizer in (count_words, None, count_letters):
        face = opens({"store": {"url": "memory:"}, "context": {"cache_seconds": 0}}, tokenizer=tokenizer)
        for text in _FACTS:
            await face.store(text, user_id="alice")
        answers = [await face.context("Where is my boat?", user_id="alice", budget=500) for _ in range(3)]
        assert len({one.text for one in answers}) == len({one.stable for one in answers}) == 1
        blocks[tokenizer] = {one.memory_id for one in answers[0].citations}
    assert len(blocks[count_letters]) < len(blocks[None]) < len(blocks[count_words])


@pytest.mark.req("X-27.1")
@pytest.mark.parametrize("kind", [Memory, AsyncMemory])
def test_a_configuration_names_a_tokenizer(kind: Any) -> None:
    options = {"store": {"url": "memory:"}, "context": {"tokenizer": "tests.faces.test_tokenizer:count_words"}}
    memory = kind(options, clock=FakeClock())
    assert memory.engine.runtime.token_counter.tokens("three short words") == 3


@pytest.mark.req("X-27.1")
@pytest.mark.parametrize(
    ("tokenizer", "problem"),
    [
        (lambda text: text.split(), "how many tokens"),
        (lambda text: text.count("*"), "how many tokens"),
        (lambda text: text["tokens"], "the tokenizer failed"),
    ],
)
def test_what_counts_nothing_is_refused_at_once(tokenizer: Any, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        Memory({"store": {"url": "memory:"}}, tokenizer=tokenizer)


@pytest.mark.req("X-27.1")
def test_a_vocabulary_that_cannot_be_loaded_is_an_error_with_a_hint(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    with pytest.raises(ConfigError, match="cannot load the encoding 'no-such-one'"):
        Memory({"store": {"url": "memory:"}, "context": {"tokenizer": "tiktoken:no-such-one"}})


@pytest.mark.req("X-27.1")
def test_tiktoken_counts_by_an_encoding_that_is_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    single_bytes = {bytes([number]): number for number in range(256)}
    encoding = tiktoken.Encoding(
        "bytes", pat_str=r"\w+|\W", mergeable_ranks=single_bytes, special_tokens={"<|endoftext|>": 256}
    )
    monkeypatch.setitem(tiktoken.registry.ENCODINGS, "bytes", encoding)
    memory = Memory({"store": {"url": "memory:"}, "context": {"tokenizer": "tiktoken:bytes"}})
    assert memory.engine.runtime.token_counter.tokens("Løten") == 6
    assert memory.engine.runtime.token_counter.tokens("<|endoftext|>") == 13, "what somebody writes is only text"
