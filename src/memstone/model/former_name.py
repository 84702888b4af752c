"""The former name of the product, and what is still read under it.

Until version 0.2 Memstone was called Retain. Nothing that was written under that name may be lost, so files, fences
and headers that carry it are understood; everything new is written under the new name only.
"""

from __future__ import annotations

from typing import Final

FORMER_NAME: Final = "retain"
_NAMES: Final = ("memstone", FORMER_NAME)


def formats_of(kind: str) -> frozenset[str]:
    """Return the names that files of a kind (``export``, ``backup``, ``erasure``) carry, the former one included."""
    return frozenset(f"{name}-{kind}" for name in _NAMES)
