"""What a ranking is worth, and how far the number can be trusted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

CUTS: Final = (5, 10, 20)
DRAWS: Final = 1000
SEED: Final = 7
_LEVEL: Final = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its 95 % confidence interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{short(self.value)} ({short(self.low)}–{short(self.high)})"  # noqa: RUF001 - a range

    def signed(self) -> str:
        """Return the same for a difference."""
        return f"{short(self.value, sign=True)} ({short(self.low, sign=True)} to {short(self.high, sign=True)})"


def short(value: float, *, sign: bool = False) -> str:
    """Return three digits, without the zero that every share begins with."""
    text = f"{value:+.3f}" if sign else f"{value:.3f}"
    return text.replace("0.", ".", 1) if abs(round(value, 3)) < 1 else text


def scores(ranked: Sequence[str], wanted: Collection[str]) -> dict[str, float]:
    """Return shares of what was wanted among the first, whether any or all of it is, and how early the first is."""
    found = {cut: len(set(ranked[:cut]) & set(wanted)) for cut in CUTS}
    first = next((place for place, one in enumerate(ranked, start=1) if one in wanted), None)
    return {
        **{f"recall@{cut}": found[cut] / len(wanted) for cut in CUTS},
        **{f"any@{cut}": float(found[cut] > 0) for cut in CUTS},
        **{f"all@{cut}": float(found[cut] == len(wanted)) for cut in CUTS},
        "mrr": 1 / first if first else 0.0,
    }


def once(names: Iterable[str | None]) -> list[str]:
    """Return names in their order, each where it comes first."""
    return list(dict.fromkeys(name for name in names if name is not None))


def bootstrap(statistic: Callable[[npt.NDArray[np.intp]], float], count: int) -> Estimate:
    """Return a statistic of ``count`` observations, and where it lies in 95 of 100 draws of as many with replacement.

    ``statistic`` is given the places of the observations that were drawn.
    """
    chance = np.random.default_rng(SEED)
    values = [statistic(chance.integers(0, count, count)) for _ in range(DRAWS)]
    low, high = np.quantile(values, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    return Estimate(statistic(np.arange(count)), float(low), float(high))


def mean(values: Sequence[float]) -> Estimate:
    """Return the mean of observations; no observations have none."""
    column = np.asarray(values, dtype=float)
    return bootstrap(lambda drawn: float(column[drawn].mean()), len(column))


def difference(values: Sequence[float], before: Sequence[float]) -> Estimate:
    """Return how much higher the mean is than before, of the same questions: what both share cancels out."""
    return mean(np.subtract(values, before).tolist())


@dataclass(frozen=True, slots=True)
class Detection:
    """How well a yes or no agrees with labels."""

    precision: Estimate
    recall: Estimate
    f1: Estimate
    accuracy: Estimate


def detection(texts: Sequence[bool], labels: Sequence[bool]) -> Detection:
    """Return how many of what was said are right, how many of what is right were said, their F1, and agreement."""
    yes, right = np.asarray(texts, dtype=bool), np.asarray(labels, dtype=bool)

    def of(top: Any, bottom: Any) -> Estimate:
        return bootstrap(lambda drawn: share(float(top[drawn].sum()), float(bottom[drawn].sum())), len(yes))

    both = (yes & right).astype(float)
    ones = np.ones(len(yes))
    return Detection(of(both, yes), of(both, right), of(2 * both, yes.astype(float) + right), of(yes == right, ones))


def share(part: float, total: float) -> float:
    """Return a part of a whole; nothing of nothing is 0."""
    return part / total if total else 0.0
