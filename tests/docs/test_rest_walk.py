"""The pages that walk the routes with curl show what the service answers, and leave no route out."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from memstone.server.app import create_app
from scripts import rest_walk
from scripts.rest_shown import format_answer

needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")


@pytest.fixture(scope="module")
def paths() -> Any:
    return create_app({"store": {"url": "memory:"}, "embedder": {"provider": "hash"}}).openapi()["paths"]


def commands(text: str) -> list[str]:
    return re.findall(r"^\$ (.+)$", text, re.MULTILINE)


@pytest.mark.req("C-50")
def test_every_operation_of_the_description_is_shown(paths: Any) -> None:
    every = [command for page in rest_walk.pages() for command in commands(page.read_text("utf-8"))]
    left = rest_walk.operations(paths) - {rest_walk.operation_of(command, paths) for command in every}
    assert not left, "write a curl command for each into docs/reference/rest-*.md and run python -m scripts.rest_walk"


@needs_curl
@pytest.mark.slow
@pytest.mark.parametrize("page", rest_walk.pages(), ids=lambda page: page.stem)
def test_the_answers_on_a_page_are_those_of_the_service(page: Path) -> None:
    before = page.read_text("utf-8")
    after, walked = rest_walk.walk(before)
    assert walked == commands(before)
    assert after == before, "run python -m scripts.rest_walk"


@needs_curl
def test_answers_are_written_and_problems_are_noticed() -> None:
    keys = '$ curl -s $MEMSTONE/v1/keys -H "$AUTH" --json \'{"name": "app"}\' # $KEY is its id\n'
    ended = '$ curl -s -X DELETE $MEMSTONE/v1/keys/$KEY -H "$AUTH"\n'
    after, walked = rest_walk.walk(f"before\n```text\n{keys}old\n{ended}```\nafter\n")
    assert len(walked) == 2
    assert '"key": "rt_…", "id": "$KEY", "name": "app"' in after
    assert '"revoked_at": "2026-05-07T09:30:00Z"' in after
    assert (after.startswith("before\n```text\n$ curl"), after.endswith("```\nafter\n"), "old" in after) == (
        True,
        True,
        False,
    )
    with pytest.raises(RuntimeError, match="no key was sent"):
        rest_walk.walk("```text\n$ curl -s $MEMSTONE/v1/me\n```\n")
    with pytest.raises(RuntimeError, match="was answered"):
        rest_walk.walk('```text\n$ curl -s $MEMSTONE/v1/me -H "$AUTH" # refused\n```\n')


@pytest.mark.parametrize(
    ("command", "operation"),
    [
        ('curl -s $MEMSTONE/v1/memories/$MEMORY -H "$AUTH"', "GET /v1/memories/{memory_id}"),
        ('curl -s "$MEMSTONE/v1/memories/search?q=a" -H "$AUTH"', "GET /v1/memories/search"),
        ("curl -s $MEMSTONE/v1/memories/search --json '{}'", "POST /v1/memories/search"),
        ("curl -s -X PUT $MEMSTONE/v1/memories/batch --json '{}'", "PUT /v1/memories/batch"),
        ("curl -s $MEMSTONE/v1/import --data-binary @a", "POST /v1/import"),
        ("curl -s $MEMSTONE/v1/nothing", ""),
        ("echo 1", ""),
    ],
)
def test_a_command_is_recognised_as_what_it_asks_for(paths: Any, command: str, operation: str) -> None:
    assert rest_walk.operation_of(command, paths) == operation


def test_what_is_different_each_time_is_not_shown() -> None:
    answer = (
        '{"id": "0198c2d4-6b1e-7c3a-9f00-5d2b8e4a7c11", "other": "1198c2d4-6b1e-7c3a-9f00-5d2b8e4a7c11", '
        '"key": "rt_0123456789abcdef_abcdefghijklmnopqrstuvwxyz", "ms": 3.5, "share": 0.123456, '
        '"at": "2026-05-07T09:30:12.5Z"}'
    )
    names = {"0198c2d4-6b1e-7c3a-9f00-5d2b8e4a7c11": "MEMORY"}
    assert format_answer(answer, names) == (
        '{"id": "$MEMORY", "other": "…", "key": "rt_…", "ms": …, "share": 0.12, "at": "2026-05-07T09:30:00Z"}'
    )


def test_what_is_long_is_shortened() -> None:
    text = format_answer("[" + ", ".join(f'{{"n": {n}, "text": "{"word " * 50}"}}' for n in range(50)) + "]", {})
    assert text.startswith('[{"n": 0, "text": "word word')
    assert text.endswith("…]")
    assert len(text) < 500
    assert format_answer('{"a": 1}\n' * 9, {}).splitlines() == ['{"a": 1}'] * 4 + ["…"]
