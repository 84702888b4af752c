"""What each route answers that is made from a verb, by the name of the verb."""

from __future__ import annotations

from typing import Any, Final

from memstone.server.schemas.answers import console, context, layers, memories, moving, store
from memstone.server.schemas.companion import Consolidated, Identity, Ingested
from memstone.server.schemas.memories import DeletedMany, FoundMemories
from memstone.server.schemas.vectors import Counted, HeldVectors, Matches, Unlinked

VERBS: Final[dict[str, Any]] = {
    "admin.accounts.rotate_token_key": console.TokenKeyRotated,
    "admin.consolidate": Consolidated,
    "admin.erase": moving.ErasureReport | moving.ErasureTrial,
    "admin.pending_vectors": int,
    "admin.redact": store.Redacted,
    "admin.refresh_vectors": store.Refreshed,
    "admin.reindex": store.Reindexed,
    "admin.status": store.EngineMade,
    "admin.summarize": store.ShortenedOne,
    "delete_all": DeletedMany,
    "explain": memories.Explanation,
    "get_all": FoundMemories,
    "graph.relations": layers.Relations,
    "identity.add_override": Identity,
    "identity.get": Identity,
    "identity.instructions": layers.Instructions,
    "identity.remove_override": Identity,
    "identity.set_narrative": Identity,
    "identity.set_overrides": Identity,
    "profile.facts": layers.Pinned,
    "profile.preview_search": context.Candidates,
    "review.replacements": memories.Replacements,
    "sessions.backfill": layers.Backfilled,
    "sessions.end": layers.SessionsEnded,
    "sessions.episodes": layers.Episodes,
    "sessions.ingest": Ingested,
    "sessions.transcript": layers.TranscriptPage,
    "sharing.replace": memories.ChangedMemory,
    "vectors.delete": Counted,
    "vectors.get": HeldVectors,
    "vectors.insert": Counted,
    "vectors.query": Matches,
    "vectors.unlink": Unlinked,
    "vectors.upsert": Counted,
}
