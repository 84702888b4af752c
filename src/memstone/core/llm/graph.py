"""Ask a language model for entities and relations, and check its answer.

A name that is not in the text and a relation between anything else than names of the text are dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any, Final

from memstone.core.llm.parse import How, UnreadableAnswer, clean_text, parse_json
from memstone.core.llm.questions import ModelQuestion, object_schema, system_message
from memstone.language.language import NameReader
from memstone.language.text.normal import normal_text
from memstone.model.memory import MAX_FOUND, MAX_NAME_CHARS, USER, Entity, EntityFound, EntityType, Relation

MAX_DESCRIPTION_CHARS: Final = 200
INPUT_CHARS: Final = 16_384
_TYPES: Final = [kind.value for kind in EntityType]
_SELF: Final = frozenset(("user", "i", "me", "myself", "speaker", "the user"))
_VERB: Final = re.compile(r"[a-z][a-z0-9_]{1,39}")


def _build_tool(name: str, description: str, field: str, item: dict[str, Any]) -> dict[str, Any]:
    parameters = object_schema({field: {"type": "array", "items": object_schema(item)}})
    return {"name": name, "description": description, "parameters": parameters}


ENTITY_TOOL: Final = _build_tool(
    "extract_entities",
    "Report who and what the text names.",
    "entities",
    {
        "name": {"type": "string", "description": "in title case"},
        "type": {"type": "string", "enum": _TYPES},
        "description": {"type": ["string", "null"]},
    },
)
RELATION_TOOL: Final = _build_tool(
    "extract_relations",
    "Report how the entities of the text are related.",
    "relations",
    {"source": {"type": "string"}, "relation": {"type": "string"}, "target": {"type": "string"}},
)


@dataclass(frozen=True, slots=True)
class GraphAnswer:
    """The entities of an answer that the statements name, and the relations between them."""

    entities: tuple[Entity, ...]
    relations: tuple[Relation, ...] = ()
    how: How = "bare"

    @property
    def size(self) -> int:
        """How much there is in it."""
        return len(self.entities) + len(self.relations)

    def of(self, text: str) -> EntityFound:
        """Return the part of it that one statement names: relations whose ends both are in it."""
        sentence = normal_text(text)
        named = tuple(one for one in self.entities if _stands_in(one.norm, sentence))
        known = {one.norm for one in named} | {USER}
        edges = (one for one in self.relations if {one.source, one.target} <= known)
        return EntityFound(named, tuple(replace(one, evidence=text[:MAX_DESCRIPTION_CHARS]) for one in edges))


def graph_question(texts: Sequence[str]) -> ModelQuestion:
    """Return the question for what statements name and how that is related: one for all of them."""
    system, version = system_message("graph", "")
    lines = "\n".join(f"{number}. {' '.join(text.split())}" for number, text in enumerate(texts, 1))
    messages = [
        {"role": "system", "content": system},
        {"role": "user", "content": f"Statements:\n{lines[:INPUT_CHARS]}"},
    ]
    properties = {**ENTITY_TOOL["parameters"]["properties"], **RELATION_TOOL["parameters"]["properties"]}
    return ModelQuestion(messages, {"title": "graph", **object_schema(properties)}, version)


def parse_graph(answer: str, texts: Sequence[str], names: NameReader) -> GraphAnswer:
    """Return the graph in an answer, each thing once; ``UnreadableAnswer`` when it names no entities."""
    parsed = parse_json(answer)
    text = normal_text("\n".join(texts))
    found: dict[str, Entity] = {}
    for item in _list_items(parsed.value, "entities"):
        entity = _parse_entity(item, names)
        if entity is not None and _stands_in(entity.norm, text) and len(found) < MAX_FOUND:
            found.setdefault(entity.norm, entity)
    listed = parsed.value if isinstance(parsed.value, dict) and "relations" in parsed.value else {"relations": []}
    return GraphAnswer(tuple(found.values()), _parse_relations(listed, found.keys() | {USER}, names), parsed.how)


def _parse_relations(listed: Mapping[str, Any], known: AbstractSet[str], names: NameReader) -> tuple[Relation, ...]:
    found: dict[tuple[str, str, str], Relation] = {}
    for item in _list_items(listed, "relations"):
        edge = tuple(_normalize_endpoint(item.get(name), names) for name in ("source", "target"))
        verb = re.sub(r"[\s-]+", "_", clean_text(str(item.get("relation", ""))).casefold())
        if _VERB.fullmatch(verb) and edge[0] != edge[1] and known >= set(edge) and len(found) < MAX_FOUND:
            found.setdefault((edge[0], verb, edge[1]), Relation(edge[0], verb, edge[1]))
    return tuple(found.values())


def _list_items(value: Any, field: str) -> Iterator[Mapping[str, Any]]:
    listed = value.get(field) if isinstance(value, Mapping) else value
    if listed is None and isinstance(value, Mapping) and not value:
        listed = []
    if not isinstance(listed, list):
        raise UnreadableAnswer(f'the answer is not a list: expected {{"{field}": [...]}}')
    return (item for item in listed if isinstance(item, Mapping))


def _parse_entity(item: Mapping[str, Any], names: NameReader) -> Entity | None:
    name, kind, about = item.get("name"), str(item.get("type", "")).strip().lower(), item.get("description")
    name = clean_text(name) if isinstance(name, str) else ""
    form = names.normalize(name)
    if not form or len(name) > MAX_NAME_CHARS or form in _SELF:
        return None
    described = clean_text(about)[:MAX_DESCRIPTION_CHARS] if isinstance(about, str) and about.strip() else None
    return Entity(name, form, kind if kind in _TYPES else EntityType.CONCEPT, described)


def _stands_in(form: str, text: str) -> bool:
    at = text.find(form)
    while at >= 0:
        if not (text[at - 1 : at].isalnum() and form[0].isalnum()):
            return True
        at = text.find(form, at + 1)
    return False


def _normalize_endpoint(value: Any, names: NameReader) -> str:
    form = names.normalize(clean_text(value)) if isinstance(value, str) else ""
    return USER if form in _SELF else form
