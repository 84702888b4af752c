"""Vectors that callers brought, as an export carries them: those of an embedder are made again, these cannot be."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from memstone.engine.storing.vector_items import VECTOR, ensure_external, is_own, space_of
from memstone.errors import InvalidInput
from memstone.model.memory import INDEXED, Record
from memstone.ports.ledger import Tx

_BYTES: Final = 4
_MOST: Final = 8_192
_NEAR: Final = 1e-3
_LONGEST: Final = 1e300


async def carried(tx: Tx, record: Record) -> dict[str, str]:
    """What is added to the line of a version whose vector a caller brought: its numbers, as float32 in base64."""
    if not is_own(record):
        return {}
    held = await tx.vectors.get(record.tenant_id, record.seq, space_of(record.data[VECTOR]["dim"]).signature)
    return {} if held is None else {VECTOR: base64.b64encode(held).decode()}


def read_carried(record: Record, line: Mapping[str, Any]) -> bytes | None:
    """The vector in a line, or ``InvalidInput`` where it cannot be that of the version."""
    given = line.get(VECTOR)
    if not is_own(record):
        if given is not None:
            raise _damaged(record)
        return None
    noted = record.data[VECTOR]
    if not isinstance(noted, Mapping) or not _is_whole(noted.get("dim")) or not _is_length(noted.get("length")):
        raise _damaged(record)
    return None if given is None else _decoded(record, given, noted["dim"])


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


def _decoded(record: Record, given: object, dim: int) -> bytes:
    try:
        vector = base64.b64decode(given, validate=True) if isinstance(given, str) else b""
    except (binascii.Error, ValueError):
        raise _damaged(record) from None
    if len(vector) != dim * _BYTES:
        raise _damaged(record)
    length = float(np.linalg.norm(np.frombuffer(vector, dtype="<f4").astype("<f8")))
    if not abs(length - 1) < _NEAR:  # also what is not a number
        raise _damaged(record)
    return vector


def _damaged(record: Record) -> InvalidInput:
    return InvalidInput(f"a line of the export is damaged: the vector of {record.id}")
