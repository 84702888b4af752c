"""Ask a language model how well memories answer a question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from memstone.core.llm.parse import UnreadableAnswer, parse_json
from memstone.core.llm.questions import ModelQuestion, object_schema, system_message

BEST: Final = 10
"""The score of a memory that answers the question."""
_SCORE: Final = object_schema({"number": {"type": "integer"}, "score": {"type": "integer"}})
_SCHEMA: Final = {"title": "scores", **object_schema({"scores": {"type": "array", "items": _SCORE}})}
_TOKENS_PER_SCORE: Final = 20


def rerank_question(query: str, documents: Sequence[str], max_chars: int) -> ModelQuestion:
    """Return the question about numbered documents, of which no more than ``max_chars`` each is shown."""
    system, version = system_message("rerank", "")
    listed = "\n".join(f"{number}. {_one_line(text, max_chars)}" for number, text in enumerate(documents, 1))
    asked = f"The question:\n<question>\n{query}\n</question>\n\nThe memories:\n<memories>\n{listed}\n</memories>"
    return ModelQuestion([{"role": "system", "content": system}, {"role": "user", "content": asked}], _SCHEMA, version)


def answer_tokens(count: int) -> int:
    """Return how long an answer about so many documents may be."""
    return 100 + _TOKENS_PER_SCORE * count


def _one_line(text: str, max_chars: int) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= max_chars else plain[:max_chars] + " […]"


def parse_scores(answer: str, count: int) -> list[tuple[int, float]]:
    """Return (place, score from 0 to 1) of each document that was scored.

    A number that was not asked about, one that comes twice and a score out of range are an ``UnreadableAnswer``.
    """
    value = parse_json(answer).value
    rows = value.get("scores") if isinstance(value, Mapping) else value
    if not isinstance(rows, list):
        raise UnreadableAnswer('the answer has no scores: expected {"scores": [{"number": 1, "score": 7}]}')
    scores: dict[int, float] = {}
    for row in rows:
        number, score = _read_row(row)
        if not 1 <= number <= count or number - 1 in scores or not 0 <= score <= BEST:
            raise UnreadableAnswer(f"the answer has a wrong row: number {number}, score {score}")
        scores[number - 1] = score / BEST
    if not scores:
        raise UnreadableAnswer("the answer scores nothing")
    return list(scores.items())


def _read_row(row: Any) -> tuple[int, float]:
    try:
        return int(row["number"]), float(row["score"])
    except (KeyError, OverflowError, TypeError, ValueError):
        raise UnreadableAnswer("a row of the answer has no number and score") from None
