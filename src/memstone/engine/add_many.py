"""``add_many``: up to a thousand items of ``add``, each with its own result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from memstone.engine.access.admission import check_admission
from memstone.engine.access.quotas import Ahead
from memstone.engine.add import answer_of, learn_messages, retry_waiting
from memstone.engine.add_request import AddDrafts, AddRequest, draft_request
from memstone.engine.batch import Batch, answered_before, carried_out, request_of
from memstone.engine.policy import policy_for
from memstone.engine.request_scope import admit_filters
from memstone.engine.runtime import Runtime
from memstone.engine.store.write import Outcome, PreparedDrafts, commit_drafts, embed_drafts
from memstone.errors import MemstoneError, StorageError
from memstone.ports.ledger import Tx

if TYPE_CHECKING:
    from memstone.results import AddBatchResult, AddResult


async def add_many(runtime: Runtime, items: Sequence[Mapping[str, Any]], idempotency_key: str | None) -> AddBatchResult:
    """Learn from requests one after the other, store the others in one transaction; each has its own result.

    Every conversation is settled against what the ones before it left, so each is a transaction of its own. The answer
    is noted under the key at the end: a batch that broke off may be sent again, and what is known by then is not added
    twice.
    """
    batch = Batch.of(runtime, "add", items, idempotency_key)
    if (answer := await answered_before(runtime, batch)) is not None:
        return answer
    ahead: Ahead = {}
    drafted = [await _process_item(runtime, item, ahead) for item in items]
    drafts = [draft for one in drafted if isinstance(one, AddDrafts) for draft in one.drafts]
    for at, draft in enumerate(drafts):
        draft.item = at
    await retry_waiting(runtime, drafts)
    prepared = await embed_drafts(runtime, drafts)
    if prepared.failed:
        drafted = _without_strict(drafted, prepared)
    now = runtime.now()

    async def work(tx: Tx) -> list[AddResult]:
        outcomes = iter(await commit_drafts(runtime, tx, prepared, now))
        return [_item_answer(one, outcomes) for one in drafted]

    answer = await carried_out(runtime, batch, work, now)
    if prepared.failed:
        runtime.waiting.record_deferral(runtime.tenant_id)
    return answer


def _without_strict(drafted: Sequence[AddDrafts | AddResult], prepared: PreparedDrafts) -> list[AddDrafts | AddResult]:
    """Return the items, with the error in place of strict ones of which something could not be embedded."""
    errors = {outcome.draft.item: outcome.error for outcome in prepared.failed}
    gone: set[int] = set()

    def item_or_error(one: AddDrafts | AddResult) -> AddDrafts | AddResult:
        own = [] if not isinstance(one, AddDrafts) or not one.strict else [draft.item for draft in one.drafts]
        error = next((errors[at] for at in own if at in errors), None)
        if error is None:
            return one
        gone.update(own)
        return _error_answer(error)

    left = [item_or_error(one) for one in drafted]
    prepared.drafts = [draft for draft in prepared.drafts if draft.item not in gone]
    prepared.failed = [outcome for outcome in prepared.failed if outcome.draft.item not in gone]
    return left


async def _process_item(runtime: Runtime, item: Mapping[str, Any], ahead: Ahead) -> AddDrafts | AddResult:
    """Return an item that is to be stored, or the answer to one that was learned from or is wrong."""
    try:
        request = request_of(AddRequest, item, "messages")
        request.filters = await admit_filters(runtime, request.filters)
        runtime = await policy_for(runtime, request)
        if request.infer:
            return await learn_messages(runtime, request)
        answer = await check_admission(runtime, request, ahead)
        return answer if answer is not None else await runtime.io.compute(partial(draft_request, runtime, request))
    except StorageError:  # it is not about this item
        raise
    except MemstoneError as error:
        return _error_answer(error)


def _item_answer(drafted: AddDrafts | AddResult, outcomes: Iterator[Outcome]) -> AddResult:
    if not isinstance(drafted, AddDrafts):
        return drafted
    return answer_of([next(outcomes) for _ in drafted.drafts], drafted.warnings)


def _error_answer(error: MemstoneError) -> AddResult:
    return {"results": [], "status": "error", "error": error.as_dict()}
