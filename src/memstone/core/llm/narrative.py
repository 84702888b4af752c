"""A text about the user by a language model, from facts that are known and nothing else."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final

from memstone.core.digest.portrait import fits
from memstone.core.llm.digest import without_orders
from memstone.core.llm.evidence import Conversation
from memstone.core.llm.parse import How, UnreadableAnswer, parse_json
from memstone.core.llm.question import Question, object_schema, system_message
from memstone.core.llm.screen import clean

_NAMES: Final = ("narrative", "text", "content", "summary")
_ENDS: Final = re.compile(r"(?<=[.!?\u2026])(?<!\d\.)\s+|(?<=[\u3002\uff01\uff1f\u0964])\s*")
"""Where a sentence ends in any language; "2. M\u00e4rz" is no end."""

_SCHEMA: Final = {"title": "narrative", **object_schema({"narrative": {"type": "string"}})}


@dataclass(frozen=True, slots=True)
class Narrative:
    """A text as it was written, without sentences that the facts do not bear out or that did not fit."""

    text: str
    dropped: int = 0
    how: How = "bare"

    @property
    def size(self) -> int:
        """How much there is in it."""
        return len(self.text)


def narrative_prompt(facts: Sequence[str], *, days: Sequence[str] = (), instructions: str = "") -> Question:
    """The question for a text about the user; ``days`` are those on which the facts were told."""
    more = f"Further instructions:\n{instructions.strip()}" if instructions.strip() else ""
    system, version = system_message("distill_narrative", "", more)
    dated = zip_longest(facts, days[: len(facts)], fillvalue="")
    told = "\n".join(
        ["Statements:", *(f"- {f'({day}) ' if day else ''}{' '.join(fact.split())}" for fact, day in dated)]
    )
    return Question([{"role": "system", "content": system}, {"role": "user", "content": told}], dict(_SCHEMA), version)


def parse_narrative(answer: str, facts: Sequence[str], tokens: int) -> Narrative:
    """The text of an answer as far as the facts bear it out, and as far as it fits."""
    parsed = parse_json(answer)
    value = parsed.value
    if isinstance(value, Mapping):
        value = next((value[name] for name in _NAMES if isinstance(value.get(name), str)), None)
    if not isinstance(value, str):
        raise UnreadableAnswer('the answer is not a text: expected {"narrative": "..."}')
    text, known = without_orders(clean(value)), Conversation((), known=facts)
    told = [part for part in _ENDS.split(text) if part]
    kept = [part for part in told if known.bears_out(part)]
    text = text if kept == told else " ".join(kept)
    while kept and not fits(text, tokens):
        kept.pop()
        text = text[: text.rfind(kept[-1]) + len(kept[-1])] if kept else ""
    return Narrative(text, len(told) - len(kept), parsed.how)
