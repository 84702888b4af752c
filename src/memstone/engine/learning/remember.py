"""``add``: one call or a batch, learned from or stored as given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from memstone.core.checks.arguments import checked_expiry, checked_key, checked_kind, checked_metadata
from memstone.core.checks.filters import Filters, split_scope
from memstone.core.talk.messages import MessagesInput, read_messages, stored_messages
from memstone.engine import results
from memstone.engine.access.admission import turned_away
from memstone.engine.access.quotas import Ahead
from memstone.engine.batch import Batch, answered_before, carried_out, request_of
from memstone.engine.policy import tuned_for
from memstone.engine.runtime import Parts
from memstone.engine.scoping import admit_filters, scope_in
from memstone.engine.storing.draft import Details, Draft, check_attachments, verbatim_draft
from memstone.engine.storing.repeat_counter import note_known
from memstone.engine.storing.turns import mask_messages, masked_metadata, redaction_of
from memstone.engine.storing.write import Outcome, Prepared, commit_drafts, embed_drafts
from memstone.errors import InvalidInput, MemstoneError, StorageError
from memstone.model.instant import When, parse_when
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx


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
class Drafted:
    """A request that passed all checks."""

    drafts: list[Draft]
    warnings: list[str] = field(default_factory=list)
    strict: bool = False


async def add_from_request(parts: Parts, request: AddRequest) -> dict[str, Any]:
    """Store what one request says, or what follows from it."""
    if request.infer:
        return await _learn_if_admitted(parts, request)
    if (answer := await turned_away(parts, request)) is not None:
        return answer
    drafted = await parts.io.compute(partial(draft_request, parts, request))
    if not parts.waiting.none(parts.tenant_id):
        await _catch_up(parts, drafted.drafts)
    prepared = await embed_drafts(parts, drafted.drafts)
    if request.strict:
        _check_all(prepared)
    now = parts.now()
    outcomes = await parts.ledger.write(lambda tx: commit_drafts(parts, tx, prepared, now, lazy=True))
    if prepared.failed:
        parts.waiting.left(parts.tenant_id)
    await note_known(parts, outcomes, now)
    return answer_of(outcomes, drafted.warnings)


async def add_many(parts: Parts, items: Sequence[Mapping[str, Any]], idempotency_key: str | None) -> dict[str, Any]:
    """Learn from requests one after the other, store the others in one transaction; each has its own result.

    Every conversation is settled against what the ones before it left, so each is a transaction of its own. The answer
    is noted under the key at the end: a batch that broke off may be sent again, and what is known by then is not added
    twice.
    """
    batch = Batch.of(parts, "add", items, idempotency_key)
    if (answer := await answered_before(parts, batch)) is not None:
        return answer
    ahead: Ahead = {}
    drafted = [await _process_item(parts, item, ahead) for item in items]
    drafts = [draft for one in drafted if isinstance(one, Drafted) for draft in one.drafts]
    for at, draft in enumerate(drafts):
        draft.item = at
    await _catch_up(parts, drafts)
    prepared = await embed_drafts(parts, drafts)
    if prepared.failed:
        drafted = _without_strict(drafted, prepared)
    now = parts.now()

    async def work(tx: Tx) -> list[dict[str, Any]]:
        outcomes = iter(await commit_drafts(parts, tx, prepared, now))
        return [_item_answer(one, outcomes) for one in drafted]

    answer = await carried_out(parts, batch, work, now)
    if prepared.failed:
        parts.waiting.left(parts.tenant_id)
    return answer


async def _catch_up(parts: Parts, drafts: Sequence[Draft]) -> None:
    """Try again what waits for these people, if anything does and nobody works in the background."""
    if parts.policy.formation.mode == "inline" and await parts.waiting.anything(parts):
        from memstone.engine.work.pending import learn_waiting

        for scope in {draft.scope for draft in drafts}:
            if not await learn_waiting(parts, scope, verbatim=parts.llm is not None):
                break  # whatever is down is down for the others too


def _check_all(prepared: Prepared) -> None:
    """Whoever is strict hears of the first text that could not be embedded, before anything is written."""
    for outcome in prepared.failed:
        if outcome.error is not None:
            raise outcome.error


def _without_strict(drafted: Sequence[Drafted | dict[str, Any]], prepared: Prepared) -> list[Drafted | dict[str, Any]]:
    """The items, with the error in the place of strict ones of which something could not be embedded."""
    errors = {outcome.draft.item: outcome.error for outcome in prepared.failed}
    gone: set[int] = set()

    def item_or_error(one: Drafted | dict[str, Any]) -> Drafted | dict[str, Any]:
        own = [] if not isinstance(one, Drafted) or not one.strict else [draft.item for draft in one.drafts]
        error = next((errors[at] for at in own if at in errors), None)
        if error is None:
            return one
        gone.update(own)
        return {"results": [], "status": "error", "error": error.as_dict()}

    left = [item_or_error(one) for one in drafted]
    prepared.drafts = [draft for draft in prepared.drafts if draft.item not in gone]
    prepared.failed = [outcome for outcome in prepared.failed if outcome.draft.item not in gone]
    return left


async def _learn_if_admitted(parts: Parts, request: AddRequest) -> dict[str, Any]:
    """Learn from a request, unless nothing is learned from whoever speaks."""
    counters = parts.workshop.counters
    if parts.policy.formation.mode != "inline":
        counters.attempt(parts.now())
    if (answer := await turned_away(parts, request)) is not None:
        counters.early_returns_disabled += 1
        return answer
    return await _run_learning(parts, request)


async def _run_learning(parts: Parts, request: AddRequest) -> dict[str, Any]:
    from memstone.engine.learning.learn import learn_from_request  # its rules take longer to load than all the rest

    return await learn_from_request(parts, request)


def draft_request(parts: Parts, request: AddRequest) -> Drafted:
    """Check a request and cut it into drafts; raises before anything is written."""
    if request.prompt:
        raise InvalidInput(
            "prompt sets how to learn, but infer=False stores the text as it is", hint="leave out one of them"
        )
    limits = parts.policy.limits
    scope, project = request_scope(parts, request)
    now = parts.now()
    metadata, warnings = request_metadata(parts, request)
    kind, key = checked_kind(request.kind), checked_key(request.key, limits)
    occurred_at = now if request.occurred_at is None else parse_when(request.occurred_at, "occurred_at")
    expires_at = checked_expiry(request.expires_at, now, warnings)
    messages = check_attachments(parts.policy, stored_messages(read_messages(request.messages, limits, warnings)))
    if key and len(messages) > 1:
        raise InvalidInput("a key names one memory, but there are several messages", hint="add them one by one")
    kept, found = mask_messages(messages, redaction_of(parts.policy))
    details = Details(kind, occurred_at, key, expires_at, metadata, dated=request.occurred_at is not None)
    fields = parts.policy.dedupe_scope
    drafts = [verbatim_draft(scope, message, details, fields, at) for at, message in enumerate(kept)]
    for draft in drafts:
        draft.also = project
    return Drafted(drafts, [*warnings, *found], request.strict)


def request_metadata(parts: Parts, request: AddRequest) -> tuple[dict[str, Any], list[str]]:
    """The metadata of a request, checked and without secrets, and what was masked."""
    given, warnings = checked_metadata(request.metadata, parts.policy.limits)
    if not given:
        return given, warnings
    clean, found = masked_metadata(given, redaction_of(parts.policy))
    return clean, [*warnings, *found]


def request_scope(parts: Parts, request: AddRequest) -> tuple[Scope, Scope | None]:
    """Whose memory it is about, and in which project; where one's own memory is off, the project still learns."""
    given = {"user_id": request.user_id, "agent_id": request.agent_id, "run_id": request.run_id}
    if request.filters is None and request.project_id is None:  # most calls
        return parts.required_scope(given), None
    inside, rest = split_scope(request.filters)
    if rest is not None and not request.infer:
        raise InvalidInput(
            "filters choose which memories new facts are compared with, but infer=False compares with none",
            hint="keep user_id, agent_id and run_id in filters, one value each, and leave out the rest",
        )
    own, project = scope_in(parts, given, inside, request.project_id, rest)
    is_off = not (parts.policy.enabled and parts.policy.learns)
    return (project, None) if project is not None and is_off else (own, project)


async def _process_item(parts: Parts, item: Mapping[str, Any], ahead: Ahead) -> Drafted | dict[str, Any]:
    """An item that is to be stored, or the answer to one that was learned from or is wrong."""
    try:
        request = request_of(AddRequest, item, "messages")
        request.filters = await admit_filters(parts, request.filters)
        parts = await tuned_for(parts, request)
        if request.infer:
            return await _learn_if_admitted(parts, request)
        answer = await turned_away(parts, request, ahead)
        return answer if answer is not None else await parts.io.compute(partial(draft_request, parts, request))
    except StorageError:  # it is not about this item
        raise
    except MemstoneError as error:
        return {"results": [], "status": "error", "error": error.as_dict()}


def _item_answer(drafted: Drafted | dict[str, Any], outcomes: Iterator[Outcome]) -> dict[str, Any]:
    if not isinstance(drafted, Drafted):
        return drafted
    return answer_of([next(outcomes) for _ in drafted.drafts], drafted.warnings)


def answer_of(outcomes: Sequence[Outcome], warnings: Sequence[str]) -> dict[str, Any]:
    """Results, and whether all of it was stored (``ok``), some (``partial``) or none yet (``deferred``); and why."""
    waiting = [outcome for outcome in outcomes if outcome.error is not None]
    status = "ok" if not waiting else "deferred" if len(waiting) == len(outcomes) else "partial"
    answer: dict[str, Any] = {
        "results": [results.format_change(outcome) for outcome in outcomes if outcome.error is None],
        "status": status,
    }
    if waiting:
        answer["deferred"] = [results.format_change(outcome) for outcome in waiting]
    if status == "deferred":
        answer["error"] = answer["deferred"][0]["error"]
    if warnings:
        answer["warnings"] = list(warnings)
    return answer
