"""Looking for pieces of erased text in raw bytes: thousands at once, in one pass."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

_SHORTEST: Final = 12
"""A shorter text says too little to be recognised by."""

_PIECE: Final = 32
_APART: Final = 512
"""Long texts lie on several pages of a file, so a piece is taken from every part of one."""

_HEAD: Final = 8
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z\Z")
"""Times say nothing of anybody, and stand everywhere."""


def pieces_of(texts: Iterable[str]) -> set[bytes]:
    """What to look for: short enough to lie on one page, long enough to be told from anything else."""
    found: set[bytes] = set()
    for text in texts:
        if _MOMENT.match(text):
            continue
        data = text.encode("utf-8", "ignore")
        if len(data) >= _SHORTEST:
            starts = [*range(0, len(data), _APART), len(data) - _PIECE]
            found |= {data[max(0, at) : max(0, at) + _PIECE] for at in starts}
    return {piece for piece in found if len(piece) >= _SHORTEST}


class Pieces:
    """See ``memstone.ports.storage.Look``.

    Every place is asked, two bytes at a time, whether any piece begins like this; the few that are left are compared.
    So the number of pieces hardly matters.
    """

    def __init__(self, pieces: Iterable[bytes]) -> None:
        import numpy as np

        self._by_head: dict[bytes, dict[int, set[bytes]]] = {}
        for piece in pieces:
            self._by_head.setdefault(piece[:_HEAD], {}).setdefault(len(piece), set()).add(piece)
        self._tables: list[Any] = []
        for at in range(0, _HEAD, 2):
            table = np.zeros(1 << 16, dtype=bool)
            table[[int.from_bytes(head[at : at + 2], "little") for head in self._by_head]] = True
            self._tables.append(table)

    @property
    def count(self) -> int:
        """How many there are."""
        return sum(len(same) for by_length in self._by_head.values() for same in by_length.values())

    @property
    def overlap(self) -> int:
        """So many bytes a next part must repeat."""
        return _PIECE - 1

    def __call__(self, part: bytes) -> set[bytes]:
        """The pieces that occur in it."""
        import numpy as np

        if len(part) < _HEAD or not self._by_head:
            return set()
        wide = np.frombuffer(part, dtype=np.uint8).astype(np.uint16)
        pairs = wide[:-1] | (wide[1:] << 8)
        places = np.flatnonzero(self._tables[0][pairs[: len(part) - _HEAD + 1]])
        for number, table in enumerate(self._tables[1:], start=1):
            places = places[table[pairs[places + 2 * number]]]
        found: set[bytes] = set()
        for at in places.tolist():
            for length, same in self._by_head.get(part[at : at + _HEAD], {}).items():
                if (piece := part[at : at + length]) in same:
                    found.add(piece)
        return found
