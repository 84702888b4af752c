"""Asking a language model: remembered answers, and one more try after one that cannot be read or breaks off."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

from memstone.core.llm.parse import How, UnreadableAnswer
from memstone.core.llm.questions import Question, repair_prompt, safe_messages
from memstone.engine.parts import Parts
from memstone.errors import AnswerCutOff, BadModelOutput, LLMError, LlmUnavailable, MemstoneError
from memstone.ports.models import Prompt

_HINT: Final = "nothing was learned; try again, or leave strict out and it is kept and tried again by itself"


class Readable(Protocol):
    """An answer that was read: how it was obtained, and how much there is in it."""

    @property
    def how(self) -> How: ...  # noqa: D102 - the class says it

    @property
    def size(self) -> int: ...  # noqa: D102 - the class says it


T = TypeVar("T", bound=Readable)


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """An answer as it was understood; with ``cut`` it breaks off, and only what is complete in it is there."""

    value: T
    cut: LLMError | None = None


@dataclass(frozen=True, slots=True)
class _Try(Generic[T]):
    text: str
    value: T | None
    problem: LLMError | None = None

    @property
    def size(self) -> int:
        return self.value.size if self.value is not None else -1


async def ask(parts: Parts, question: Question, read: Callable[[str], T]) -> Answer[T]:
    """The answer to a question as ``read`` understands it; ``LLMError`` when the model cannot be understood.

    The same question to the same model is asked once: an application that sends a conversation again pays nothing.
    """
    key = _key(parts, question)
    remembered = await parts.ledger.peek(lambda tx: tx.llm_cache.get(parts.tenant_id, key))
    if remembered is not None:
        with suppress(UnreadableAnswer):
            return Answer(await parts.io.compute(lambda: read(remembered)))
    tried = await _try(parts, question, read)
    if tried.problem is not None:
        tried = await _try_again(parts, question, read, tried)
    if tried.problem is None:
        now = parts.now()
        await parts.ledger.write(lambda tx: tx.llm_cache.put(parts.tenant_id, key, tried.text, now))
    if tried.value is None:
        raise tried.problem or LLMError("the model gave no answer")
    return Answer(tried.value, tried.problem)


async def _try(parts: Parts, question: Question, read: Callable[[str], T]) -> _Try[T]:
    cut: LLMError | None = None
    try:
        text = await _generated(parts, question)
    except AnswerCutOff as error:
        text, cut = error.raw, error
    try:
        value = await parts.io.compute(lambda: read(text))
    except UnreadableAnswer as error:
        return _Try(text, None, cut or _unreadable(text, error))
    if value.how != "truncated":  # it may have reached its limit, but not before it was complete
        return _Try(text, value)
    cut = cut or AnswerCutOff("the model's answer breaks off", raw=text)
    return _Try(text, value if value.size else None, cut)


def _unreadable(text: str, error: UnreadableAnswer) -> BadModelOutput:
    problem = f"the model's answer could not be read: {error}"
    unreadable = BadModelOutput(problem, raw=text, hint="use a model that can answer in JSON")
    unreadable.__cause__ = error
    return unreadable


async def _try_again(parts: Parts, question: Question, read: Callable[[str], T], first: _Try[T]) -> _Try[T]:
    """Ask once more; what is complete in an answer that breaks off is kept whatever becomes of that."""
    said = first.problem.message if first.problem else ""
    try:
        second = await _try(parts, repair_prompt(question, first.text, said), read)
    except MemstoneError:
        if first.value is None:
            raise
        return first
    return second if second.problem is None or second.size > first.size else first


async def _generated(parts: Parts, question: Question) -> str:
    if parts.llm is None:
        raise LLMError("no language model is configured")
    messages = await parts.io.compute(lambda: safe_messages(question))
    prompt = Prompt(messages, response_format="json", schema=question.schema)
    try:
        return (await parts.llm.generate(prompt)).text
    except MemstoneError:
        raise
    except Exception as error:  # an adapter of somebody else's: what it throws must not cost what was said
        raise LLMError(f"the language model failed: {type(error).__name__}: {error}") from error


def as_llm_error(error: MemstoneError) -> LLMError:
    """The failure of a model as the one error that callers wait for; what went wrong underneath is its cause."""
    if isinstance(error, LLMError):
        error.hint = error.hint or _HINT
        return error
    kind = LlmUnavailable if error.retryable else LLMError
    failed = kind(f"the language model failed: {error.message}", hint=error.hint or _HINT)
    failed.__cause__ = error
    return failed


def _whose(parts: Parts) -> list[str]:
    """Who has an answer to themselves: how soon it comes would tell others that the same was asked before."""
    return [parts.asker] if parts.asker else []


def _key(parts: Parts, question: Question) -> str:
    model = parts.llm.model if parts.llm else ""
    asked = json.dumps([model, question.version, list(question.messages), *_whose(parts)], ensure_ascii=False)
    return hashlib.sha256(asked.encode()).hexdigest()
