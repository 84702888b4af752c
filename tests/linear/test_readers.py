"""Whatever reads a caller's text takes time that grows with its length, however hostile the text is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Final

import pytest

from tests.linear.growth import LINEAR, Sizes, TooSlow, exponent
from tests.linear.readers import readers, unfilled
from tests.linear.shapes import SHAPES

_QUICK: Final = Sizes(least=4_000, most=4_000, enough=0.02)
_DEEP: Final = Sizes(least=2_000, most=16_000, enough=0.02)
"""Four times the most is what is read of a message: of a longer one the end is read, which is another text."""
_SHARDS: Final = 24
_numbers: Final[Iterator[int]] = count()

_ENTRANCES: Final = (
    "language.en.facts.read_message(message)",
    "language.en.changes.parse_statement(text)",
    "language.en.relations.found_in(text)",
    "language.en.gate.phrases.own_words_of(message)",
    "core.redact.redact_text(text)",
    "language.en.prompt_injection.blank_suspect_text(message)",
    "language.text.tokens.document_terms(text)",
    "language.en.dates.resolve_dates(text)",
    "language.text.normal.normal_text(text)",
    "core.prompt.fence.neutralize_text(text)",
    "core.importers.tables.markdown_read(text)",
    "digest of one turn",
    "Fence.strip",
    "WordPiece.encode",
    "Chat",
    "Messages",
    "read_messages",
    "filter of JSON",
    "Events.feed",
)
"""Through which texts come in; the others stand behind them."""


def _fresh(shape: Callable[[int], str]) -> Callable[[int], str]:
    """Return a shape that is a new text every time, so that no cache answers for it."""
    return lambda size: f"{shape(size)} z{next(_numbers)}"


def faults_of(name: str, work: Callable[[str], object], sizes: Sizes) -> Iterator[str]:
    """Give the shapes on which something is slower than linear."""
    for shape, text in SHAPES.items():
        try:
            power = exponent(work, _fresh(text), sizes)
        except TooSlow:
            power = float("inf")
        if power > LINEAR:
            yield f"{name}: power {power:.1f} on {shape}"


@pytest.mark.parametrize("name", _ENTRANCES)
def test_what_texts_come_in_through_is_linear(name: str) -> None:
    faults = list(faults_of(name, readers()[name], _QUICK))
    assert not faults, "\n".join(faults)


@pytest.mark.system
@pytest.mark.parametrize("shard", range(_SHARDS))
def test_every_reader_is_linear(shard: int) -> None:
    named = sorted(readers().items())[shard::_SHARDS]
    faults = [fault for name, work in named for fault in faults_of(name, work, _DEEP)]
    assert not faults, "\n".join(faults)


def test_every_function_that_takes_text_is_among_the_readers() -> None:
    assert unfilled() == []
