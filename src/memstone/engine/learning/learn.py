"""``add`` with learning: from messages to turns and facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from memstone.core.checks.arguments import checked_expiry
from memstone.core.checks.filters import split_scope
from memstone.core.rules.requests import forgets_everything
from memstone.core.rules.sentence import expand_contractions, split_sentences
from memstone.core.talk.messages import read_messages, stored_messages
from memstone.engine.learning.converse import ConverseConversation, Learned, learn_from_conversation
from memstone.engine.learning.extract import FACTS
from memstone.engine.learning.queueing import is_inline, queue_conversation
from memstone.engine.learning.remember import AddRequest, answer_of, request_metadata, request_scope
from memstone.engine.runtime import Parts
from memstone.engine.scoping import rename_filter_users
from memstone.engine.storing.draft import check_attachments
from memstone.engine.storing.holders import PREFIX
from memstone.engine.storing.turns import Heard, Turn, clean_messages, redaction_of, turns_of
from memstone.engine.work.pending import learn_waiting
from memstone.errors import InvalidInput
from memstone.model.instant import parse_when
from memstone.model.message import Message


async def learn_from_request(parts: Parts, request: AddRequest) -> dict[str, Any]:
    """Learn from what one request says; what is said is kept either way."""
    for name, value in (("key", request.key), ("kind", request.kind)):
        if value is not None:
            raise InvalidInput(
                f"a {name} describes one memory, but learning may store several or none",
                hint="pass infer=False to store the text itself as one memory",
            )
    _check_prompt(parts, request.prompt)
    compared_with = rename_filter_users(parts, split_scope(request.filters)[1])
    if compared_with is not None and _is_digested(parts):
        raise InvalidInput(
            "filters choose which memories new facts are compared with, but here whole sessions are processed",
            hint="keep user_id, agent_id and run_id in filters, one value each, and leave out the rest",
        )
    (scope, project), now = request_scope(parts, request), parts.now()
    metadata, warnings = request_metadata(parts, request)
    dated = request.occurred_at is not None
    occurred_at = parse_when(request.occurred_at, "occurred_at") if request.occurred_at is not None else now
    expires_at = checked_expiry(request.expires_at, now, warnings)
    build = partial(turns_of, dated=dated, expires_at=expires_at, metadata=metadata)

    def build_turns() -> list[Turn]:
        kept = _read_clean_messages(parts, request, warnings)
        warnings.extend(kept.warnings)
        return build(scope, kept.messages, occurred_at)

    turns = await parts.io.compute(build_turns)
    keep_turns = parts.policy.curation.keep_turns if request.keep_turns is None else request.keep_turns
    said = ConverseConversation(scope, turns, metadata, request.prompt or "", dated, expires_at, keep_turns, project)
    said.compared_with = compared_with
    if not parts.policy.learns and not scope.user_id.startswith(PREFIX):
        return _disabled_answer(parts)
    if not is_inline(parts):
        return await queue_conversation(parts, said, warnings)
    if parts.llm is not None or await parts.waiting.anything(parts):
        await learn_waiting(parts, scope)
    learned = await learn_from_conversation(parts, said, keep=not request.strict)
    if learned.error is not None and request.strict:
        raise learned.error
    unforgotten = await parts.io.compute(partial(_forget_warnings, turns, learned))
    answer = _format_answer(learned, [*warnings, *learned.warnings, *unforgotten])
    left_out = learned.left_out + len(unforgotten)
    return {**answer, "left_out": left_out} if left_out else answer


def _check_prompt(parts: Parts, prompt: str | None) -> None:
    """Raise ``InvalidInput`` if instructions are given and no language model reads them."""
    strategies = parts.policy.curation.strategies
    unread = parts.llm is None or (strategies and FACTS not in strategies) or _is_digested(parts)
    if prompt and unread:
        raise InvalidInput(
            "prompt is for the language model that extracts facts, and none is used here",
            hint="configure llm (and extract.strategies with facts), or leave out prompt",
        )


def _is_digested(parts: Parts) -> bool:
    """Whether what is said waits for the end of its session, and is then distilled as a whole."""
    return not is_inline(parts) and parts.policy.formation.digest


def _read_clean_messages(parts: Parts, request: AddRequest, warnings: list[str]) -> Heard:
    """Return the messages of a request as they may be kept."""
    messages = check_attachments(parts.policy, stored_messages(_parse_messages(parts, request, warnings)))
    return clean_messages(messages, redaction_of(parts.policy))


def _parse_messages(parts: Parts, request: AddRequest, warnings: list[str]) -> list[Message]:
    """The messages; a blank one is an error like any other, and counted."""
    try:
        return read_messages(request.messages, parts.policy.limits, warnings)
    except InvalidInput:
        if not is_inline(parts) and _is_blank(request.messages):
            parts.workshop.counters.early_returns_empty_message += 1
        raise


def _is_blank(given: object) -> bool:
    items = [given] if isinstance(given, (str, Mapping)) else given if isinstance(given, Sequence) else []
    said = (one.get("content") if isinstance(one, Mapping) else one for one in items)
    return any(isinstance(text, str) and not text.strip() for text in said)


def _disabled_answer(parts: Parts) -> dict[str, Any]:
    parts.workshop.counters.early_returns_disabled += 1
    why = {"reason": "learning is switched off", "hint": "set policy.learns to true to learn again"}
    return {"results": [], "status": "disabled", **why}


def _forget_warnings(turns: Sequence[Turn], learned: Learned) -> list[str]:
    """Why requests to forget had no effect. Words never empty a memory: whoever wants that calls ``delete_all``."""
    told = ["asked to forget something that is not in memory" for _ in learned.unmet]
    asked = (turn.text for turn in turns if turn.message.role == "user" and not turn.said_before)
    if any(forgets_everything(expand_contractions(one.strip())) for text in asked for one in split_sentences(text)):
        told.append("asked to forget everything, but nothing was deleted: call delete_all to do that")
    return told


def _format_answer(learned: Learned, warnings: Sequence[str]) -> dict[str, Any]:
    answer = answer_of(learned.outcomes, warnings)
    if learned.error is not None:
        answer |= {"status": "partial" if learned.partial else "deferred", "error": learned.error.as_dict()}
    for name in ("degraded", "dropped", "review", "reason"):
        if told := getattr(learned, name):
            answer[name] = told
    return answer
