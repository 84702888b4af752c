"""Memories whose vectors a caller brings along."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memstone.faces.base import Face

if TYPE_CHECKING:
    from memstone.results import VectorCount, VectorList, VectorMatches, VectorUnlink


class Vectoring(Face):
    """Memories whose vectors a caller brings along."""

    async def insert_vectors(
        self,
        vectors: Sequence[Mapping[str, Any]],
        *,
        user_id: str | int | None = None,
    ) -> VectorCount:
        """Store up to 1,000 vectors (``{"id", "values", "metadata"}``) for a user, all of them or none.

        An id that is there already is left as it is, and the user holds it from then on. They stand in a space of their
        own for each dimension, apart from that of the embedder. What ``metadata`` calls ``content`` or ``text`` is what
        a search by words finds. Without a user they are held by nobody until somebody is linked to them.

        Returns ``{"count": n, "ids": [...]}``.
        """
        from memstone.engine import vector_service

        return await self._engine.run(vector_service.put_vectors, vectors, user_id, overwrites=False)

    async def upsert_vectors(
        self,
        vectors: Sequence[Mapping[str, Any]],
        *,
        user_id: str | int | None = None,
    ) -> VectorCount:
        """The same as ``insert_vectors``, but an id that is there gets its next version, for all who hold it."""
        from memstone.engine import vector_service

        return await self._engine.run(vector_service.put_vectors, vectors, user_id, overwrites=True)

    async def query_vectors(
        self,
        vector: Sequence[float],
        *,
        user_id: str | int | None = None,
        top_k: int = 10,
        everybody: bool = False,
        values: bool = False,
        metadata: bool = True,
    ) -> VectorMatches:
        """The vectors of a user that are nearest to one, of the same dimension, best first.

        ``score`` is 1 minus the cosine distance. Without a user it is a ``ScopeError``, unless ``everybody`` is true.

        Returns ``{"matches": [{"id", "score", "values", "metadata"}]}``.
        """
        from memstone.engine.vector_service import query_vectors as query

        shown = {"everybody": everybody, "values": values, "metadata": metadata}
        return await self._engine.run(query, vector, user_id, top_k, **shown)

    async def get_vectors(self, ids: Sequence[str]) -> VectorList:
        """Vectors by their ids: ``{"vectors": [{"id", "values", "metadata"}]}``; those that are not there are not."""
        from memstone.engine import vector_service

        return await self._engine.run(vector_service.get_vectors, ids)

    async def delete_vectors(
        self,
        ids: Sequence[str],
        *,
        reason: str | None = None,
        dry_run: bool = False,
    ) -> VectorCount:
        """Delete vectors for all who hold them; gives the ids of those that were there."""
        from memstone.engine import vector_service

        return await self._engine.dry(dry_run).run(vector_service.delete_vectors, ids, reason)

    async def unlink_vector(
        self, vector_id: str, *, user_id: str | int | None = None, reason: str | None = None, dry_run: bool = False
    ) -> VectorUnlink:
        """Take a vector from one user; the others keep it, and with the last one it is deleted."""
        from memstone.engine import vector_service

        return await self._engine.dry(dry_run).run(vector_service.unlink_vector, vector_id, user_id, reason)
