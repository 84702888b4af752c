"""Whether a new statement says what a memory says, and whether a change that the rules see is likely.

The rules know the ways in which something is usually told. People have more of them, so what the rules decide is one of
the things that are weighed here, beside shared words and names, kinds of things, and how near a memory is to what was
said. Weighing keeps repeats out and leaves memories as they are; it never changes one that no rule would change,
because a lost memory is worse than one too many. The weights are small trees, fitted by ``scripts/fit_changes.py`` to
changes that others have written down; there is one set for the built-in embedder and one without nearness.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final, NamedTuple

import numpy as np

from memstone.core.changes.apart import brings_news
from memstone.core.changes.features import Features, Said, features
from memstone.core.changes.pairing import Action, Decision, Known

FITTED_TO: Final = "local:all-minilm-l6-v2-int8:384"
"""The vectors whose nearness the first set of weights knows."""

STANDS: Final = 0.2
"""Less sure than this, what a rule would change stays as it is."""

KNOWN, SURELY_KNOWN = 0.6, 0.5
"""So sure it has to be that a statement says nothing new, where no rule says so and where one sees a change."""

ALIKE: Final = 0.8
"""So near a memory has to be to say the same without a word in common."""

_WEIGHTS: Final = "weights.npz"


class Trees(NamedTuple):
    """Trees of one depth for each answer: which feature each node asks, against what, and what the leaves say."""

    names: tuple[str, ...]
    asked: Any
    above: Any
    leaves: Any


class Odds(NamedTuple):
    """How likely a statement replaces a memory, and how likely it says the same."""

    replaces: float
    same: float


def judge(said: Said, known: Sequence[Known]) -> Decision:
    """What the rules decided, unless it is unlikely or known already. ``known`` has at least one memory."""
    if said.rule.action is Action.IGNORE and said.adds:
        return said.rule
    news = {at for at, one in enumerate(known) if _is_news(said, one)}
    return verdict(said.rule, weigh(said, known), news)


def _is_news(said: Said, one: Known) -> bool:
    """Whether a number, a day, a value, a name or somebody is told that a memory has not: it is not the same then."""
    return any(brings_news(statement, one.statement) for statement in said.statement.everybody)


def verdict(rule: Decision, odds: Sequence[Odds], news: Collection[int] = ()) -> Decision:
    """What to do, by the odds of each memory and by what the rules would do; those in ``news`` say something else."""
    same = max(range(len(odds)), key=lambda at: 0.0 if at in news else odds[at].same)
    if rule.target is not None and rule.action is not Action.IGNORE and (rule.plain or _stands(odds[rule.target])):
        return rule
    if odds[same].same >= KNOWN and same not in news:
        return Decision(Action.IGNORE, same, f"weighed: it is known already ({odds[same].same:.2f})")
    if rule.action is Action.ADD:
        return rule
    return Decision(Action.ADD, None, f"weighed: it leaves what is known as it is, against: {rule.reason}")


def _stands(odds: Odds) -> bool:
    """Whether a change that the rules see is left to them."""
    return odds.replaces >= STANDS and odds.same < SURELY_KNOWN


_SPEAKER: Final = re.compile(r"\b(?:i|me|my|mine|we|us|our|ours|you|your)\b", re.IGNORECASE)


def weigh(said: Said, known: Sequence[Known]) -> list[Odds]:
    """The odds of each memory; where how near they are was measured otherwise, without it."""
    trees = weights()["far" if any(one.told is None for one in known) else "near"]
    judged = zip(known, odds_of(features(said, known), trees), strict=True)
    return [_UNKNOWN if one.fresh or _SPEAKER.search(one.statement.text) else odds for one, odds in judged]


def odds_of(found: Sequence[Features], trees: Trees) -> list[Odds]:
    """The odds of pairs by their features."""
    rows = answers(as_table(found, trees.names), trees)
    return [_odds(pair, *row[1:]) for pair, row in zip(found, rows, strict=True)]


_UNKNOWN: Final = Odds(STANDS, 0.0)
"""Of memories in a speaker's own words, or said in the same breath, the weights know nothing: they are the rules'."""


def _odds(found: Features, replaces: float, same: float) -> Odds:
    """What is seen the other way round, or has no word in common and is not near, is not the same."""
    other = found["opposite"] or (found["none shared"] and found["near"] < ALIKE)
    return Odds(float(replaces) + float(same) * bool(found["opposite"]), 0.0 if other else float(same))


def as_table(found: Sequence[dict[str, float]], names: Sequence[str]) -> Any:
    """Features as rows of numbers."""
    return np.array([[one[name] for name in names] for one in found], dtype=np.float32)


def answers(table: Any, trees: Trees) -> Any:
    """For each row how likely each answer is: neither, replaces, the same."""
    count, rows = len(trees.asked), np.arange(len(table))[:, None]
    node = np.zeros((len(table), count), dtype=np.intp)
    every = np.arange(count)
    inner = trees.asked.shape[1]
    while node[0, 0] < inner:
        node = 2 * node + 1 + (table[rows, trees.asked[every, node]] > trees.above[every, node])
    votes = trees.leaves[every, node - inner].reshape(len(table), -1, 3).sum(axis=1)
    odds = np.exp(votes - votes.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


@cache
def weights() -> dict[str, Trees]:
    """Both sets; read once."""
    with files(__package__).joinpath(_WEIGHTS).open("rb") as file, np.load(file) as stored:
        return {
            name: Trees(
                tuple(str(stored[f"{name}_names"]).split("\n")),
                stored[f"{name}_asked"].astype(np.intp),
                stored[f"{name}_above"],
                stored[f"{name}_leaves"].astype(np.float32),
            )
            for name in ("near", "far")
        }
