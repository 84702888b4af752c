"""Who a user is, by another system's record of it; only on the word of somebody who may speak for that user."""

from __future__ import annotations

from collections import Counter
from typing import Any

from memstone.core.importers.items import Sort
from memstone.core.text.normalize import normal_text
from memstone.engine.layers.derived import identity_dedupe
from memstone.engine.layers.identity import add_override, identity
from memstone.engine.layers.narrative import import_narrative
from memstone.engine.moving.imported_items import Taken
from memstone.engine.parts import Parts
from memstone.model.memory import Kind
from memstone.model.scope import Scope


async def keep_identity(parts: Parts, one: Taken, skipped: Counter[str]) -> Counter[str]:
    """Keep what a user wrote about themselves, or the text about them where there is none yet."""
    owner, is_text = Scope(one.scope.tenant_id, one.scope.user_id), one.item.sort is Sort.NARRATIVE
    name = identity_dedupe(owner, Kind.NARRATIVE, "narrative")
    if not is_text:
        name = identity_dedupe(owner, Kind.OVERRIDE, one.item.text)
    if await parts.ledger.peek(lambda tx: tx.suppressed.has(owner.tenant_id, name)):
        return Counter(deleted=1)
    known = await identity(parts, owner.user_id)
    if is_text:
        return await _text(parts, one, known, skipped)
    if normal_text(one.item.text) in {normal_text(each["text"]) for each in known["overrides"]}:
        return Counter(known=1)
    await add_override(parts, owner.user_id, one.item.text)
    return Counter(stored=1)


async def _text(parts: Parts, one: Taken, known: dict[str, Any], skipped: Counter[str]) -> Counter[str]:
    """The text about the user; one that is there already is theirs to change, not an import's."""
    there = known["narrative"]
    if there is None:
        await import_narrative(parts, one.scope.user_id, one.item.text, one.item.model, one.item.occurred_at)
        return Counter(stored=1)
    if there["text"] == one.item.text:
        return Counter(known=1)
    skipped["there is a text about the user already"] += 1
    return Counter()
