"""Writing the file of a store anew, so that nothing of what was erased remains between its rows.

Deleted content is zeroed at once, but SQLite may have moved a row within the file before, and what it leaves behind
there it does not zero. Only writing everything anew removes that for sure, and nobody can write meanwhile: two seconds
for 140 MB. So it is done at once for whoever operates the store, and for a tenant when it is quiet, once for all that
was erased until then.
"""

from __future__ import annotations

from typing import Final

from memstone.engine.parts import Parts
from memstone.model.access import StoredSecret
from memstone.model.instant import Instant
from memstone.ports.erasure import WHOLE_STORE
from memstone.ports.ledger import Tx
from memstone.ports.storage import Copying

_QUIET_SECONDS: Final = 5.0
_LATEST_SECONDS: Final = 600.0
"""So long it is waited at most until nobody calls."""

_NAME: Final = "compacted"
_NOTHING: Final = b"\0"


async def compact(parts: Parts) -> bool:
    """Write the file anew, and remember when; False when a snapshot of somebody's keeps the log from being emptied."""
    if not isinstance(parts.ledger, Copying):
        return True
    began = parts.now()
    done = await parts.ledger.wipe()
    if done:
        note = StoredSecret(_NOTHING, began)
        await parts.ledger.write(lambda tx: tx.vault.put_secret(WHOLE_STORE, _NAME, note))
    return done


async def compacted_since(parts: Parts, moment: Instant) -> bool:
    """Return whether the file was written anew since a moment."""
    last = await parts.ledger.read(lambda tx: tx.vault.secret(WHOLE_STORE, _NAME))
    return last is not None and last.created_at >= moment


async def compact_if_owed(parts: Parts) -> bool:
    """Write the file anew if something was erased since that was done; gives whether it was."""
    if not isinstance(parts.ledger, Copying) or not parts.ledger.holds_files:
        return False
    return await parts.ledger.read(_is_owed) and await compact(parts)


async def _is_owed(tx: Tx) -> bool:
    last = await tx.vault.secret(WHOLE_STORE, _NAME)
    erased = await tx.vault.erasures()
    return bool(erased) and (last is None or max(one.created_at for one in erased) > last.created_at)


def compact_when_quiet(parts: Parts) -> None:
    """Let the file be written anew in the background once nobody calls; of those who want that, the first starts it."""
    shop = parts.workshop
    if shop.compaction is None or not shop.compaction.alive:
        shop.compaction = parts.io.spawn(_compact_when_quiet(parts), name="memstone-compaction", stop=shop.leave)


async def _compact_when_quiet(parts: Parts) -> None:
    shop, waited = parts.workshop, 0.0
    while waited < _LATEST_SECONDS and not shop.stopping:
        await shop.bell(parts.io).wait(_QUIET_SECONDS)
        waited += _QUIET_SECONDS
        if not shop.busy:
            break
    if not shop.stopping:
        await compact(parts)
