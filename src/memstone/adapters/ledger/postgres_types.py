"""Vectors between pgvector, which writes them big-endian behind a header, and the ledger's little-endian float32."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from psycopg import adapt, pq

if TYPE_CHECKING:
    from psycopg.abc import Buffer

_HEADER: Final = 4
"""Two bytes for the dimension, two that are not used."""


class PgVector:
    """A vector on its way to the database."""

    __slots__ = ("raw",)

    def __init__(self, raw: bytes) -> None:
        self.raw = raw

    def wire(self) -> bytes:
        """As pgvector reads it."""
        values = np.frombuffer(self.raw, "<f4")
        return struct.pack(">HH", len(values), 0) + values.astype(">f4").tobytes()


class _Dumper(adapt.Dumper):
    format = pq.Format.BINARY

    def dump(self, obj: PgVector) -> Buffer | None:
        return obj.wire()


class _Loader(adapt.Loader):
    format = pq.Format.BINARY

    def load(self, data: Buffer) -> bytes:
        return np.frombuffer(data, ">f4", offset=_HEADER).astype("<f4").tobytes()


def register(connection: Any, vector_oid: int) -> None:
    """Let a connection read and write vectors."""
    adapters = connection.adapters
    adapters.register_loader(vector_oid, _Loader)
    adapters.register_dumper(PgVector, type("_VectorDumper", (_Dumper,), {"oid": vector_oid}))
