"""The same calls on two memories, and their answers with ids told by the order in which they came up."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final, TypeAlias

from memstone import Memory
from memstone.errors import MemstoneError

Call: TypeAlias = Callable[["Side"], Any]
# Ids of rows, and the marks of a fence, which come from a secret of each store.
_ID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}|(?<=memory id=\")[0-9a-f]{24}")

USERS: Final = ("alice", "bob", "Zoë")
SAID: Final = (
    "I live in Oslo.",
    "I moved to Bergen last week.",
    "I am allergic to peanuts.",
    "I love sushi and hate olives.",
    "My sister Anna works at Google in Zürich.",
    "I no longer like sushi.",
    "My dog is called Rex.",
    "Could you remind me to call Anna tomorrow?",
    "I drive a Tesla, but I used to drive a Volvo.",
    "My birthday is on 3 May 1990.",
    "I work as a nurse at St. Mary's hospital.",
    "I prefer short answers.",
)
ASKED: Final = ("Where does she live?", "food", "Anna", "What did I say last week?", "pets", "olives OR sushi", "'; --")
FILTERS: Final[tuple[Any, ...]] = (
    None,
    {"mood": "good"},
    {"AND": [{"n": {"gte": 2}}, {"NOT": [{"mood": {"in": ["bad", "sad"]}}]}]},
    {"tags": {"contains": "x"}},
    {"mood": {"icontains": "GOO"}},
    {"OR": [{"n": {"lt": 1}}, {"n": {"gt": 2.5}}]},
)


@dataclass(slots=True)
class Side:
    """One of the two, with the ids it gave out."""

    memory: Memory
    ids: list[str] = field(default_factory=list)

    def told(self, call: Call) -> Any:
        """What a call gives, or which error."""
        try:
            answer = call(self)
        except MemstoneError as error:
            answer = {"error": error.code, "hint": error.hint}
        return self._plain(answer)

    def _plain(self, value: Any) -> Any:
        """An answer without what may differ: ids become numbers, and numbers that only tell an order are left out."""
        if isinstance(value, dict):
            return {self._plain(key): self._plain(one) for key, one in value.items() if key != "order"}
        if isinstance(value, (list, tuple)):
            return [self._plain(one) for one in value]
        if isinstance(value, float):
            return round(value, 6)
        return _ID.sub(self._numbered, value) if isinstance(value, str) else value

    def _numbered(self, match: re.Match[str]) -> str:
        if match[0] not in self.ids:
            self.ids.append(match[0])
        return f"#{self.ids.index(match[0])}"

    def id_at(self, place: int) -> str:
        """One of the ids, or one that never was."""
        return self.ids[place % len(self.ids)] if self.ids else "00000000-0000-4000-8000-000000000000"


def calls(seed: int) -> Iterator[tuple[str, Call]]:
    """An endless story; the same for the same seed."""
    chance = random.Random(seed)  # noqa: S311 - a story, not a secret
    verbs = (_add, _add, _add, _store, _store, _batch, _search, _search, _list, _look, _change, _delete, _ask, _tell)
    for number in count():
        yield chance.choice(verbs)(chance, number)


def _scope(chance: random.Random) -> dict[str, Any]:
    scope: dict[str, Any] = {"user_id": chance.choice(USERS)}
    return {**scope, **({"run_id": "r1"} if chance.random() < 0.2 else {})}


def _metadata(chance: random.Random) -> dict[str, Any]:
    chosen = {"mood": chance.choice(["good", "bad", "Good", None]), "n": chance.choice([0, 1, 2, 2.0, 3.5, 1e16])}
    return {**chosen, "tags": chance.sample(["x", "y", "ÿ"], 2)}


def _add(chance: random.Random, _: int) -> tuple[str, Call]:
    text, scope = chance.choice(SAID), _scope(chance)
    return f"add {text!r}", lambda side: side.memory.add(text, **scope)


def _store(chance: random.Random, number: int) -> tuple[str, Call]:
    text, scope, more = f"{chance.choice(SAID)} ({number % 7})", _scope(chance), _metadata(chance)
    return f"store {text!r}", lambda side: side.memory.add(text, infer=False, metadata=more, **scope)


def _batch(chance: random.Random, number: int) -> tuple[str, Call]:
    items = [{"messages": one, "infer": False, **_scope(chance)} for one in chance.sample(SAID, 3)]
    key = f"batch-{number}"
    return "batch", lambda side: [side.memory.add_many(items, idempotency_key=key) for _ in range(2)]


def _search(chance: random.Random, _: int) -> tuple[str, Call]:
    asked, scope, filters = chance.choice(ASKED), _scope(chance), chance.choice(FILTERS)
    return f"search {asked!r} {filters}", lambda side: side.memory.search(asked, filters=filters, **scope)


def _list(chance: random.Random, _: int) -> tuple[str, Call]:
    scope, filters, limit = _scope(chance), chance.choice(FILTERS), chance.choice([2, 50])
    return f"list {filters}", lambda side: side.memory.get_all(filters=filters, limit=limit, **scope)


def _look(chance: random.Random, _: int) -> tuple[str, Call]:
    place = chance.randrange(1000)
    return "get and history", lambda side: [side.memory.get(side.id_at(place)), side.memory.history(side.id_at(place))]


def _change(chance: random.Random, number: int) -> tuple[str, Call]:
    place, text = chance.randrange(1000), f"{chance.choice(SAID)} as I said ({number})"
    return "update", lambda side: side.memory.update(side.id_at(place), text)


def _delete(chance: random.Random, _: int) -> tuple[str, Call]:
    place = chance.randrange(1000)
    return "delete", lambda side: side.memory.delete(side.id_at(place))


def _ask(chance: random.Random, _: int) -> tuple[str, Call]:
    asked, user = chance.choice(ASKED), chance.choice(USERS)
    return f"context {asked!r}", lambda side: side.memory.context(asked, user_id=user).as_dict()


def _tell(chance: random.Random, _: int) -> tuple[str, Call]:
    scope: dict[str, Any] = {"user_id": chance.choice(USERS)}

    def everything(side: Side) -> list[Any]:
        memory = side.memory
        counts = memory.stats()
        counts.pop("embedding_cache")
        edges = memory.graph.relations(**scope)["results"]  # those of one text stand in the order of their random ids
        edges.sort(key=lambda one: (one["source"], one["relation"], one["target"]))
        return [counts, memory.graph.entities(**scope), edges, list(memory.export(**scope))]

    return "stats, entities, relations, export", everything
