"""Find entities and relations with a language model, if one is configured for that.

The graph is an extra: whatever goes wrong here leaves the memory itself untouched.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from logging import WARNING
from typing import Any

from memstone.core.llm.graph import ENTITY_TOOL, RELATION_TOOL, graph_question, parse_graph
from memstone.engine.learn.by_model import ask_model
from memstone.engine.runtime import Runtime
from memstone.errors import MemstoneError, StorageError, Unsupported
from memstone.model.memory import NOTHING, USER, Entity, EntityFound, EntityType
from memstone.ports.models import Llm, Prompt, Reply
from memstone.trace import log_event


async def graph_of(runtime: Runtime, texts: Sequence[str], speaker: str = USER) -> list[EntityFound | None]:
    """Return what each of these texts names according to the configured model; None when there is no model or it fails.

    One question for all of them. Call it before the transaction: the memories are stored either way.
    """
    if runtime.llm is None or not texts:
        return [None] * len(texts)
    names = runtime.language.names
    asked = replace(runtime, llm=_WithTools(runtime.llm, (ENTITY_TOOL, RELATION_TOOL)))
    try:
        answer = (await ask_model(asked, graph_question(texts), lambda text: parse_graph(text, texts, names))).value
    except StorageError:
        raise
    except MemstoneError as error:
        log_event("memory.graph.skipped", WARNING, code=error.code)
        return [None] * len(texts)
    found = [answer.of(text) for text in texts]
    form = names.normalize(speaker)
    return [NOTHING if not one.entities else _substitute_speaker(one, speaker, form) for one in found]


def _substitute_speaker(found: EntityFound, speaker: str, form: str) -> EntityFound:
    """Put the speaker in place of "user", who is an entity only when something is said about him."""
    named, edges = found.entities, found.relations
    if not form:
        return EntityFound(named, tuple(one for one in edges if USER not in (one.source, one.target)))
    moved = {USER: form}
    put = tuple(
        replace(one, source=moved.get(one.source, one.source), target=moved.get(one.target, one.target))
        for one in edges
    )
    relations = tuple(one for one in put if one.source != one.target)
    known = {one.norm for one in named}
    himself = form not in known and any(form in (one.source, one.target) for one in relations)
    return EntityFound((*named, Entity(speaker, form, EntityType.PERSON)) if himself else named, relations)


@dataclass(frozen=True, slots=True)
class _WithTools:
    """A model that is asked to call tools; the arguments of its calls are its answer.

    One that cannot be given tools is asked for the same as JSON.
    """

    llm: Llm
    tools: tuple[Mapping[str, Any], ...]

    @property
    def model(self) -> str:
        return self.llm.model

    @property
    def destination(self) -> str:
        return self.llm.destination

    async def generate(self, prompt: Prompt) -> Reply:
        tools = tuple(dict(tool) for tool in self.tools)
        try:
            reply = await self.llm.generate(replace(prompt, response_format="text", schema=None, tools=tools))
        except Unsupported:
            return await self.llm.generate(prompt)
        names = {tool["name"] for tool in self.tools}
        called = [call.arguments for call in reply.tool_calls if call.name in names]
        if not called:
            return reply
        return replace(reply, text=json.dumps({name: one[name] for one in called for name in one}, ensure_ascii=False))
