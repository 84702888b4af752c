from __future__ import annotations

from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest

from memstone.core.talk.messages import read_messages, stored_messages
from memstone.errors import InvalidInput, TooLarge
from memstone.model.message import Message
from memstone.model.policy import Limits

LIMITS = Limits(text_chars=20, messages=3)


class Dumped(SimpleNamespace):
    """As the messages of SDKs are."""

    def model_dump(self) -> dict[str, Any]:
        """Its fields."""
        return dict(vars(self))


@pytest.mark.req("C-4")
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("hello", [Message("user", "hello")]),
        ({"content": "hello"}, [Message("user", "hello")]),
        ({"role": "assistant", "content": "hello"}, [Message("assistant", "hello")]),
        (["a", {"role": "user", "content": "b", "name": " ann "}], [Message("user", "a"), Message("user", "b", "ann")]),
        (("a", "b"), [Message("user", "a"), Message("user", "b")]),
        (MappingProxyType({"content": "hello"}), [Message("user", "hello")]),
        ({"role": "user", "content": ["a", {"type": "text", "text": "b"}]}, [Message("user", "a\nb")]),
        ({"role": "user", "content": [{"type": "input_text", "text": "a"}]}, [Message("user", "a")]),
        ({"role": "assistant", "content": [{"type": "output_text", "text": "a"}]}, [Message("assistant", "a")]),
        ([("user", "a"), ("ai", "b")], [Message("user", "a"), Message("assistant", "b")]),
        (Dumped(role="assistant", content="a", refusal=None), [Message("assistant", "a")]),
        ([Dumped(type="ai", content="a", id="1", example=False)], [Message("assistant", "a")]),
        (SimpleNamespace(role="user", content="a", name="ann"), [Message("user", "a", "ann")]),
        ([SimpleNamespace(type="human", content="a", name=len)], [Message("user", "a")]),
        ({"type": "ai", "content": "a"}, [Message("assistant", "a")]),
        ({"type": "message", "role": "assistant", "content": "a"}, [Message("assistant", "a")]),
    ],
)
def test_every_shape_of_a_message_is_read(given: Any, expected: list[Message]) -> None:
    assert read_messages(given, LIMITS) == expected


@pytest.mark.parametrize(
    ("part", "shown"),
    [
        ({"type": "image_url", "image_url": {"url": "a.png"}}, "[image: a.png]"),
        ({"type": "image_url", "image_url": "a.png"}, "[image: a.png]"),
        ({"type": "input_image", "image_url": "a.png"}, "[image: a.png]"),
        ({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}, "[image: data:image/png]"),
        ({"type": "file", "file": {"filename": "a.pdf", "file_data": "AAAA"}}, "[file: a.pdf]"),
        ({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}, "[audio: wav]"),
        ({"type": "file", "file": {}}, "[file: unnamed]"),
        ({"type": "image_url", "image_url": "http://[::1/a.png"}, "[image: unnamed]"),
    ],
)
def test_pictures_and_files_are_kept_by_name(part: dict[str, Any], shown: str) -> None:
    (message,) = read_messages({"content": [part]}, Limits())
    assert message.text == shown


@pytest.mark.req("C-4", "N-39")
def test_only_what_people_and_assistants_said_is_stored() -> None:
    roles = ("system", "developer", "user", "assistant", "tool", "function")
    messages = [read_messages({"role": role, "content": role}, LIMITS)[0] for role in roles]
    assert [message.role for message in stored_messages(messages)] == ["user", "assistant"]


@pytest.mark.req("N-39")
@pytest.mark.parametrize("content", [None, "", " ", "x" * 100, "\0", ["anything"], 7])
@pytest.mark.parametrize("role", ["system", "tool"])
def test_what_is_never_stored_is_not_measured_either(role: str, content: Any) -> None:
    assert stored_messages(read_messages({"role": role, "content": content}, LIMITS)) == []


@pytest.mark.parametrize("content", [None, ""])
def test_a_call_of_a_tool_has_no_words(content: str | None) -> None:
    call = {"role": "assistant", "content": content, "tool_calls": [{"id": "1"}], "refusal": None}
    assert stored_messages(read_messages([call, "and then"], LIMITS)) == [Message("user", "and then")]


@pytest.mark.parametrize("content", [None, "", "  "])
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_a_message_of_a_person_must_say_something(role: str, content: str | None) -> None:
    with pytest.raises(InvalidInput, match=r"messages\[0\]\.content"):
        read_messages({"role": role, "content": content}, LIMITS)


def test_the_message_that_is_wrong_is_named() -> None:
    refusable: list[Any] = [7, ("robot", "a"), ("user",), ["user", "a"], SimpleNamespace(text="a"), None]
    for wrong in refusable:
        with pytest.raises(InvalidInput, match=r"messages\[1\] must be a message, not") as refused:
            read_messages(["a", wrong], LIMITS)
        assert "role" in refused.value.hint
    with pytest.raises(TooLarge, match=r"messages\[0\] has 21 characters") as caught:
        read_messages("x" * 21, LIMITS)
    assert "limits.text_chars" in caught.value.hint
    with pytest.raises(TooLarge, match="4 messages"):
        read_messages(["a"] * 4, LIMITS)


def test_fields_that_no_message_has_are_left_out_and_named_once() -> None:
    warnings: list[str] = []
    items: list[Any] = [
        {"content": "a", "metadata": {"a": 1}, "timestamp": "2026-05-07"},
        {"content": "b", "timestamp": "2026-05-07", "reasoning_content": None, "citations": []},
        {"role": "tool", "content": "c", "artifact": "never stored anyway"},
    ]
    assert [message.text for message in read_messages(items, LIMITS, warnings)] == ["a", "b", ""]
    (warning,) = warnings
    assert warning.startswith("messages: metadata, timestamp was ignored: a message has role, content and name")
    assert "occurred_at" in warning

    assert read_messages({"role": "assistant", "content": "a", "refusal": None, "id": "1"}, LIMITS, warnings)
    assert len(warnings) == 1, "fields of the protocol are no surprise"


@pytest.mark.parametrize("more", [{}, {"id": "1"}])
def test_words_that_stand_elsewhere_are_not_lost_in_silence(more: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=r"messages\[0\]\.content is missing") as caught:
        read_messages({"role": "user", "texts": ["a"], **more}, LIMITS)
    assert "not in texts" in caught.value.hint


def test_words_may_stand_in_parts_as_other_services_write_them() -> None:
    vercel = [
        {"type": "step-start"},
        {"type": "reasoning", "text": "hm"},
        {"type": "text", "text": "Oslo"},
        {"type": "tool-weather", "state": "output-available", "input": {}, "output": "rain"},
        {"type": "file", "mediaType": "image/png", "filename": "cat.png", "url": "data:image/png;base64,AA"},
    ]
    gemini = [
        {"text": "hm", "thought": True},
        {"text": "R"},
        {"inlineData": {"mimeType": "image/png", "data": "AA"}},
        {"functionCall": {"name": "weather", "args": {}}},
    ]
    warnings: list[str] = []
    value: Any = [{"id": "1", "role": "user", "parts": vercel}, {"role": "model", "parts": gemini}]
    first, second = read_messages(value, LIMITS, warnings)
    assert (first.role, first.text) == ("user", "Oslo\n[file: cat.png]")
    assert (second.role, second.text) == ("assistant", "R\n[file: image/png]")
    assert [one.media_type for one in (*first.attachments, *second.attachments)] == ["image/png", "image/png"]
    assert read_messages({"role": "model", "parts": gemini[3:]}, LIMITS, warnings)[0].text == ""
    assert read_messages({"role": "user", "content": "a", "parts": vercel}, LIMITS)[0].text == "a"
    assert warnings == []
    with pytest.raises(InvalidInput, match=r"content\[0\] must be a part with a type"):
        read_messages({"role": "user", "parts": [{"odd": 1}]}, LIMITS)


def test_the_speaker_is_the_name_or_else_the_role() -> None:
    assert [message.speaker for message in (Message("user", "a", "ann"), Message("assistant", "b"))] == [
        "ann",
        "assistant",
    ]


def test_a_pair_by_itself_is_one_message() -> None:
    (message,) = read_messages(("user", "I like coffee"), Limits())

    assert (message.role, message.text) == ("user", "I like coffee")
