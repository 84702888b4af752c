"""Read the points of an embedded Qdrant without running any code in them.

Qdrant's local mode keeps each point as a pickle. Reading a pickle can run code, so this reader knows no class: whatever
a pickle names of ``qdrant_client`` becomes an object that only keeps what it is given, and anything else is refused.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping
from typing import Any, Final

_PICKLE: Final = b"\x80"
_PACKAGE: Final = "qdrant_client."


class _PlainObject:
    """Stands for an object of a class that is not loaded."""

    state: Any = None

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _PointReader(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str, /) -> Any:
        if module_name.startswith(_PACKAGE):
            return _PlainObject
        raise pickle.UnpicklingError(f"{module_name}.{global_name} is not part of a point")


def read_point(raw: bytes) -> dict[str, Any] | None:
    """Return the id and the payload of a pickled point; None for anything else."""
    if not raw.startswith(_PICKLE):
        return None
    try:
        found = _PointReader(io.BytesIO(raw)).load()
    except Exception:  # noqa: BLE001 - a broken pickle fails in many ways, and is no point
        return None
    state = getattr(found, "state", None)
    fields = state.get("__dict__") if isinstance(state, Mapping) else None
    if not isinstance(fields, Mapping) or not isinstance(fields.get("payload"), Mapping):
        return None
    return {"id": fields.get("id"), "payload": dict(fields["payload"])}
