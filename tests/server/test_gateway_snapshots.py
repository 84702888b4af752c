"""What goes upstream, written down: every class of model, every place, every dialect, whole and in pieces.

``python -m tests.server.test_gateway_snapshots`` writes the files again; look at the difference before committing it.
"""

from __future__ import annotations

import copy
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from memstone.core.dialects.anthropic import Messages
from memstone.core.dialects.base import Dialect, PromptBlock
from memstone.core.dialects.chat import Chat
from memstone.core.dialects.responses import Responses
from memstone.core.prompt.inject import Position, SystemRole, should_inject, system_role

PLACE = Path(__file__).parent / "snapshots"
STABLE, VOLATILE = "<memory>who the user is</memory>", "<memory>Today is 2026-01-02. User lives in Oslo.</memory>"
WHOLE = "<memory>Today is 2026-01-02. who the user is. User lives in Oslo.</memory>"
TALK: list[dict[str, Any]] = [
    {"role": "user", "content": "Hello"},
    {"role": "assistant", "content": "Hi."},
    {"role": "user", "content": [{"type": "text", "text": "Where do I live?"}]},
]
DIALECTS: dict[str, tuple[Dialect, dict[str, Any]]] = {
    "chat": (Chat(), {"model": "m", "messages": [{"role": "system", "content": "Be brief."}, *TALK], "seed": 1}),
    "messages": (Messages(), {"model": "m", "max_tokens": 9, "system": "Be brief.", "messages": TALK}),
    "responses": (
        Responses(),
        {
            "model": "m",
            "instructions": "Be brief.",
            "input": [*TALK[:2], {"role": "user", "content": [{"type": "input_text", "text": "Where do I live?"}]}],
        },
    ),
}


def request(dialect: str, role: SystemRole, position: Position, *, stream: bool) -> dict[str, Any]:
    speaks, body = DIALECTS[dialect]
    values = {**body, "stream": True} if stream else body
    return speaks.with_memory(values, PromptBlock(WHOLE, STABLE, VOLATILE, position, role))


def pictures(dialect: str) -> dict[str, Any]:
    return {
        f"{role} / {position}{' / stream' if stream else ''}": request(dialect, role, position, stream=stream)
        for role in SystemRole
        for position in Position
        for stream in (False, True)
    }


def written(dialect: str) -> str:
    return json.dumps(pictures(dialect), indent=1, ensure_ascii=False) + "\n"


@pytest.mark.req("X-3", "R-21", "O-60", "O-59", "N-14", "N-16.2")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_requests_look_as_they_are_written_down(dialect: str) -> None:
    assert (PLACE / f"{dialect}.json").read_text("utf-8") == written(dialect)


@pytest.mark.req("O-61")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_request_of_a_caller_is_never_changed(dialect: str) -> None:
    before = copy.deepcopy(DIALECTS[dialect][1])
    for picture in pictures(dialect).values():
        stored = {name: value for name, value in before.items() if name not in ("messages", "system", "input")}
        stored.pop("instructions", None)
        assert stored.items() <= picture.items()
    assert DIALECTS[dialect][1] == before


@pytest.mark.req("R-21", "N-14")
@pytest.mark.parametrize("position", Position)
def test_no_model_gets_a_system_message_where_it_takes_none(position: Position) -> None:
    without = [one for one in DIALECTS["chat"][1]["messages"] if one["role"] != "system"]
    block = PromptBlock(WHOLE, STABLE, VOLATILE, position, SystemRole.NO)
    sent = Chat().with_memory({"messages": without}, block)["messages"]
    assert all(one["role"] != "system" for one in sent)
    first = Chat().with_memory(
        {"messages": TALK}, PromptBlock(WHOLE, STABLE, VOLATILE, position, SystemRole.FIRST_ONLY)
    )
    assert [at for at, one in enumerate(first["messages"]) if one["role"] == "system"] in ([], [0])
    for dialect in ("messages", "responses"):
        picture = request(dialect, SystemRole.NO, position, stream=False)
        assert (picture.get("system") or picture.get("instructions")) == "Be brief."


@pytest.mark.req("O-60", "O-63")
def test_what_is_known_of_models_can_be_asked() -> None:
    for name in ("o1", " O1-Mini ", "o1-preview", "glm", "glmt", "glm-cn", "zai", "qianfan", "zai/glm"):
        assert system_role(name) is SystemRole.NO
    assert system_role(None) is system_role("unheard-of") is SystemRole.YES
    assert system_role("mimo") is system_role("x/xiaomi-mimo") is SystemRole.FIRST_ONLY
    assert should_inject([{"role": "user", "content": "x"}], enabled=True)
    assert not should_inject([{"role": "user", "content": "x"}], enabled=False)
    assert not should_inject([], enabled=True)
    assert not should_inject("text", enabled=True)


@pytest.mark.req("O-59")
def test_in_front_of_everything_the_callers_own_prompt_comes_later() -> None:
    sent = request("chat", SystemRole.YES, Position.SYSTEM_FIRST, stream=False)["messages"]
    assert [one["content"] for one in sent[:2]] == [WHOLE, "Be brief."]


def length_in_common(one: str, other: str) -> int:
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


@pytest.mark.req("R-21", "N-14", "X-3")
@pytest.mark.parametrize("role", SystemRole)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_over_twenty_turns_a_prompt_cache_keeps_what_it_has(dialect: str, role: SystemRole) -> None:
    speaks, body = DIALECTS[dialect]
    where = "input" if dialect == "responses" else "messages"
    talk: list[dict[str, Any]] = [one for one in body[where] if one["role"] == "system"]
    last, stored_count, all_of_it = "", 0, 0
    for turn in range(20):
        talk = [*talk, {"role": "user", "content": f"question {turn}"}]
        block = PromptBlock(WHOLE, STABLE, VOLATILE.replace("Oslo", f"place {turn}"), Position.SPLIT, role)
        sent = speaks.with_memory({**body, where: talk}, block)
        front = json.dumps([sent.get("system"), sent.get("instructions"), sent[where]])
        if last:
            stored_count += length_in_common(last, front)
            all_of_it += last.rindex("<memory>Today")
        last = front
        talk = [*talk, {"role": "assistant", "content": f"answer {turn} " * 20}]
    assert stored_count / all_of_it >= 0.97


if __name__ == "__main__":
    PLACE.mkdir(exist_ok=True)
    for name in DIALECTS:
        (PLACE / f"{name}.json").write_text(written(name), "utf-8")
    sys.stdout.write(f"{len(DIALECTS)} files in {PLACE}\n")
