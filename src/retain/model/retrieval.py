"""How much is looked at and how much is shown, as values: one policy, four ready-made ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from retain.model.memory import Layer


@dataclass(frozen=True, slots=True)
class SectionPolicy:
    """A part of a context block: one layer, and how many of it fit a budget.

    A hit is reckoned at ``tokens_each``; there are never fewer than ``least`` nor more than ``most``. ``excerpt_chars``
    cuts long texts, ``days`` leaves older ones out.
    """

    name: str
    layer: str
    tokens_each: int
    least: int
    most: int
    min_score: float
    excerpt_chars: int | None = None
    days: int | None = None

    def limit(self, token_budget: int) -> int:
        """How many hits of this section a budget is good for."""
        return min(self.most, max(self.least, token_budget // self.tokens_each))

    def candidates(self, token_budget: int) -> int:
        """How many to look at for that."""
        return 2 * self.limit(token_budget)


@dataclass(frozen=True, slots=True)
class RetrievalPolicy:
    """What a search looks at and gives.

    ``candidates`` None means ``max(4 * limit, 60)``. ``limit`` and ``token_budget`` both hold, whichever is met first;
    None is no bound. ``min_score`` is for the meaning of one embedding model: 0.8 of one is not 0.8 of another.
    ``sections`` take the place of ``candidates``, ``limit`` and ``min_score`` where a gate chooses one of them.
    ``mmr`` is the weight of scores against likeness when hits are spread; None leaves them as ranked.
    """

    strategy: str = "hybrid"
    candidates: int | None = None
    limit: int | None = 100
    min_score: float | None = None
    token_budget: int | None = None
    sections: tuple[SectionPolicy, ...] = ()
    mmr: float | None = None

    def depth(self, limit: int) -> int:
        """How many candidates each channel is asked for, to give ``limit`` hits."""
        return max(4 * limit, 60) if self.candidates is None else max(self.candidates, limit)


SECTIONS: Final = (
    SectionPolicy("pinned", Layer.FACT, tokens_each=60, least=3, most=15, min_score=0.10),
    SectionPolicy("episodes", Layer.EPISODE, tokens_each=120, least=2, most=8, min_score=0.10),
    SectionPolicy(
        "transcript", Layer.TURN, tokens_each=200, least=2, most=6, min_score=0.01, excerpt_chars=220, days=365
    ),
)

# A minimum counts as reached when it is met; "above 0.8" is the next number after it.
_ABOVE_EIGHT_TENTHS: Final = math.nextafter(0.8, 1.0)

PRESETS: Final[dict[str, RetrievalPolicy]] = {
    "gateway": RetrievalPolicy(candidates=100, limit=None, token_budget=2000),
    "companion": RetrievalPolicy(limit=None, token_budget=800, sections=SECTIONS, mmr=0.85),
    "shared": RetrievalPolicy(strategy="vector", candidates=10, limit=10, min_score=_ABOVE_EIGHT_TENTHS),
    "facts": RetrievalPolicy(limit=100),
}
"""By profile."""
