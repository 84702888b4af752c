"""A language model behind a chat server, for scenarios with ``infer=True``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from memstone.testing.wire import KEY, FakeChat, WireReply, WireRequest, completion_reply


class Model:
    """A chat server that finds the facts it was told to look for, and decides what it was told to.

    ``knows`` are words of a conversation and the fact they state; ``decides`` are new facts and what it does with each,
    one thing or several: the operation, a piece of the memory that is meant, and perhaps a new text.
    """

    def __init__(self) -> None:
        self.knows: dict[str, str] = {}
        self.decides: dict[str, dict[str, Any] | list[dict[str, Any]]] = {}
        self.asked: list[str] = []
        self.questions: list[list[dict[str, str]]] = []
        self._checks = FakeChat("{}")

    def __call__(self, request: WireRequest) -> WireReply:
        """The answer to a request that is well formed."""
        checked = self._checks(request)
        if checked.status != 200:
            return checked
        asked = request.json
        name = asked["response_format"]["json_schema"]["name"]
        self.asked.append(name)
        self.questions.append(asked["messages"])
        user = asked["messages"][-1]["content"]
        answers = {"operations": self._operations, "facts": self._facts, "decisions": self._decisions}
        return completion_reply(json.dumps(answers[name](user)))

    def _operations(self, user: str) -> dict[str, Any]:
        """What becomes of each fact, in the one answer that brings both."""
        output, _, text = user.partition("New turns:\n")
        memories = re.findall(r"^(\d+)\. (?:\([\d-]+\) )?(.*)$", output, re.MULTILINE)
        return {"operations": [one for fact in self._found(text) for one in self._each_of(fact, memories)]}

    def _each_of(self, fact: dict[str, Any], memories: list[tuple[str, str]]) -> list[dict[str, Any]]:
        answer = {"turns": [fact["turn"]], "quote": fact["quote"], "category": "other", "about": "user"}
        known = next((int(number) for number, memory in memories if memory == fact["text"]), None)
        if known is not None:
            return [{"op": "NONE", "memory": known, "text": None, **answer}]
        chosen = _each(self.decides.get(fact["text"], [])) or [{"operation": "ADD"}]
        return [{**self._operation(one, fact["text"], memories), **answer} for one in chosen]

    def _operation(self, chosen: dict[str, Any], text: str, memories: list[tuple[str, str]]) -> dict[str, Any]:
        wanted = dict(chosen)
        op = {"DELETE": "REMOVE"}.get(wanted["operation"], wanted["operation"])
        intended = wanted.get("target")
        target = next((int(n) for n, memory in memories if intended and intended in memory), None)
        value = next((wanted[name] for name in ("text", "data", "new_memory") if name in wanted), text)
        worded = None if op == "REMOVE" else value
        return {"op": op, "memory": target, "text": worded, "reason": wanted.get("reason", "because")}

    def _facts(self, user: str) -> dict[str, Any]:
        return {"facts": self._found(user.rpartition("Conversation:\n")[2])}

    def _found(self, text: str) -> list[dict[str, Any]]:
        turns = re.findall(r"^\[(\d+)\] (\w+)[^:]*: (.*)$", text, re.MULTILINE)
        return [
            {"text": fact, "turn": int(turn), "quote": words}
            for turn, _, line in turns
            for words, fact in self.knows.items()
            if words in line
        ]

    def _decisions(self, user: str) -> dict[str, Any]:
        output, _, new = user.partition("\n\nNew facts:\n")
        memories = re.findall(r"^(\d+)\. (?:\([\d-]+\) )?(.*)$", output, re.MULTILINE)
        facts = re.findall(r"^(\d+)\. (.*?) \((?:similar|no)", new, re.MULTILINE)
        chosen = [(int(n), one) for n, text in facts for one in _each(self.decides.get(text, []))]
        return {"decisions": [self._decision(number, one, memories) for number, one in chosen]}

    def _decision(self, number: int, chosen: dict[str, Any], memories: list[tuple[str, str]]) -> dict[str, Any]:
        wanted = dict(chosen)
        intended = wanted.pop("target", None)
        target = next((int(n) for n, memory in memories if intended and intended in memory), None)
        return {"fact": number, "target": target, "text": None, "reason": "because", **wanted}


def _each(chosen: dict[str, Any] | list[dict[str, Any]]) -> list[dict[str, Any]]:
    return chosen if isinstance(chosen, list) else [chosen]


def configured(url: str, options: Mapping[str, Any] | None = None, **settings: Any) -> dict[str, Any]:
    """Settings for a memory whose model is at this address; ``options`` are the model's own."""
    config = {"base_url": f"{url}/v1", "api_key": KEY, "model": "m", "retries": 0, **(options or {})}
    return {"llm": {"provider": "openai", "config": config}, **settings}
