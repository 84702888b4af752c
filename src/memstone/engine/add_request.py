"""Check the arguments of ``add`` before anything is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from memstone.core.checks.arguments import checked_expiry, checked_key, checked_kind, checked_metadata
from memstone.core.checks.filters import Filters, split_scope
from memstone.core.talk.messages import MessagesInput, read_messages, stored_messages
from memstone.engine.request_scope import scope_in
from memstone.engine.runtime import Runtime
from memstone.engine.store.draft import Details, Draft, check_attachments, verbatim_draft
from memstone.engine.store.turns import mask_messages, masked_metadata, redaction_of
from memstone.errors import InvalidInput
from memstone.model.instant import When, parse_when
from memstone.model.scope import Scope


@dataclass(slots=True)
class AddRequest:
    """One call of ``add``."""

    messages: MessagesInput
    user_id: Any = None
    agent_id: Any = None
    run_id: Any = None
    metadata: Mapping[str, Any] | None = None
    filters: Filters | None = None
    infer: bool = True
    kind: str | None = None
    key: str | None = None
    occurred_at: When | None = None
    expires_at: When | None = None
    prompt: str | None = None
    strict: bool = False
    keep_turns: bool | None = None
    project_id: Any = None


@dataclass(slots=True)
class AddDrafts:
    """The drafts of a checked request, and what to warn of."""

    drafts: list[Draft]
    warnings: list[str] = field(default_factory=list)
    strict: bool = False


def draft_request(runtime: Runtime, request: AddRequest) -> AddDrafts:
    """Check a request and cut it into drafts; raises before anything is written."""
    if request.prompt:
        raise InvalidInput(
            "prompt sets how to learn, but infer=False stores the text as it is", hint="leave out one of them"
        )
    limits = runtime.policy.limits
    scope, project = request_scope(runtime, request)
    now = runtime.now()
    metadata, warnings = request_metadata(runtime, request)
    kind, key = checked_kind(request.kind), checked_key(request.key, limits)
    occurred_at = now if request.occurred_at is None else parse_when(request.occurred_at, "occurred_at")
    expires_at = checked_expiry(request.expires_at, now, warnings)
    messages = check_attachments(runtime.policy, stored_messages(read_messages(request.messages, limits, warnings)))
    if key and len(messages) > 1:
        raise InvalidInput("a key names one memory, but there are several messages", hint="add them one by one")
    remaining, found = mask_messages(messages, redaction_of(runtime.policy))
    details = Details(kind, occurred_at, key, expires_at, metadata, dated=request.occurred_at is not None)
    fields = runtime.policy.dedupe_scope
    drafts = [verbatim_draft(scope, message, details, fields, at) for at, message in enumerate(remaining)]
    for draft in drafts:
        draft.also = project
    return AddDrafts(drafts, [*warnings, *found], request.strict)


def request_metadata(runtime: Runtime, request: AddRequest) -> tuple[dict[str, Any], list[str]]:
    """Return the metadata of a request, checked and without secrets, and what was masked."""
    values, warnings = checked_metadata(request.metadata, runtime.policy.limits)
    if not values:
        return values, warnings
    clean, found = masked_metadata(values, redaction_of(runtime.policy))
    return clean, [*warnings, *found]


def request_scope(runtime: Runtime, request: AddRequest) -> tuple[Scope, Scope | None]:
    """Return whose memory it is about, and in which project.

    Where one's own memory is off, the project still learns.
    """
    values = {"user_id": request.user_id, "agent_id": request.agent_id, "run_id": request.run_id}
    if request.filters is None and request.project_id is None:  # most calls
        return runtime.required_scope(values), None
    inside, rest = split_scope(request.filters)
    if rest is not None and not request.infer:
        raise InvalidInput(
            "filters choose which memories new facts are compared with, but infer=False compares with none",
            hint="keep user_id, agent_id and run_id in filters, one value each, and leave out the rest",
        )
    own, project = scope_in(runtime, values, inside, request.project_id, rest)
    is_off = not (runtime.policy.enabled and runtime.policy.learns)
    return (project, None) if project is not None and is_off else (own, project)
