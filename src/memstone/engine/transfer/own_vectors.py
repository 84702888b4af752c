"""Write the callers' own vectors to an export, and read them back."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from memstone.engine.store.vector_items import VECTOR, ensure_external, is_own, space_of
from memstone.errors import InvalidInput
from memstone.model.memory import INDEXED, Record
from memstone.ports.ledger import Tx

_BYTES: Final = 4
_MOST: Final = 8_192
_NEAR: Final = 1e-3
_LONGEST: Final = 1e300


async def encode_own_vector(tx: Tx, record: Record) -> dict[str, str]:
    """Return what the line of a version gets whose vector a caller brought: its numbers, as float32 in base64."""
    if not is_own(record):
        return {}
    vector = await tx.vectors.get(record.tenant_id, record.seq, space_of(record.data[VECTOR]["dim"]).signature)
    return {} if vector is None else {VECTOR: base64.b64encode(vector).decode()}


def read_carried(record: Record, line: Mapping[str, Any]) -> bytes | None:
    """Return the vector in a line, or ``InvalidInput`` where it cannot be that of the version."""
    value = line.get(VECTOR)
    if not is_own(record):
        if value is not None:
            raise _damaged_vector_error(record)
        return None
    noted = record.data[VECTOR]
    if not isinstance(noted, Mapping) or not _is_whole(noted.get("dim")) or not _is_length(noted.get("length")):
        raise _damaged_vector_error(record)
    return None if value is None else _decode_vector(record, value, noted["dim"])


async def put_carried(tx: Tx, record: Record, vector: bytes | None) -> None:
    """Put the vector of a version that holds now into its space."""
    if vector is None or record.valid_to is not None or record.status not in INDEXED:
        return
    space = space_of(len(vector) // _BYTES)
    await ensure_external(tx, record.tenant_id, space)
    await tx.vectors.put(record.tenant_id, space.signature, [(record.seq, vector)])


def _is_whole(dim: object) -> bool:
    return isinstance(dim, int) and not isinstance(dim, bool) and 1 <= dim <= _MOST


def _is_length(length: object) -> bool:
    return isinstance(length, (int, float)) and not isinstance(length, bool) and 0 < length < _LONGEST


def _decode_vector(record: Record, value: object, dim: int) -> bytes:
    try:
        vector = base64.b64decode(value, validate=True) if isinstance(value, str) else b""
    except (binascii.Error, ValueError):
        raise _damaged_vector_error(record) from None
    if len(vector) != dim * _BYTES:
        raise _damaged_vector_error(record)
    length = float(np.linalg.norm(np.frombuffer(vector, dtype="<f4").astype("<f8")))
    if not abs(length - 1) < _NEAR:  # also what is not a number
        raise _damaged_vector_error(record)
    return vector


def _damaged_vector_error(record: Record) -> InvalidInput:
    return InvalidInput(f"a line of the export is damaged: the vector of {record.id}")
