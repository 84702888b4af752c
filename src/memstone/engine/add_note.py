"""What somebody asks to be remembered, in so many words: learned from, or else kept as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from memstone.engine.add import add
from memstone.engine.add_request import AddRequest, draft_request
from memstone.engine.learning.extract import PATTERN
from memstone.engine.learning.queueing import is_inline
from memstone.engine.policy import tuned_for
from memstone.engine.runtime import Parts
from memstone.engine.storing.draft import Draft
from memstone.model.memory import Layer
from memstone.ports.ledger import Tx

if TYPE_CHECKING:
    from memstone.results import AddResult


async def add_note(parts: Parts, request: AddRequest) -> AddResult:
    """Learn from one request now; where there is nothing to learn in it, store it word for word.

    Not what is known already, nor what a person deleted and nobody has said since, nor a request to forget, nor what
    tells nothing. With a key or a kind it is stored as it is. Where memory is formed later, rules alone look at it:
    nobody waits for a model. The switch of memory is about what chats leave behind, so this is carried out where it is
    off, too, and then word for word; a pause holds.
    """
    parts = await tuned_for(parts, request)
    learns = parts.policy.enabled and parts.policy.learns
    parts = replace(parts, policy=replace(parts.policy, enabled=True))
    as_it_is = replace(request, infer=False)
    if request.key or request.kind:
        return await add(parts, as_it_is)
    if learns:
        answer = await add(parts if is_inline(parts) else _by_rules(parts), replace(request, infer=True))
        if answer["status"] != "ok" or answer["results"] or answer.get("left_out"):
            return answer
    else:
        answer = {"results": [], "status": "ok"}
    return await _store_verbatim(parts, as_it_is, answer)


async def _store_verbatim(parts: Parts, as_it_is: AddRequest, answer: AddResult) -> AddResult:
    """Store what nothing was learned from, unless there is a reason not to."""
    drafts = (await parts.io.compute(partial(draft_request, parts, as_it_is))).drafts
    if all(parts.language.facts.tells_nothing(draft.text) for draft in drafts):
        return answer
    if await _is_deleted(parts, drafts):
        return {**answer, "left_out": 1}
    return await add(parts, as_it_is)


def _by_rules(parts: Parts) -> Parts:
    policy = parts.policy
    curation = replace(policy.curation, strategies=(PATTERN,))
    formation = replace(policy.formation, mode="inline")
    return replace(parts, llm=None, policy=replace(policy, curation=curation, formation=formation))


async def _is_deleted(parts: Parts, drafts: Sequence[Draft]) -> bool:
    """Whether a person has deleted these words, and they are no more than repeated."""

    async def work(tx: Tx) -> bool:
        for draft in drafts:
            deleted = await tx.suppressed.since(parts.tenant_id, draft.dedupe)
            last = await tx.memories.latest(draft.scope, Layer.TURN) if deleted is not None else None
            if deleted is not None and (last is None or last[1] <= deleted):
                return True
        return False

    return await parts.ledger.read(work)
