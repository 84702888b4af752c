"""Official clients talk to a real model through the gateway, and the model answers with what another session said."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

import anthropic
import openai
import pytest

from benchmarks.quality.local_model import PATIENCE_SECONDS, RealModel
from memstone import Memory
from memstone.server.app import create_app
from tests.llm.between import watched
from tests.server.gate import until
from tests.server.upstream import served

pytestmark = [pytest.mark.llm, pytest.mark.timeout(900)]

MOST_WORDS: Final = 24
QUESTION: Final = "In which city do I live?"

Talk: TypeAlias = Callable[[str, str, str], str]
"""Say something to the gateway at an address with a key, in a session of its own; what comes back."""


def _openai(url: str, key: str) -> openai.OpenAI:
    return openai.OpenAI(api_key=key, base_url=f"{url}/v1", timeout=PATIENCE_SECONDS, max_retries=0)


def _anthropic(url: str, key: str) -> anthropic.Anthropic:
    return anthropic.Anthropic(api_key=key, base_url=url, timeout=PATIENCE_SECONDS, max_retries=0)


def _turn(text: str) -> dict[str, Any]:
    """One message, as either client takes it; not each of them knows a temperature."""
    more = {"temperature": 0}
    return {"model": "m", "max_tokens": MOST_WORDS, "messages": [{"role": "user", "content": text}], "extra_body": more}


def chat(url: str, key: str, text: str) -> str:
    return str(_openai(url, key).chat.completions.create(**_turn(text)).choices[0].message.content)


def chat_streamed(url: str, key: str, text: str) -> str:
    chunks = list(_openai(url, key).chat.completions.create(**_turn(text), stream=True))
    assert len(chunks) > 2, "it came in pieces"
    return "".join(one.choices[0].delta.content or "" for one in chunks if one.choices)


def messages(url: str, key: str, text: str) -> str:
    answer = _anthropic(url, key).messages.create(**_turn(text))
    return "".join(one.text for one in answer.content if one.type == "text")


def messages_streamed(url: str, key: str, text: str) -> str:
    with _anthropic(url, key).messages.stream(**_turn(text)) as answer:
        pieces = list(answer.text_stream)
        assert "".join(pieces) == answer.get_final_text()
    return "".join(pieces)


def responses(url: str, key: str, text: str) -> str:
    answer = _openai(url, key).responses.create(model="m", input=text, temperature=0, max_output_tokens=MOST_WORDS)
    return answer.output_text


@contextmanager
def _gateway(place: Path, model: str) -> Iterator[tuple[str, Memory]]:
    """A gateway before a model, as its preset has it: only patience is not for a machine that runs a model as well."""
    config: dict[str, Any] = {
        "preset": "gateway",
        "store": {"url": f"sqlite:///{place}/g.db"},
        "gateway": {"upstreams": [{"name": "local", "base_url": f"{model}/v1", "timeout": 300}], "recall_ms": 60_000},
    }
    with Memory(config) as memory, served(create_app(config)) as url:
        yield url, memory


def _knows(memory: Memory, city: str) -> bool:
    return city in str(memory.get_all(user_id="alice")["results"])


@pytest.mark.req("O-3", "P-11", "P-27")
@pytest.mark.parametrize("talk", [chat, chat_streamed, messages, messages_streamed, responses])
def test_a_real_model_answers_with_what_another_session_said_last(tmp_path: Path, qwen: RealModel, talk: Talk) -> None:
    with watched(qwen) as behind, _gateway(tmp_path, behind) as (url, memory):
        key = memory.admin.keys.create(user_id="alice")["key"]
        for text, city in (("I live in Oslo.", "Oslo"), ("I have moved: I live in Lisbon now.", "Lisbon")):
            talk(url, key, text)
            until(partial(_knows, memory, city), 120)
        answer = talk(url, key, QUESTION)
        output = str(qwen.exchanges[-1].asked)
        assert "live in Lisbon now" in output
        assert "User lives in Oslo" not in output, "what is over is not shown as if it held"
        qwen.notes.append(f"{talk.__name__}: {answer.strip()!r}")
        assert "Lisbon" in answer
        assert "Oslo" not in answer
        talk(url, memory.admin.keys.create(user_id="bob")["key"], QUESTION)
        assert "lives in" not in str(qwen.exchanges[-1].asked), "nothing of it is for anybody else"
