"""The language model of the benchmark: it knows the script, and answers each system in the shape it asks for.

It finds the scripted facts whose words are in the new messages. An ``attentive`` one leaves out what the memories it
is shown already say, as both systems ask it to; an inattentive one overlooks that list, as models do now and then.
What a decision is about it always gets right. Both systems get the same facts in the same words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from benchmarks.tokens.judge import by_text, plain
from benchmarks.tokens.script import ScriptFact, facts

Shape = Literal["operations", "facts", "decisions", "memory"]
"""What is asked for: Memstone's operations, its facts and its decisions where it asks twice, or the peer's facts."""

_PEER_KNOWN: Final = re.compile(r"^## Existing Memories\n(.*)$", re.MULTILINE)
_PEER_NEW: Final = re.compile(r"^## New Messages\n(.*?)\n\n## Observation Date$", re.MULTILINE | re.DOTALL)
_KNOWN: Final = re.compile(r"^(?:Known memories|Memories):\n((?:\d+\. .*\n)+)", re.MULTILINE)
_NUMBERED: Final = re.compile(r"^(\d+)\. (?:\([\d-]+\) )?(.*)$", re.MULTILINE)
_NEW_FACT: Final = re.compile(r"^(\d+)\. (.*?) \((?:similar memories: .*|no similar memory)\)$", re.MULTILINE)
_TURN: Final = re.compile(r"^\[(\d+)\] [^:]*: (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model says, to which kind of question, and how much of what it was shown is the new conversation."""

    shape: Shape
    text: str
    conversation: str = ""


class ScriptedModel:
    """Answers a chat request; ``ValueError`` when it is none of those it knows."""

    def __init__(self, *, attentive: bool = True) -> None:
        self._attentive = attentive
        self._by_text = by_text()

    def answer(self, asked: dict[str, Any]) -> Answer:
        """Return the answer to a request in OpenAI's form."""
        user = str(asked["messages"][-1]["content"])
        name = asked.get("response_format", {}).get("json_schema", {}).get("name")
        if name == "decisions":
            return Answer("decisions", _written(decisions=self._decisions(user)))
        if name == "operations":
            conversation = user.partition("New turns:\n")[2].rpartition("\n\nDate: ")[0]
            return Answer("operations", _written(operations=self._operations(user, conversation)), conversation)
        if name == "facts":
            conversation = user.rpartition("Conversation:\n")[2]
            return Answer("facts", _written(facts=self._facts(user, conversation)), conversation)
        new = _PEER_NEW.search(user)
        if new is None:
            raise ValueError(f"a question this model does not know: {user[:200]!r}")
        return Answer("memory", _written(memory=self._peer_facts(user, new[1])), new[1])

    def _find_facts(self, conversation: str, known: Sequence[str]) -> list[ScriptFact]:
        known_names = (
            {fact.meaning for text in known if (fact := self._by_text.get(plain(text)))} if self._attentive else ()
        )
        return [fact for fact in facts() if fact.quote in conversation and fact.meaning not in known_names]

    def _facts(self, user: str, conversation: str) -> list[dict[str, Any]]:
        block = _KNOWN.search(user)
        known = [text for _, text in _NUMBERED.findall(block[1])] if block else []
        turns = _TURN.findall(conversation)
        return [_for_memstone(fact, turns) for fact in self._find_facts(conversation, known)]

    def _operations(self, user: str, conversation: str) -> list[dict[str, Any]]:
        """Return what each fact that is heard does to the memories that are shown: one answer for both."""
        block = _KNOWN.search(user)
        memories = [(int(number), text) for number, text in _NUMBERED.findall(block[1])] if block else []
        turns = _TURN.findall(conversation)
        messages = self._find_facts(conversation, [text for _, text in memories])
        return [_as_operation(one, fact, turns) for fact in messages for one in self._decision(0, fact.text, memories)]

    def _peer_facts(self, user: str, conversation: str) -> list[dict[str, Any]]:
        block = _PEER_KNOWN.search(user)
        known = json.loads(block[1]) if block else []
        messages = self._find_facts(conversation, [str(one["text"]) for one in known])
        return [self._for_peer(number, fact, known) for number, fact in enumerate(messages)]

    def _for_peer(self, number: int, fact: ScriptFact, known: Sequence[dict[str, Any]]) -> dict[str, Any]:
        linked = [one["id"] for one in known if self._concerns(fact, str(one["text"]))]
        item = {"id": str(number), "text": fact.text, "attributed_to": "user"}
        return {**item, "linked_memory_ids": linked} if linked else item

    def _concerns(self, fact: ScriptFact, text: str) -> bool:
        other = self._by_text.get(plain(text))
        return other is not None and other.meaning in (fact.meaning, *fact.ends, *fact.covers)

    def _decisions(self, user: str) -> list[dict[str, Any]]:
        output, _, new = user.partition("\n\nNew facts:\n")
        memories = [(int(number), text) for number, text in _NUMBERED.findall(output)]
        decided = [self._decision(int(number), text, memories) for number, text in _NEW_FACT.findall(new)]
        return [decision for several in decided for decision in several]

    def _decision(self, number: int, text: str, memories: Sequence[tuple[int, str]]) -> list[dict[str, Any]]:
        """Return what a fact does to the memories.

        Nothing if one says it already; of those it changes the first is rewritten and others go; else it is new.
        """
        fact = self._by_text.get(plain(text))
        concerned = [] if fact is None else [(at, known) for at, known in memories if self._concerns(fact, known)]
        for at, known in concerned:
            other = self._by_text[plain(known)]
            if fact is not None and other.meaning == fact.meaning:
                return [_decided(number, "NONE", at, None, "already known")]
        if not concerned:
            return [_decided(number, "ADD", None, None, "new")]
        (first, _), *others = concerned
        update = _decided(number, "UPDATE", first, text, "it changed")
        return [update, *(_decided(number, "DELETE", at, None, "no longer true") for at, _ in others)]


def _for_memstone(fact: ScriptFact, turns: Sequence[tuple[str, str]]) -> dict[str, Any]:
    turn = next(int(number) for number, text in turns if fact.quote in text)
    return {
        "text": fact.text,
        "turn": turn,
        "quote": fact.quote,
        "category": fact.category,
        "kind": "factual",
        "polarity": "negative" if fact.closing else "positive",
        "about": "user",
        "date": None,
    }


def _as_operation(decided: dict[str, Any], fact: ScriptFact, turns: Sequence[tuple[str, str]]) -> dict[str, Any]:
    op = {"DELETE": "REMOVE"}.get(decided["operation"], decided["operation"])
    turn = next(int(number) for number, text in turns if fact.quote in text)
    wording = fact.text if op in ("ADD", "UPDATE") else None
    output = {"turns": [turn], "quote": fact.quote, "category": fact.category, "about": "user"}
    return {"op": op, "memory": decided["target"], "text": wording, **output}


def _decided(fact: int, operation: str, target: int | None, text: str | None, reason: str) -> dict[str, Any]:
    return {"fact": fact, "operation": operation, "target": target, "text": text, "reason": reason}


def _written(**answer: Any) -> str:
    return json.dumps(answer, ensure_ascii=False)
