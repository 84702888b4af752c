"""Forty questions after a session switch, answered by a real model with Memstone, without memory, and with mem0."""

from __future__ import annotations

from typing import Final

import pytest

from benchmarks.quality import peers
from benchmarks.quality.answers import MEM0, MEMSTONE, NOTHING, PEOPLE, measure
from benchmarks.quality.local_model import RealModel

pytestmark = [pytest.mark.llm, pytest.mark.timeout(1800)]

QUESTIONS: Final = 40
LEAST_GAIN: Final = 10
NOISE: Final = 2
"""A model this small gets a question or two right or wrong by the wording alone."""


@pytest.mark.req("O-3")
def test_a_real_model_answers_more_of_forty_questions_with_memory_than_without(qwen: RealModel) -> None:
    outcome = measure(qwen, sorted(PEOPLE.glob("*.chat")), peers.mem0(), qwen.notes.append)

    assert len(outcome.questions) == QUESTIONS
    assert outcome.right(MEMSTONE) >= outcome.right(NOTHING) + LEAST_GAIN
    assert outcome.right(MEMSTONE) >= outcome.right(MEM0) - NOISE
