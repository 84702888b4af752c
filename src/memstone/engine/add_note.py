"""Store what somebody explicitly asks to remember: learn from it, or else keep its words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from memstone.engine.add import add
from memstone.engine.add_request import AddRequest, draft_request
from memstone.engine.learn.extract import CURATOR
from memstone.engine.learn.queue import is_inline
from memstone.engine.policy import policy_for
from memstone.engine.runtime import Runtime
from memstone.engine.store.draft import Draft
from memstone.model.memory import Layer
from memstone.ports.ledger import Tx

if TYPE_CHECKING:
    from memstone.results import AddResult


async def add_note(runtime: Runtime, request: AddRequest) -> AddResult:
    """Learn from one request now; where there is nothing to learn in it, store it word for word.

    Not what is known already, nor what a person deleted and nobody has said since, nor a request to forget, nor what
    tells nothing. With a key or a kind it is stored as it is. Where memory is formed later, rules alone look at it:
    nobody waits for a model. The switch of memory is about what chats leave behind, so this is carried out where it is
    off, too, and then word for word; a pause holds.
    """
    runtime = await policy_for(runtime, request)
    learns = runtime.policy.enabled and runtime.policy.learns
    runtime = replace(runtime, policy=replace(runtime.policy, enabled=True))
    as_it_is = replace(request, infer=False)
    if request.key or request.kind:
        return await add(runtime, as_it_is)
    if learns:
        answer = await add(runtime if is_inline(runtime) else _with_curator_only(runtime), replace(request, infer=True))
        if answer["status"] != "ok" or answer["results"] or answer.get("left_out"):
            return answer
    else:
        answer = {"results": [], "status": "ok"}
    return await _store_verbatim(runtime, as_it_is, answer)


async def _store_verbatim(runtime: Runtime, as_it_is: AddRequest, answer: AddResult) -> AddResult:
    """Store what nothing was learned from, unless there is a reason not to."""
    drafts = (await runtime.io.compute(partial(draft_request, runtime, as_it_is))).drafts
    if all(runtime.language.facts.tells_nothing(draft.text) for draft in drafts):
        return answer
    if await _is_deleted(runtime, drafts):
        return {**answer, "left_out": 1}
    return await add(runtime, as_it_is)


def _with_curator_only(runtime: Runtime) -> Runtime:
    """Return a runtime that learns now, and without a language model."""
    policy = runtime.policy
    curation = replace(policy.curation, strategies=(CURATOR,))
    formation = replace(policy.formation, mode="inline")
    return replace(runtime, llm=None, withheld_llm=None, policy=replace(policy, curation=curation, formation=formation))


async def _is_deleted(runtime: Runtime, drafts: Sequence[Draft]) -> bool:
    """Return whether a person has deleted these words, and they are no more than repeated."""

    async def work(tx: Tx) -> bool:
        for draft in drafts:
            deleted = await tx.suppressions.since(runtime.tenant_id, draft.dedupe)
            last = await tx.memories.latest(draft.scope, Layer.TURN) if deleted is not None else None
            if deleted is not None and (last is None or last[1] <= deleted):
                return True
        return False

    return await runtime.ledger.read(work)
