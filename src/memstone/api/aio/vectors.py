"""Memories with the caller's own vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memstone.api.base import Group

if TYPE_CHECKING:
    from memstone.results import VectorCount, VectorList, VectorMatches, VectorUnlink


class AsyncVectorVerbs(Group):
    """Memories with your own vectors."""

    async def insert(self, vectors: Sequence[Mapping[str, Any]], *, user_id: str | int | None = None) -> VectorCount:
        """Store up to 1,000 vectors (``{"id", "values", "metadata"}``) for a user, all of them or none.

        An existing id is left as it is and shared with the user. The vectors are in a separate space for each
        dimension, apart from those of the embedder. The field ``content`` or ``text`` of ``metadata`` is what a search
        by words finds. Without a user they belong to nobody until someone is linked to them.

        Returns ``{"count": n, "ids": [...]}``.
        """
        from memstone.engine import vector_service

        return await self.engine.run(vector_service.put_vectors, vectors, user_id, overwrites=False)

    async def upsert(self, vectors: Sequence[Mapping[str, Any]], *, user_id: str | int | None = None) -> VectorCount:
        """Store vectors as ``insert`` does, but give an existing id its next version, for all who share it."""
        from memstone.engine import vector_service

        return await self.engine.run(vector_service.put_vectors, vectors, user_id, overwrites=True)

    async def query(
        self,
        vector: Sequence[float],
        *,
        user_id: str | int | None = None,
        limit: int = 10,
        everybody: bool = False,
        values: bool = False,
        metadata: bool = True,
    ) -> VectorMatches:
        """Return the vectors of a user that are most similar to one, with the same dimension, best first.

        ``score`` is 1 minus the cosine distance. Without a user it is a ``ScopeError``, unless ``everybody`` is true.

        Returns ``{"matches": [{"id", "score", "values", "metadata"}]}``.
        """
        from memstone.engine import vector_service

        options = {"everybody": everybody, "values": values, "metadata": metadata}
        return await self.engine.run(vector_service.query_vectors, vector, user_id, limit, **options)

    async def get(self, ids: Sequence[str]) -> VectorList:
        """Return the vectors with these ids that exist: ``{"vectors": [{"id", "values", "metadata"}]}``."""
        from memstone.engine import vector_service

        return await self.engine.run(vector_service.get_vectors, ids)

    async def delete(
        self,
        ids: Sequence[str],
        *,
        reason: str | None = None,
        dry_run: bool = False,
    ) -> VectorCount:
        """Delete vectors for all who share them; return the ids of those that existed."""
        from memstone.engine import vector_service

        return await self.engine.dry(dry_run).run(vector_service.delete_vectors, ids, reason)

    async def unlink(
        self, vector_id: str, *, user_id: str | int | None = None, reason: str | None = None, dry_run: bool = False
    ) -> VectorUnlink:
        """Take a vector away from one user; the others keep it, and with the last one it is deleted."""
        from memstone.engine import vector_service

        return await self.engine.dry(dry_run).run(vector_service.unlink_vector, vector_id, user_id, reason)
