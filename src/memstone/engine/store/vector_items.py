"""Check the vectors that callers pass."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

import numpy as np

from memstone.core.checks.arguments import checked_metadata, checked_text
from memstone.engine.runtime import Runtime
from memstone.engine.store.turns import masked_metadata, masked_text, redaction_of
from memstone.engine.store.versions import Space, Vectors
from memstone.errors import Conflict, InvalidInput
from memstone.model.access import Bounds, Users
from memstone.model.ids import MAX_ID_CHARS
from memstone.model.memory import Layer, Record, Status
from memstone.ports.ledger import IndexInfo, Tx

EXTERNAL: Final = "external"
MOST: Final = 1_000
VECTOR: Final = "vector"
"""What is noted about a vector stands under this name in the data of its memory."""

VECTOR_ID: Final = "vector_id"
"""The id that a caller gave a vector stands under this name, where it is stored under another."""

_DIMENSIONS: Final = 8_192
_TEXTS: Final = ("content", "text", "memory", "fact", "data")


@dataclass(frozen=True, slots=True)
class SuppliedVector:
    """One vector, checked: of length 1, with what it was multiplied by for that."""

    id: str
    vector: bytes
    length: float
    text: str
    metadata: dict[str, Any]
    silent: bool = False
    embedded: Vectors = ()


def checked_items(runtime: Runtime, vectors: object) -> tuple[list[SuppliedVector], Space, list[str]]:
    """Return what a caller sends, checked; the space they belong to, and what was masked or left out."""
    if not isinstance(vectors, Sequence) or isinstance(vectors, (str, bytes)) or not vectors:
        raise InvalidInput("vectors must be a list of {id, values, metadata}")
    if len(vectors) > MOST:
        raise InvalidInput(
            f"{len(vectors):,} vectors are too many: the limit is {MOST:,}", hint="send them in several calls"
        )
    warnings: list[str] = []
    items = [_validate_item(runtime, one, f"vectors[{at}]", warnings) for at, one in enumerate(vectors)]
    sizes = {len(one.vector) for one in items}
    if len(sizes) > 1:
        raise InvalidInput("all vectors in a call must have the same dimension", hint="make one call per dimension")
    if len({one.id for one in items}) < len(items):
        raise InvalidInput("an id appears twice", hint="give each vector its own id")
    return items, space_of(sizes.pop() // 4), warnings


def _validate_item(runtime: Runtime, value: object, name: str, warnings: list[str]) -> SuppliedVector:
    if not isinstance(value, Mapping) or set(value) - {"id", "values", "metadata"}:
        raise InvalidInput(f"{name} must be {{id, values, metadata}}")
    own = checked_vector_id(value.get("id"), f"{name}.id")
    vector, length = normalize_vector(value.get("values"), f"{name}.values")
    redaction = redaction_of(runtime.policy)
    metadata, ignored = checked_metadata(value.get("metadata"), runtime.policy.limits)
    sentence = _text_from_metadata(metadata)
    text = checked_text(sentence or own, "the text of a vector", runtime.policy.limits.text_chars, "limits.text_chars")
    text, masked = masked_text(text, name, redaction)
    clean, found = masked_metadata(metadata, redaction)
    warnings += [*ignored, *masked, *found]
    return SuppliedVector(own, vector.tobytes(), length, text, clean, silent=not sentence)


def _text_from_metadata(metadata: Mapping[str, Any]) -> str:
    """Return what a vector stands for in words, where its metadata say so."""
    message = (metadata.get(name) for name in _TEXTS)
    return next((one for one in message if isinstance(one, str) and one.strip()), "")


def checked_vector_id(value: object, name: str = "id") -> str:
    """Return the id of a vector as callers give it."""
    text = checked_text(value, name, MAX_ID_CHARS).strip()
    if not text.isprintable():
        raise InvalidInput(f"{name} contains a control character")
    return text


def normalize_vector(values: object, name: str) -> tuple[Any, float]:
    """Return a vector of length 1, and how long it was."""
    if not isinstance(values, Sequence) or isinstance(values, (str, bytes)) or not 1 <= len(values) <= _DIMENSIONS:
        raise InvalidInput(f"{name} must be a list of 1 to {_DIMENSIONS:,} numbers")
    if any(isinstance(one, bool) or not isinstance(one, (int, float)) for one in values):
        raise InvalidInput(f"{name} must contain only numbers")
    try:
        raw = np.asarray(values, dtype="<f8")
    except OverflowError:
        raise InvalidInput(f"{name} contains a number that is too large") from None
    largest = float(np.max(np.abs(raw)))
    if not np.isfinite(largest) or not 1e-30 <= largest <= 1e30:  # noqa: PLR2004 - what can be multiplied and divided
        raise InvalidInput(f"{name} has no direction", hint="all numbers are 0, or one of them is not finite")
    length = float(np.linalg.norm(raw))
    return (raw / length).astype("<f4"), length


def space_of(dim: int) -> Space:
    """Return the space of vectors that callers bring."""
    return Space(f"{EXTERNAL}:{dim}", dim)


async def ensure_external(tx: Tx, tenant_id: str, space: Space) -> None:
    """Register such a space; it is never the active one, for a search by meaning is asked in that of the embedder."""
    if space.signature not in {info.signature for info in await tx.indexes.all(tenant_id)}:
        await tx.indexes.put(tenant_id, IndexInfo(space.signature, space.dim, "stale", EXTERNAL))


def data_of(one: SuppliedVector, space: Space, stored_id: str) -> dict[str, Any]:
    """Return what is noted about one, to give it back as it was brought."""
    noted = {"verbatim": True, VECTOR: {"dim": space.dim, "length": one.length, "silent": one.silent}}
    return noted if stored_id == one.id else {**noted, VECTOR_ID: one.id}


def vector_id_of(record: Record) -> str:
    """Return what the caller calls a vector who brought it."""
    return str(record.data.get(VECTOR_ID, record.id))


def ids_of(bounds: Bounds | None, vector_id: str) -> list[str]:
    """Return the ids under which a vector may be stored that a caller names: a new one under the first that is free.

    Who reaches every person shares the ids of the tenant. Everybody else has ids of their own: one that somebody else
    uses is as free to them as any other, so nobody finds out which are used, or takes one away from others. What others
    have let them hold they know by its own id.
    """
    if bounds is None:
        return [vector_id]
    own = [_id_within(f"{bounds.name}{spare}", vector_id) for spare in ("", "\x1f")]
    if bounds.is_everyone:
        return [vector_id, *own]
    if bounds.users is Users.POOLS and bounds.user_id:
        own.append(_id_within(replace(bounds, user_id="").name, vector_id))
    return [*own, vector_id]


def _id_within(name: str, vector_id: str) -> str:
    return str(UUID(bytes=hashlib.sha256(f"{name}\x1f{vector_id}".encode()).digest()[:16], version=4))


def status_of(one: SuppliedVector) -> Status:
    """Return a status; one that says nothing is shown to no model."""
    return Status.DISABLED if one.silent else Status.ACTIVE


def is_own(record: Record) -> bool:
    """Return whether a caller brought its vector."""
    return VECTOR in record.data


def is_silent(record: Record) -> bool:
    """Return whether it has no words."""
    return bool(record.data[VECTOR].get("silent"))


def is_formed(record: Record) -> bool:
    """Return whether it is a fact that was learned or stored, and has a vector of the embedder."""
    return not is_own(record) and record.layer == Layer.FACT


def is_shown(record: Record) -> bool:
    """Return whether the service tells of it: not when a person has disabled it."""
    if is_formed(record):
        return record.status == Status.ACTIVE
    return is_own(record) and (record.status == Status.ACTIVE or is_silent(record))


def metadata_of(record: Record) -> dict[str, Any]:
    """Return what was noted about a vector; of what was learned also its words, in the names that clients know."""
    if is_own(record):
        return record.metadata
    return {**record.metadata, "content": record.text, "type": "memory", "created_at": record.created_at}


def own_or_conflict(record: Record) -> None:
    """Raise ``Conflict`` for a memory that is none of the service's."""
    if not is_own(record):
        raise Conflict(f"{record.id} is a memory without your own vector", hint="choose another id")


def checked_ids(ids: object) -> list[str]:
    """Return ids as callers give them, each once."""
    if not isinstance(ids, Sequence) or isinstance(ids, (str, bytes)) or len(ids) > MOST:
        raise InvalidInput(f"ids must be a list of at most {MOST:,} ids")
    return list(dict.fromkeys(checked_vector_id(one, f"ids[{at}]") for at, one in enumerate(ids)))


def values_of(record: Record, vector: bytes) -> list[float]:
    """Return the numbers as they were brought, as exact as they are kept."""
    length = float(record.data[VECTOR]["length"]) if is_own(record) else 1.0
    raw = np.frombuffer(vector, dtype="<f4").astype("<f8") * length
    return [float(one) for one in raw.astype("<f4")] if np.abs(raw).max() < np.finfo("<f4").max else raw.tolist()
