"""Find what was said right before a text, as context for its embedding."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from memstone.engine.runtime import Runtime
from memstone.engine.store.draft import Draft
from memstone.model.instant import Instant
from memstone.model.memory import Record, conversation_of, goes_on
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx

_SHORT_ANSWER: Final = 6
"""So many words may be an answer that says nothing without its question."""


async def said_before(runtime: Runtime, drafts: Sequence[Draft]) -> list[str] | None:
    """Return the text before each draft in its conversation, '' if there is none; None when nobody would listen."""
    if not runtime.embedding.tells_words:
        return None
    last: dict[tuple[Scope, str], tuple[str, Instant] | None] = {}
    return [await _text_before_draft(runtime, draft, last) for draft in drafts]


async def _text_before_draft(
    runtime: Runtime, draft: Draft, last: dict[tuple[Scope, str], tuple[str, Instant] | None]
) -> str:
    scope, own = draft.scope, draft.source == "manual"
    if conversation_of(scope.agent_id, scope.run_id, draft.layer, own_words=own) is None:
        return ""
    name = scope, str(draft.layer)
    if name not in last:
        last[name] = await runtime.ledger.peek(lambda tx: tx.memories.latest(*name))
    before, last[name] = last[name], (draft.text, draft.occurred_at)
    if not needs_context(draft.text, draft.speaker, draft.role):
        return ""
    return _if_it_goes_on(before, scope, draft.occurred_at)


def needs_context(text: str, speaker: str, role: str) -> bool:
    """Return whether a turn is understood by what was said before it.

    Among people who speak by name every turn is. What somebody tells an assistant stands for itself, unless it is as
    short as an answer.
    """
    return speaker not in ("", role) or len(text.split()) <= _SHORT_ANSWER


async def read_contexts(runtime: Runtime, rows: Sequence[Record]) -> list[str] | None:
    """Return the text before each stored memory, '' if there is none; None if the embedder reads no context."""
    if not runtime.embedding.tells_words:
        return None
    return [await runtime.ledger.read(partial(stored_before, record=row)) for row in rows]


async def stored_before(tx: Tx, record: Record) -> str:
    """Return the text before a stored memory in its conversation."""
    links = await tx.links.of(record.tenant_id, record.seq)
    own = record.layer == "turn" or record.source == "manual"
    if not links:
        return ""
    scope = links[0].scope
    if not needs_context(record.text, str(record.data.get("speaker") or ""), str(record.source_role or "")):
        return ""
    if conversation_of(scope.agent_id, scope.run_id, record.layer, own_words=own) is None:
        return ""
    return _if_it_goes_on(await tx.memories.latest(scope, record.layer, record.seq), scope, record.occurred_at)


def _if_it_goes_on(before: tuple[str, Instant] | None, scope: Scope, at: Instant) -> str:
    return before[0] if before is not None and goes_on(scope.run_id, before[1], at) else ""
