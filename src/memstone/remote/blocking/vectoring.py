"""Memories whose vectors a caller brings along.

The part of ``Client``, made by ``scripts/make_client.py``: do not edit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memstone.drive import drive
from memstone.remote.base import Remote

if TYPE_CHECKING:
    from memstone.results import VectorCount, VectorList, VectorMatches, VectorUnlink


class Vectoring(Remote):
    """Memories whose vectors a caller brings along."""

    def insert_vectors(self, vectors: Sequence[Mapping[str, Any]], *, user_id: str | int | None = None) -> VectorCount:
        """Store up to 1,000 vectors (``{"id", "values", "metadata"}``) for a user, all of them or none.

        An id that is there already is left as it is, and the user holds it from then on. They stand in a space of their
        own for each dimension, apart from that of the embedder. What ``metadata`` calls ``content`` or ``text`` is what
        a search by words finds. Without a user they are held by nobody until somebody is linked to them.

        Returns ``{"count": n, "ids": [...]}``.
        """
        given: dict[str, Any] = {"vectors": vectors, "user_id": user_id}
        result: VectorCount = drive(self._link.call("insert_vectors", given))
        return result

    def upsert_vectors(self, vectors: Sequence[Mapping[str, Any]], *, user_id: str | int | None = None) -> VectorCount:
        """The same as ``insert_vectors``, but an id that is there gets its next version, for all who hold it."""
        given: dict[str, Any] = {"vectors": vectors, "user_id": user_id}
        result: VectorCount = drive(self._link.call("upsert_vectors", given))
        return result

    def query_vectors(
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
        given: dict[str, Any] = {
            "vector": vector,
            "user_id": user_id,
            "top_k": top_k,
            "everybody": everybody,
            "values": values,
            "metadata": metadata,
        }
        result: VectorMatches = drive(self._link.call("query_vectors", given))
        return result

    def get_vectors(self, ids: Sequence[str]) -> VectorList:
        """Vectors by their ids: ``{"vectors": [{"id", "values", "metadata"}]}``; those that are not there are not."""
        given: dict[str, Any] = {"ids": ids}
        result: VectorList = drive(self._link.call("get_vectors", given))
        return result

    def delete_vectors(self, ids: Sequence[str], *, reason: str | None = None, dry_run: bool = False) -> VectorCount:
        """Delete vectors for all who hold them; gives the ids of those that were there."""
        given: dict[str, Any] = {"ids": ids, "reason": reason, "dry_run": dry_run}
        result: VectorCount = drive(self._link.call("delete_vectors", given))
        return result

    def unlink_vector(
        self,
        vector_id: str,
        *,
        user_id: str | int | None = None,
        reason: str | None = None,
        dry_run: bool = False,
    ) -> VectorUnlink:
        """Take a vector from one user; the others keep it, and with the last one it is deleted."""
        given: dict[str, Any] = {"vector_id": vector_id, "user_id": user_id, "reason": reason, "dry_run": dry_run}
        result: VectorUnlink = drive(self._link.call("unlink_vector", given))
        return result
