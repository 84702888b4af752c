from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstone.core.llm.parse import ParsedValue, UnreadableAnswer, parse_json

pytestmark = pytest.mark.req("S-18", "C-20")

FACTS = {"facts": [{"text": "User likes tea", "turn": 1}, {"text": 'User\'s cat is "Mo"', "turn": 2}]}
JSON = json.dumps(FACTS)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
containers = st.lists(json_values, max_size=4) | st.dictionaries(st.text(), json_values, max_size=4)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (JSON, FACTS),
        (f"\ufeff \n{JSON}\n", FACTS),
        ("[]", []),
        ("null", None),
        ('["a\nb"]', ["a\nb"]),
        ("[NaN]", [None]),
    ],
)
def test_plain_json_is_taken_as_it_stands(text: str, value: Any) -> None:
    assert parse_json(text) == ParsedValue(value, "bare")


@pytest.mark.parametrize(
    "text",
    [
        f"```json\n{JSON}\n```",
        f"Sure! Here you go:\n```\n{JSON}\n```\nAnything else?",
        f"```JSON {JSON}```",
        f"For example ```[1]``` would be wrong, so:\n```json\n{JSON}\n```",
        f"<think>maybe ```{{}}``` or [1, 2]?</think>```json\n{JSON}```",
    ],
)
def test_a_fenced_block_is_unwrapped(text: str) -> None:
    assert parse_json(text) == ParsedValue(FACTS, "fenced")


@pytest.mark.parametrize(
    "text",
    [
        f"Here are the facts: {JSON} Let me know if you need more.",
        f'I looked at [2] messages, 12" wide {{as asked}}.\n{JSON}',
        f"<think>The user has {{many}} likes [1], [2].</think>\n{JSON}",
        f"```json\n{JSON}",
        f"Note [unclosed: {JSON}",
    ],
)
def test_json_within_prose_is_found(text: str) -> None:
    assert parse_json(text) == ParsedValue(FACTS, "embedded")


def test_a_fence_inside_a_text_does_not_end_the_block() -> None:
    value = {"facts": ["User writes ```python``` blocks"]}
    assert parse_json(f"```json\n{json.dumps(value)}\n```") == ParsedValue(value, "embedded")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"facts": ["a", "b",],}', {"facts": ["a", "b"]}),
        ("{'facts': ['User likes tea']}", {"facts": ["User likes tea"]}),
        ("['User's cat', 'says \"hi\"', 'it\\'s']", ["User's cat", 'says "hi"', "it's"]),
        ("Facts: {'known': True, 'old': False, 'why': None}", {"known": True, "old": False, "why": None}),
        ("[-1.5e3, 0, 12,]", [-1500.0, 0, 12]),
        ('In [2] messages: {"facts": ["a", "b",]}', {"facts": ["a", "b"]}),
        (r'["C:\dir \d+ \u12 \"ok\" \\ \n"]', ['C:\\dir \\d+ \\u12 "ok" \\ \n']),
        ('[{"a": 1} {"a": 2}]', [{"a": 1}, {"a": 2}]),
        ('{"a": [1, 2,], "b": "x, }"} and more', {"a": [1, 2], "b": "x, }"}),
    ],
)
def test_left_over_commas_and_wrong_quotes_are_mended(text: str, value: Any) -> None:
    assert parse_json(text) == ParsedValue(value, "repaired")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('["User likes tea", "User li', ["User likes tea"]),
        ('{"facts": [{"text": "a", "turn": 1}, {"text": "b", "tu', {"facts": [{"text": "a", "turn": 1}]}),
        ('{"facts": [{"text": "a", "turn": 1}, {"text": "b", "turn": 1', {"facts": [{"text": "a", "turn": 1}]}),
        ('```json\n{"facts": ["a", "b"]', {"facts": ["a", "b"]}),
        ('{"why": "x", "facts": [', {"why": "x"}),
        ("[1, 23", [1]),
        ('In [2] messages I saw {"facts": ["a", "b"], ', {"facts": ["a", "b"]}),
        ("[true, tru", [True]),
        ('["a", "b\\', ["a"]),
    ],
)
def test_of_an_answer_without_end_what_is_complete_is_kept(text: str, value: Any) -> None:
    assert parse_json(text) == ParsedValue(value, "truncated")


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n ",
        "I could not find any facts.",
        "{",
        '{"facts": [{"text": "User lik',
        "[see above]",
        "{facts}",
        '{"a" "b"}',
        "{1: 2}",
        '{"facts"}',
        '"unclosed',
        "]]}}",
        "[" * 100_000,
        "[" * 150 + "1," + "]" * 150,
        "[" + "9" * 5000 + ",]",
        "__import__('os').system('true')",
        "[__import__('os')]",
    ],
)
def test_what_holds_no_json_is_refused_with_a_reason(text: str) -> None:
    with pytest.raises(UnreadableAnswer, match=r"^the answer "):
        parse_json(text)


@given(containers)
def test_every_value_survives_prose_and_fences(value: Any) -> None:
    written = json.dumps(value)
    assert parse_json(written).value == value
    assert parse_json(f"```json\n{written}\n```").value == value


@given(containers, st.data())
def test_a_cut_answer_gives_a_part_of_the_value_or_nothing(value: Any, data: st.DataObject) -> None:
    written = json.dumps([value, "last"])
    cut = data.draw(st.integers(1, len(written) - 1))
    try:
        found = parse_json(written[:cut]).value
    except UnreadableAnswer:
        return
    assert is_part(found, [value, "last"])


def is_part(found: Any, full: Any) -> bool:
    if isinstance(found, list) and isinstance(full, list):
        return len(found) <= len(full) and all(map(is_part, found, full))
    if isinstance(found, dict) and isinstance(full, dict):
        return all(name in full and is_part(value, full[name]) for name, value in found.items())
    return bool(found == full)


@given(st.text(alphabet="{}[]\"'\\,: ab1`\n", max_size=80))
def test_no_text_does_worse_than_being_refused(text: str) -> None:
    assert reads_or_refuses(text)


def reads_or_refuses(text: str) -> bool:
    try:
        return bool(parse_json(text).how)
    except UnreadableAnswer:
        return True


MB2 = 2 * 1024 * 1024


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "[" * MB2,
        '{"' * (MB2 // 2),
        '["' + '\\"' * (MB2 // 2),
        "['" + "'" * MB2,
        "['" + "' " * (MB2 // 2) + "x",
        "`" * MB2,
        "```json\n" * (MB2 // 8),
        '["a" ' + " " * MB2,
        "[1" * (MB2 // 2),
        "[] " * (MB2 // 3),
        '{"facts": ["' + "x" * MB2,
        "{x} " * (MB2 // 4),
        "</think>" * (MB2 // 8),
        "[" + "1," * (MB2 // 2),
    ],
    ids=lambda text: text[:12],
)
def test_two_megabytes_of_anything_are_read_or_refused_within_the_tests_time(text: str) -> None:
    # What grows with the square of the length would take hours here, and run into the limit that every test has.
    assert reads_or_refuses(text)
