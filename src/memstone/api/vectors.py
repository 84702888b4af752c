"""Memories whose vectors you bring along."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memstone.api.base import Group
from memstone.drive import drive

if TYPE_CHECKING:
    from memstone.results import VectorCount, VectorList, VectorMatches, VectorUnlink


class VectorVerbs(Group):
    """Memories whose vectors you bring along."""

    def insert(self, vectors: Sequence[Mapping[str, Any]], *, user_id: str | int | None = None) -> VectorCount:
        """Store up to 1,000 vectors (``{"id", "values", "metadata"}``) for a user, all of them or none.

        An id that is there already is left as it is, and the user holds it from then on. They stand in a space of their
        own for each dimension, apart from that of the embedder. What ``metadata`` calls ``content`` or ``text`` is what
        a search by words finds. Without a user they are held by nobody until somebody is linked to them.

        Returns ``{"count": n, "ids": [...]}``.
        """
        from memstone.engine import vector_service

        return drive(self.engine.run(vector_service.put_vectors, vectors, user_id, overwrites=False))

    def upsert(self, vectors: Sequence[Mapping[str, Any]], *, user_id: str | int | None = None) -> VectorCount:
        """Store vectors as ``insert`` does, but give an id that is there its next version, for all who hold it."""
        from memstone.engine import vector_service

        return drive(self.engine.run(vector_service.put_vectors, vectors, user_id, overwrites=True))

    def query(
        self,
        vector: Sequence[float],
        *,
        user_id: str | int | None = None,
        limit: int = 10,
        everybody: bool = False,
        values: bool = False,
        metadata: bool = True,
    ) -> VectorMatches:
        """Return the vectors of a user that are nearest to one, of the same dimension, best first.

        ``score`` is 1 minus the cosine distance. Without a user it is a ``ScopeError``, unless ``everybody`` is true.

        Returns ``{"matches": [{"id", "score", "values", "metadata"}]}``.
        """
        from memstone.engine import vector_service

        options = {"everybody": everybody, "values": values, "metadata": metadata}
        return drive(self.engine.run(vector_service.query_vectors, vector, user_id, limit, **options))

    def get(self, ids: Sequence[str]) -> VectorList:
        """Return the vectors with these ids that exist: ``{"vectors": [{"id", "values", "metadata"}]}``."""
        from memstone.engine import vector_service

        return drive(self.engine.run(vector_service.get_vectors, ids))

    def delete(
        self,
        ids: Sequence[str],
        *,
        reason: str | None = None,
        dry_run: bool = False,
    ) -> VectorCount:
        """Delete vectors for all who hold them; return the ids of those that were there."""
        from memstone.engine import vector_service

        return drive(self.engine.dry(dry_run).run(vector_service.delete_vectors, ids, reason))

    def unlink(
        self, vector_id: str, *, user_id: str | int | None = None, reason: str | None = None, dry_run: bool = False
    ) -> VectorUnlink:
        """Take a vector from one user; the others keep it, and with the last one it is deleted."""
        from memstone.engine import vector_service

        return drive(self.engine.dry(dry_run).run(vector_service.unlink_vector, vector_id, user_id, reason))
