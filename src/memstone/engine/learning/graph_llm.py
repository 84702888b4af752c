"""Entities and relations by a language model, where one is configured and wanted.

The graph is an extra: whatever goes wrong here leaves the memory itself untouched.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from logging import WARNING
from typing import Any

from memstone.core.entities.finding import norm
from memstone.core.llm.graph import (
    ENTITY_TOOL,
    RELATION_TOOL,
    entities_question,
    parse_entities,
    parse_relations,
    relations_question,
)
from memstone.engine.learning.ask import ask
from memstone.engine.parts import Parts
from memstone.errors import MemstoneError, StorageError, Unsupported
from memstone.model.entity import NOTHING, USER, Entity, EntityType, Found
from memstone.ports.llm import Llm, Prompt, Reply
from memstone.trace import log_event


async def extract_with_llm(parts: Parts, text: str, speaker: str = USER) -> Found | None:
    """What a text names according to the configured model; None when there is no model or it fails.

    Two questions, first for the entities, then for the relations between them. Call it before the transaction, and
    take ``found_in`` instead of None or write no graph at all: the memory is stored either way.
    """
    if parts.llm is None:
        return None
    try:
        return await _extracted(parts, parts.llm, text, speaker)
    except StorageError:
        raise
    except MemstoneError as error:
        log_event("memory.graph.skipped", WARNING, code=error.code)
        return None


async def _extracted(parts: Parts, llm: Llm, text: str, speaker: str) -> Found:
    asked = replace(parts, llm=_WithTool(llm, ENTITY_TOOL))
    named = (await ask(asked, entities_question(text), lambda answer: parse_entities(answer, text))).value.entities
    if not named:
        return NOTHING
    asked = replace(parts, llm=_WithTool(llm, RELATION_TOOL))
    question = relations_question(text, named)
    edges = (await ask(asked, question, lambda answer: parse_relations(answer, named, text))).value.relations
    return _found(named, edges, speaker)


def _found(named: tuple[Entity, ...], edges: tuple[Any, ...], speaker: str) -> Found:
    """With the speaker in the place of "user", who is an entity only when something is said about him."""
    form = norm(speaker)
    if not form:
        return Found(named, tuple(one for one in edges if USER not in (one.source, one.target)))
    moved = {USER: form}
    put = tuple(
        replace(one, source=moved.get(one.source, one.source), target=moved.get(one.target, one.target))
        for one in edges
    )
    kept = tuple(one for one in put if one.source != one.target)
    known = {one.norm for one in named}
    himself = form not in known and any(form in (one.source, one.target) for one in kept)
    return Found((*named, Entity(speaker, form, EntityType.PERSON)) if himself else named, kept)


@dataclass(frozen=True, slots=True)
class _WithTool:
    """A model that is asked to call a tool; the arguments of the call are its answer.

    One that cannot be given tools is asked for the same as JSON.
    """

    llm: Llm
    tool: Mapping[str, Any]

    @property
    def model(self) -> str:
        return self.llm.model

    @property
    def destination(self) -> str:
        return self.llm.destination

    async def generate(self, prompt: Prompt) -> Reply:
        try:
            reply = await self.llm.generate(
                replace(prompt, response_format="text", schema=None, tools=(dict(self.tool),))
            )
        except Unsupported:
            return await self.llm.generate(prompt)
        called = next((call.arguments for call in reply.tool_calls if call.name == self.tool["name"]), None)
        return reply if called is None else replace(reply, text=json.dumps(called, ensure_ascii=False))
