"""What a search or a message asks a language model is in the log of jobs, with its tokens and its cost."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from memstone.errors import LLMError
from memstone.ports.models import Prompt, Reply
from memstone.testing.llm import Answer, ScriptedLlm
from tests.faces.harness import Opens

PRICES: Final = {"scripted": {"input": 2.0, "output": 10.0}}
RERANKER: Final = {"reranker": {"provider": "llm"}, "llm": {"provider": "openai", "prices": PRICES}}
FACTS: Final = ("I live in Oslo.", "I drink tea.")


def reply(answer: object, tokens: tuple[int, int] = (210, 17)) -> Reply:
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return Reply(text, input_tokens=tokens[0], output_tokens=tokens[1])


def rank_everything(prompt: Prompt) -> Reply:
    count = sum(line[:1].isdigit() for line in prompt.messages[-1]["content"].splitlines())
    return reply({"scores": [{"number": number + 1, "score": 5} for number in range(count)]})


async def listed(face: Any, task: str) -> list[dict[str, Any]]:
    jobs: list[dict[str, Any]] = (await face.admin.jobs(task=task, everybody=True))["results"]
    return jobs


@pytest.mark.req("N-41.1", "S-57", "C-40")
async def test_a_search_with_the_reranker_is_logged_with_its_tokens_and_cost(opens: Opens) -> None:
    face = opens(RERANKER, llm=ScriptedLlm(rank_everything))
    for fact in FACTS:
        await face.add(fact, user_id="alice", infer=False)
    await face.search("Where do I live?", user_id="alice")
    (job,) = await listed(face, "rerank")
    assert (job["user_id"], job["status"], job["outcome"], job["model"]) == ("alice", "success", "answered", "scripted")
    assert (job["input_tokens"], job["output_tokens"]) == (210, 17)
    assert job["cost"] == pytest.approx((210 * 2 + 17 * 10) / 1_000_000)
    assert job["duration_ms"] > 0
    totals = (await face.admin.dashboard(everybody=True))["processing"]["by_task"]["rerank"]
    assert (totals["input_tokens"], totals["output_tokens"]) == (210, 17)


@pytest.mark.req("N-41.1", "S-57")
async def test_an_answer_that_cannot_be_read_is_paid_for_and_logged_as_an_error(opens: Opens) -> None:
    answers: list[Answer] = [reply("I would rather not.", (90, 8)), LLMError("out of order")]
    face = opens(RERANKER, llm=ScriptedLlm(answers))
    await face.add(FACTS[0], user_id="alice", infer=False)
    for _ in answers:
        assert (await face.search("Where do I live?", user_id="alice"))["degraded"]
    (job,) = await listed(face, "rerank")  # a model that was not reached costs nothing
    assert (job["status"], job["outcome"], job["input_tokens"]) == ("error", "error:bad_model_output", 90)


@pytest.mark.req("S-28", "D-10", "S-57")
async def test_the_gate_is_logged_where_it_asks_the_model(opens: Opens) -> None:
    answers: list[Answer] = [reply({"route": "pinned"}, (40, 5)), reply("perhaps", (41, 6))]
    face = opens(llm=ScriptedLlm(answers))
    await face.context("What is my name?", user_id="alice", gate="llm")  # rules decide this
    assert await listed(face, "gate") == []
    for message in ("Zebras and xylophones", "How do volcanoes form?"):
        await face.context(message, user_id="alice", gate="llm")
    jobs = sorted(await listed(face, "gate"), key=lambda job: int(job["input_tokens"]))
    assert [(job["user_id"], job["status"], job["input_tokens"], job["output_tokens"]) for job in jobs] == [
        ("alice", "success", 40, 5),
        ("alice", "error", 41, 6),
    ]


@pytest.mark.req("S-57")
async def test_a_procedure_and_advice_are_logged(opens: Opens) -> None:
    answers: list[Answer] = [
        reply({"summary": "Opened the page."}, (70, 7)),
        reply("no", (30, 3)),
        reply("no", (30, 3)),
    ]
    face = opens(llm=ScriptedLlm(answers))
    await face.add([{"role": "assistant", "content": "Opened it."}], agent_id="bot", kind="procedural")
    (job,) = await listed(face, "add")
    assert (job["agent_id"], job["input_tokens"], job["output_tokens"]) == ("bot", 70, 7)
    await face.settings.suggest_instructions("a cooking coach for families")
    (job,) = await listed(face, "instructions")
    assert (job["status"], job["input_tokens"] >= 30) == ("error", True)
