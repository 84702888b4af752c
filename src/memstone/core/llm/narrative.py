"""A text about the user by a language model, from facts that are known and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from memstone.core.digest.invented import invented_names, unknown_numbers
from memstone.core.digest.portrait import fits
from memstone.core.llm.parse import How, UnreadableAnswer, parse_json
from memstone.core.llm.question import Question, object_schema, system_message
from memstone.core.llm.screen import clean, is_stock_name
from memstone.core.rules.orders import is_order
from memstone.core.rules.plain import sentences
from memstone.core.talk.evidence import Source

_NAMES: Final = ("narrative", "text", "content", "summary")
_SUBJECTS: Final = ("user", "User", "They", "Their")
_SCHEMA: Final = {"title": "narrative", **object_schema({"narrative": {"type": "string"}})}


@dataclass(frozen=True, slots=True)
class Narrative:
    """What is left of an answer: the sentences that the facts carry."""

    text: str
    dropped: int = 0
    how: How = "bare"

    @property
    def size(self) -> int:
        """How much there is in it."""
        return len(self.text)


def narrative_prompt(facts: Sequence[str], *, instructions: str = "") -> Question:
    """The question for a text about the user."""
    more = f"Further instructions:\n{instructions.strip()}" if instructions.strip() else ""
    system, version = system_message("distill_narrative", "", more)
    told = "\n".join(["Statements:", *(f"- {' '.join(fact.split())}" for fact in facts)])
    return Question([{"role": "system", "content": system}, {"role": "user", "content": told}], dict(_SCHEMA), version)


def parse_narrative(answer: str, facts: Sequence[str], tokens: int) -> Narrative:
    """The sentences of an answer that say nothing but the facts, as far as they fit."""
    parsed = parse_json(answer)
    value = parsed.value
    if isinstance(value, Mapping):
        value = next((value[name] for name in _NAMES if isinstance(value.get(name), str)), None)
    if not isinstance(value, str):
        raise UnreadableAnswer('the answer is not a text: expected {"narrative": "..."}')
    said = Source("\n".join(facts))
    told = sentences(clean(value))
    kept = [one for one in told if not _invents(one, said)]
    while kept and not fits(" ".join(kept), tokens):
        kept.pop()
    return Narrative(" ".join(kept), len(told) - len(kept), parsed.how)


def _invents(sentence: str, said: Source) -> bool:
    names = invented_names(sentence, said.text, _SUBJECTS)
    return is_order(sentence) or bool(names or unknown_numbers(sentence, said) or is_stock_name(sentence, said.text))
