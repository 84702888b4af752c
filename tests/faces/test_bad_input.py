from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from memstone import ScopeError, UsageError
from memstone.errors import InvalidInput, TooLarge
from tests.faces.harness import Face, verb_of


class Opaque:
    """Something that is no JSON."""


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


CASES: list[tuple[dict[str, Any], type[UsageError], str]] = [
    ({"messages": ""}, InvalidInput, "empty"),
    ({"messages": " \t\n"}, InvalidInput, "empty"),
    ({"messages": []}, InvalidInput, "empty"),
    ({"messages": None}, InvalidInput, "messages must be"),
    ({"messages": 7}, InvalidInput, "messages must be"),
    ({"messages": b"bytes"}, InvalidInput, "messages must be"),
    ({"messages": {"a", "b"}}, InvalidInput, "messages must be"),
    ({"messages": [7]}, InvalidInput, r"messages\[0\] must be a message"),
    ({"messages": ["fine", None]}, InvalidInput, r"messages\[1\] must be a message"),
    ({"messages": [{"role": "user"}]}, InvalidInput, r"messages\[0\].content is missing"),
    ({"messages": [{"role": "robot", "content": "x"}]}, InvalidInput, "robot"),
    ({"messages": [{"role": ["user"], "content": "x"}]}, InvalidInput, "role"),
    ({"messages": [{"role": "user", "content": 7}]}, InvalidInput, "must be text"),
    ({"messages": [{"role": "user", "content": []}]}, InvalidInput, "empty"),
    ({"messages": [{"role": "user", "content": [7]}]}, InvalidInput, "must be a part with a type"),
    ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, InvalidInput, "text must be text"),
    ({"messages": [{"role": "user", "parts": "x"}]}, InvalidInput, "content is missing .*not in parts"),
    ({"messages": [{"role": "user", "parts": [{"odd": "x"}]}]}, InvalidInput, "must be a part with a type"),
    ({"messages": [{"role": "user", "content": "x", "name": 7}]}, InvalidInput, "name must be text"),
    ({"messages": [{"role": "user", "content": "x", "name": "n" * 257}]}, TooLarge, "name has 257"),
    ({"messages": "x" * 10_000_000}, TooLarge, "10,000,000 characters, the limit is 50,000"),
    ({"messages": ["x"] * 1001}, TooLarge, "1001 messages"),
    ({"messages": "lone \ud800 surrogate"}, InvalidInput, "lone surrogate at 5"),
    ({"messages": "nul \0 byte"}, InvalidInput, "NUL"),
    ({"metadata": []}, InvalidInput, "metadata must be a mapping"),
    ({"metadata": "a=1"}, InvalidInput, "metadata must be a mapping"),
    ({"metadata": {"a": float("nan")}}, InvalidInput, r"metadata\.a is nan"),
    ({"metadata": {"a": [1, {"b": float("-inf")}]}}, InvalidInput, r"metadata\.a\.b is -inf"),
    ({"metadata": {"a": Opaque()}}, InvalidInput, "not JSON"),
    ({"metadata": {"a": datetime(2026, 1, 1, tzinfo=UTC)}}, InvalidInput, "not JSON"),
    ({"metadata": {"a": {1, 2}}}, InvalidInput, "not JSON"),
    ({"metadata": {"a": b"x"}}, InvalidInput, "not JSON"),
    ({"metadata": {1: "a"}}, InvalidInput, "key that is not text"),
    ({"metadata": {"a": {None: 1}}}, InvalidInput, "key that is not text"),
    ({"metadata": {"a": "\0"}}, InvalidInput, "NUL"),
    ({"metadata": {"\ud800": 1}}, InvalidInput, "surrogate"),
    ({"metadata": {"a": "x" * 70_000}}, TooLarge, "metadata has 70,009 bytes"),
    ({"metadata": nested(40)}, InvalidInput, "deeper than"),
    ({"metadata": nested(5000)}, InvalidInput, "deeper than"),
    ({"kind": "fact"}, InvalidInput, "unknown kind"),
    ({"kind": "override"}, InvalidInput, "unknown kind"),
    ({"kind": ["factual"]}, InvalidInput, "kind must be text"),
    ({"key": 7}, InvalidInput, "key must be text"),
    ({"key": "k" * 513}, TooLarge, "key has 513"),
    ({"key": "a\0"}, InvalidInput, "NUL"),
    ({"user_id": None}, ScopeError, "At least one"),
    ({"user_id": "two words"}, ScopeError, "white space"),
    ({"user_id": "\ud800"}, ScopeError, "user_id contains .* unprintable"),
    ({"user_id": "u" * 257}, ScopeError, "user_id is longer"),
]

HINTED = ("NUL", "surrogate", "not JSON", "white space", "user_id")


@pytest.mark.req("C-52", "C-4", "N-37")
@pytest.mark.parametrize(("wrong", "error", "said"), CASES, ids=range(len(CASES)))
async def test_what_cannot_be_stored_is_refused_before_anything_is_written(
    face: Face, wrong: dict[str, Any], error: type[UsageError], said: str
) -> None:
    call = {"messages": "I live in Oslo", "user_id": "alice", **wrong}

    with pytest.raises(error, match=said) as caught:
        await face.store(**call)

    assert isinstance(caught.value, ValueError), "callers who know nothing of Memstone catch it too"
    assert caught.value.as_dict()["code"]
    assert len(caught.value.message) < 500, "it names what is wrong without repeating it all"
    if error is TooLarge or any(word in said for word in HINTED):
        assert caught.value.hint
    stats = await face.stats()
    assert (stats["memories"], stats["events"], stats["pending"]) == (0, 0, 0)
    (result,) = (await face.store_many([call]))["results"]
    assert (result["status"], result["error"]["code"]) == ("error", error.code)


@pytest.mark.parametrize(
    "text",
    [
        "\U0001f469\u200d\U0001f469\u200d\U0001f467",
        "e\u0301",
        "\u202eright to left",
        "\x01\x02\x7f",
        "\ufffe\uffff",
        "a\r\nb\u2028c",
        "'); DROP TABLE memories; --",
        "x" * 50_000,
        "\U0001f600" * 50_000,
        "a" * 40_000 + " b",
        "-" * 5_000,
        "(" * 5_000,
        "\u6771" * 5_000,
        "a\u0301" * 10_000,
    ],
    ids=range(14),
)
@pytest.mark.req("R-2")
async def test_every_text_that_can_be_stored_comes_back_as_it_was(face: Face, text: str) -> None:
    memory_id = await face.remember(text)

    assert (await face.get(memory_id))["memory"] == text
    assert await face.found(text[:10_000]) == [text]
    assert (await face.update(memory_id, text + "!"))["memory"] == text + "!" if len(text) < 50_000 else True
    await face.delete(memory_id)
    assert (await face.stats())["fulltext"] == 0


@pytest.mark.parametrize("wrong", ["a\0b", "a\ud800b"])
async def test_an_id_that_no_database_can_look_for_is_refused_by_all(face: Face, wrong: str) -> None:
    verbs = (
        face.get,
        face.history,
        face.delete,
        face.undo,
        face.receipt,
        face.admin.keys.rotate,
        face.admin.keys.revoke,
    )
    for verb in verbs:
        with pytest.raises(InvalidInput):
            await verb(wrong)
    for call in (
        face.undo(job_id=wrong),
        face.review.rollback(source=wrong, everybody=True),
        face.review.feedback(useful=True, receipt_id=wrong),
    ):
        with pytest.raises(InvalidInput):
            await call


@pytest.mark.parametrize(
    ("verb", "given", "said"),
    [
        ("undo", {"event_id": 5}, "event_id must be the id of an event"),
        ("undo", {"job_id": 5}, "job_id must be the id of a job"),
        ("admin.keys.revoke", {"key_id": 5}, "key_id must be the id of a key"),
        ("admin.keys.rotate", {"key_id": " "}, "key_id must be the id of a key"),
        ("review.feedback", {"useful": True, "receipt_id": ""}, "receipt_id must be the id of a receipt"),
    ],
)
async def test_an_id_that_is_none_is_called_what_the_caller_calls_it(
    face: Face, verb: str, given: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidInput, match=said) as caught:
        await verb_of(face, verb)(**given)

    assert caught.value.hint


@pytest.mark.parametrize(
    ("verb", "given", "hint"),
    [
        ("search", {"query": "Oslo", "user_id": "alice"}, "get_all lists everything"),
        ("review.list", {"everybody": True}, "narrow the search"),
        ("review.events", {"everybody": True}, "cursor"),
        ("admin.jobs", {"everybody": True}, "limits.page"),
    ],
)
async def test_a_limit_that_is_too_large_has_a_hint_that_helps_there(
    face: Face, verb: str, given: dict[str, Any], hint: str
) -> None:
    with pytest.raises(InvalidInput, match="limit must be") as caught:
        await verb_of(face, verb)(**given, limit=1_000_000)

    assert hint in str(caught.value.hint)
    assert "offset" not in str(caught.value.hint)
