"""No regular expression of the package is slower than linear, whatever text it is given."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import pytest

from tests.linear.attacks import attacks
from tests.linear.growth import LINEAR, Sizes, TooSlow, exponent
from tests.linear.patterns import MATCH, SCAN, Found, built_at_run_time, every_pattern

_QUICK: Final = Sizes(least=2_000, most=2_000, enough=0.001)
_DEEP: Final = Sizes(least=500, most=8_000, enough=0.003)
_SHARDS: Final = 12


def _work(pattern: re.Pattern[Any], use: str) -> Callable[[str], object]:
    def run(text: str) -> object:
        value = text if isinstance(pattern.pattern, str) else text.encode("utf-8")
        if use == SCAN:
            return [None for _ in pattern.finditer(value)]
        return pattern.match(value) if use == MATCH else pattern.fullmatch(value)

    return run


def _faults(found: Found, sizes: Sizes) -> list[str]:
    faults = []
    for use in sorted(found.uses):
        for name, shape in attacks(found.pattern).items():
            try:
                power = exponent(_work(found.pattern, use), shape, sizes)
            except TooSlow:
                power = float("inf")
            if power > LINEAR:
                faults.append(f"{found.place}.{use}: power {power:.1f} on {name}")
                break
    return faults


def _faults_of_shard(shard: int, sizes: Sizes) -> list[str]:
    return [fault for found in every_pattern()[shard::_SHARDS] for fault in _faults(found, sizes)]


@pytest.mark.parametrize("shard", range(_SHARDS))
def test_every_pattern_is_linear(shard: int) -> None:
    faults = _faults_of_shard(shard, _QUICK)
    assert not faults, "\n".join(faults)


@pytest.mark.system
@pytest.mark.parametrize("shard", range(_SHARDS))
def test_every_pattern_is_linear_on_longer_texts(shard: int) -> None:
    faults = _faults_of_shard(shard, _DEEP)
    assert not faults, "\n".join(faults)


def test_patterns_made_at_run_time_are_known() -> None:
    assert set(built_at_run_time()) == _BUILT


_BUILT: Final = frozenset(
    {
        "adapters.embed.onnx_model: _compile_patterns",
        "language.en.entities: _speaker_pattern",
        "language.en.gate.people: _is_mentioned",
        "language.en.gate.phrases: any_of",
        "core.importers.items: _find_element_end",
        "core.redact: pattern_finder",
        "core.checks.own_rules: _compile_fact_form",
        "core.checks.own_rules: _compile_pattern",
        "language.en.slots: shipped_slots",
        "language.text.calendars: _compile_form",
        "language.text.content: _courtesies",
        "language.text.content: _function_words",
        "language.en.requests: _reword_order",
        "language.en.sentences: _name_pattern",
        "language.en.sentences: _speaker_prefix_pattern",
        "language.en.fact_text: _subject_behind_name",
        "core.prompt.inject: _piece_pattern",
        "core.prompt.inject: _word_start_pattern",
        "server.console.templates: _match_word",
        "server.console.templates: highlight",
        "server.rest.verbs: _describe",
        "language.en.dates: _build_rule",
        "language.text.tokens: _chunk_pattern",
        "language.text.clues: compile_with_clues",
    }
)
"""Where an expression is made of what is only known then: a name or a number, with its signs escaped, or a table that
is found among what a module holds. Whoever adds one looks whether a hostile name makes it slow."""
