"""Turn a request into a conversation to learn from: checked, masked, cut into turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memstone.core.checks.arguments import checked_expiry
from memstone.core.checks.filters import split_scope
from memstone.core.talk.messages import read_messages, stored_messages
from memstone.engine.add_request import AddRequest, request_metadata, request_scope
from memstone.engine.learn.converse import ConversationToLearn
from memstone.engine.learn.extract import FACTS
from memstone.engine.learn.queue import is_inline
from memstone.engine.request_scope import rename_filter_users
from memstone.engine.runtime import Runtime
from memstone.engine.store.draft import check_attachments
from memstone.engine.store.turns import StorableMessages, clean_messages, redaction_of, turns_of
from memstone.errors import InvalidInput
from memstone.model.instant import parse_when
from memstone.model.message import Message
from memstone.model.query import Where


def prepare_conversation(runtime: Runtime, request: AddRequest) -> tuple[ConversationToLearn, list[str]]:
    """Check a request and cut it into turns; raise before anything is written. Return warnings, too."""
    compared_with = _check_learning(runtime, request)
    (scope, project), now = request_scope(runtime, request), runtime.now()
    metadata, warnings = request_metadata(runtime, request)
    dated = request.occurred_at is not None
    occurred_at = parse_when(request.occurred_at, "occurred_at") if request.occurred_at is not None else now
    expires_at = checked_expiry(request.expires_at, now, warnings)
    clean = _read_clean_messages(runtime, request, warnings)
    turns = turns_of(scope, clean.messages, occurred_at, dated=dated, expires_at=expires_at, metadata=metadata)
    keep_turns = runtime.policy.curation.keep_turns if request.keep_turns is None else request.keep_turns
    conversation = ConversationToLearn(
        scope, turns, metadata, request.prompt or "", dated, expires_at, keep_turns, project
    )
    conversation.compared_with = compared_with
    return conversation, [*warnings, *clean.warnings]


def _check_learning(runtime: Runtime, request: AddRequest) -> Where | None:
    """Raise ``InvalidInput`` for what only a stored text can have; return what new facts are compared with."""
    for name, value in (("key", request.key), ("kind", request.kind)):
        if value is not None:
            raise InvalidInput(
                f"a {name} describes one memory, but learning may store several or none",
                hint="pass infer=False to store the text itself as one memory, or agent_id and kind='procedural'",
            )
    _check_prompt(runtime, request.prompt)
    compared_with = rename_filter_users(runtime, split_scope(request.filters)[1])
    if compared_with is not None and _is_digested(runtime):
        raise InvalidInput(
            "filters choose which memories new facts are compared with, but here whole sessions are processed",
            hint="keep user_id, agent_id and run_id in filters, one value each, and leave out the rest",
        )
    return compared_with


def _check_prompt(runtime: Runtime, prompt: str | None) -> None:
    """Raise ``InvalidInput`` if instructions are given and no language model reads them."""
    strategies = runtime.policy.curation.strategies
    unread = runtime.llm is None or (strategies and FACTS not in strategies) or _is_digested(runtime)
    if prompt and unread:
        raise InvalidInput(
            "prompt is for the language model that extracts facts, and none is used here",
            hint="configure llm (and extract.strategies with facts), or leave out prompt",
        )


def _is_digested(runtime: Runtime) -> bool:
    """Return whether what is said waits for the end of its session, and is then distilled as a whole."""
    return not is_inline(runtime) and runtime.policy.formation.digest


def _read_clean_messages(runtime: Runtime, request: AddRequest, warnings: list[str]) -> StorableMessages:
    """Return the messages of a request as they may be kept."""
    messages = check_attachments(runtime.policy, stored_messages(_parse_messages(runtime, request, warnings)))
    return clean_messages(messages, redaction_of(runtime.policy))


def _parse_messages(runtime: Runtime, request: AddRequest, warnings: list[str]) -> list[Message]:
    """Return the messages; a blank one is an error like any other, and counted."""
    try:
        return read_messages(request.messages, runtime.policy.limits, warnings)
    except InvalidInput:
        if not is_inline(runtime) and _is_blank(request.messages):
            runtime.worker_state.counters.early_returns_empty_message += 1
        raise


def _is_blank(value: object) -> bool:
    items = [value] if isinstance(value, (str, Mapping)) else value if isinstance(value, Sequence) else []
    message = (one.get("content") if isinstance(one, Mapping) else one for one in items)
    return any(isinstance(text, str) and not text.strip() for text in message)
