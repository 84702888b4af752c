"""The ingredients of a search, and how to leave one out.

There is no setting for any of this: the benchmark replaces a name inside the engine for as long as a run takes. A name
that is gone makes the run fail, and a test sees to it that none is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from importlib import import_module
from typing import Any, Final, NamedTuple
from unittest.mock import patch

from memstone.core.ranking.fusion import PEOPLE, Ranking, fuse_channels
from memstone.language.en.entities import rephrase_as_speaker
from memstone.model.query import SpeakerQuestion


class Seam(NamedTuple):
    """A name inside the engine, and what stands in for it."""

    module: str
    name: str
    instead: Any


def _text_left_out(text: Sequence[tuple[int, float]], dense: Mapping[int, float], **options: Any) -> Ranking:
    return fuse_channels(text, dense, **{**options, "text_counts": False})


def _meaning_left_out(text: Sequence[tuple[int, float]], _: Mapping[int, float], **options: Any) -> Ranking:
    return fuse_channels(text, {}, **{**options, "near": frozenset(), "text_counts": True})


def _as_it_was_asked(query: str, speakers: Any) -> SpeakerQuestion:
    return replace(rephrase_as_speaker(query, speakers), text="")


async def _as_ranked(_parts: Any, _question: Any, ranked: Ranking, _found: Any) -> Ranking:
    return ranked


async def _nothing_before(*_: Any) -> None:
    return None


def _none(*_: Any) -> list[Any]:
    return []


def _no_days(query: str, *_: Any) -> tuple[str, list[str]]:
    return query, []


def _no_word(*_: Any) -> str:
    return ""


_NEIGHBOURS_WORDS: Final = Seam("memstone.adapters.text.ranking", "_adjacent_columns", _none)
_NEIGHBOURS_ALIKE: Final = Seam("memstone.adapters.text.ranking", "_list_adjacent", _none)
_CONTEXT: Final = Seam("memstone.engine.store.write", "said_before", _nothing_before)

INGREDIENTS: Final[dict[str, tuple[Seam, ...]]] = {
    "words (text channel)": (Seam("memstone.engine.recall.hits", "fuse_channels", _text_left_out),),
    "meaning (vector of the whole text)": (Seam("memstone.engine.recall.hits", "fuse_channels", _meaning_left_out),),
    "word-by-word comparison": (Seam("memstone.engine.recall.hits", "compare_words", _as_ranked),),
    "neighbours' words in the text channel": (_NEIGHBOURS_WORDS,),
    "neighbours in the word-by-word comparison": (_NEIGHBOURS_ALIKE,),
    "vectors in the light of the turn before": (_CONTEXT,),
    "all three of what stands beside a turn": (_NEIGHBOURS_WORDS, _NEIGHBOURS_ALIKE, _CONTEXT),
    "speaker match": (Seam("memstone.engine.recall.retrieve", "PEOPLE", replace(PEOPLE, speaker=0.0)),),
    "penalty for questions": (Seam("memstone.engine.recall.retrieve", "PEOPLE", replace(PEOPLE, asking=0.0)),),
    "names put in the first person": (Seam("memstone.language.en.entities", "rephrase_as_speaker", _as_it_was_asked),),
    "words of the day": (
        Seam("memstone.engine.store.draft", "_day_words", _no_word),
        Seam("memstone.language.en.dates", "asked_days", _no_days),
    ),
}
"""By the name they have in the tables."""


@contextmanager
def without(name: str) -> Iterator[None]:
    """Search without one ingredient."""
    with ExitStack() as stack:
        for seam in INGREDIENTS[name]:
            stack.enter_context(patch.object(import_module(seam.module), seam.name, seam.instead))
        yield
