"""Asking a language model: remembered answers, and one more try after one that cannot be read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import TypeVar

from retain.core.llm_question import Question, repair_prompt
from retain.core.parse import UnreadableAnswer
from retain.engine.parts import Parts
from retain.errors import LLMError
from retain.ports.llm import Prompt

T = TypeVar("T")


async def ask(parts: Parts, question: Question, read: Callable[[str], T]) -> T:
    """The answer to a question as ``read`` understands it; ``LLMError`` when the model cannot be understood.

    The same question to the same model is asked once: an application that sends a conversation again pays nothing.
    """
    key = _key(parts, question)
    remembered = await parts.ledger.peek(lambda tx: tx.llm_cache.get(parts.tenant_id, key))
    if remembered is not None:
        return read(remembered)
    answer, result = await _understood(parts, question, read)
    now = parts.now()
    await parts.ledger.write(lambda tx: tx.llm_cache.put(parts.tenant_id, key, answer, now))
    return result


async def _understood(parts: Parts, question: Question, read: Callable[[str], T]) -> tuple[str, T]:
    answer = await _answer(parts, question)
    try:
        return answer, read(answer)
    except UnreadableAnswer as error:
        again = await _answer(parts, repair_prompt(question, answer, str(error)))
    try:
        return again, read(again)
    except UnreadableAnswer as error:
        raise LLMError(
            f"the model's answer could not be read: {error}", hint="use a model that can answer in JSON"
        ) from error


async def _answer(parts: Parts, question: Question) -> str:
    if parts.llm is None:
        raise LLMError("no language model is configured")
    prompt = Prompt(question.messages, response_format="json", schema=question.schema)
    return (await parts.llm.generate(prompt)).text


def _key(parts: Parts, question: Question) -> str:
    model = parts.llm.model if parts.llm else ""
    asked = json.dumps([model, question.version, list(question.messages)], ensure_ascii=False)
    return hashlib.sha256(asked.encode()).hexdigest()
