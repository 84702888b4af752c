"""Whatever is handed to a method in the place of what its signature says is refused in words, and nothing is written.

The cases are made from the signatures: a method or a parameter that is added is covered by being there.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final

import pytest

from memstone import AsyncClient, AsyncMemory, Client, Memory
from memstone.core.checks.arguments import RULES, WORDS, rule_of
from memstone.drive import drive
from memstone.errors import InvalidInput, MemstoneError, UsageError
from memstone.remote.routes import NOT_OVER_HTTP
from tests.faces.harness import ANYWHERE, ON_DISK, Face, Opens, list_verbs, verb_of

METHODS: Final = ["acting_for", *list_verbs()]
UNKNOWN: Final = "00000000-0000-4000-8000-000000000000"
RIGHT: Final[dict[str, Any]] = {
    "account": "ada@example.org",
    "agent_id": "planner",
    "answer": "You live in Oslo.",
    "conversations": [{"id": "c", "messages": ["I live in Oslo"]}],
    "from_scope": {"user_id": "alice"},
    "ids": [UNKNOWN],
    "items": [{"messages": "I live in Oslo", "user_id": "alice"}],
    "key_id": UNKNOWN,
    "login": "ada@example.org",
    "memory_id": UNKNOWN,
    "messages": "I live in Oslo",
    "path": "/nowhere/store.backup",
    "password": "a long sentence of mine",
    "position": 0,
    "query": "Where does she live?",
    "receipt_id": UNKNOWN,
    "records": [],
    "report": {},
    "source": b"{}",
    "tenant_id": "default",
    "text": "I live in Oslo",
    "texts": ["Answer in metric units"],
    "to_scope": {"user_id": "bob"},
    "turns": "I live in Oslo",
    "use_case": "a cooking coach",
    "useful": True,
    "user_id": "alice",
    "values": {"context.budget": 800},
    "vector": [0.1, 0.2],
    "visibility": "pinned",
    "vector_id": "v",
    "vectors": [{"id": "v", "values": [0.1, 0.2]}],
}
"""What the parameters that have no default may be."""


class Odd:
    """Something that nobody expects."""


_FLAGS: Final = ["false", "", "no", 0, 1, 1.0, [], [1], Odd()]
_TEXTS: Final = [7, 1.5, True, b"x", ["a"], {"a": 1}, Odd()]
_LISTS: Final = [7, True, "abc", b"abc", {"a": 1}, Odd()]
WRONG: Final[dict[str, list[Any]]] = {
    "Callable[[int, int], object]": [1, "print", [], True, Odd()],
    "ExportLines": [7, Odd(), [7], ["line"]],
    "Filters": [7, "a=1", True, Odd(), [7], {"a": Odd()}],
    "Iterable[Mapping[str, Any]]": [7, "abc", b"abc", Odd(), True],
    "Mapping[str, Any]": [7, "a=1", b"a", ["a"], True, Odd()],
    "MessagesInput": [7, 1.5, True, b"x", {"a", "b"}, Odd(), [7], [Odd()], {"role": "user", "content": 7}],
    "Progress": [1, "print", [], True, Odd()],
    "Sequence[Mapping[str, Any]]": _LISTS,
    "Sequence[float]": [*_LISTS, ["a"], [None], [True]],
    "Sequence[str]": [*_LISTS, [7], [None], [["a"]], [True]],
    "Source": [7, 1.5, True, ["a"], {"a": 1}, Odd()],
    "TranscriptInput": [7, 1.5, True, b"x", Odd(), [7], [Odd()]],
    "TranscriptInput | Iterable[Mapping[str, Any]]": [7, 1.5, True, b"x", Odd(), [7], [Odd()]],
    "When": [7, 1.5, True, b"2026", ["2026"], {"a": 1}, Odd(), "soon", ""],
    "bool": _FLAGS,
    "float": ["1", b"1", True, [1], {"a": 1}, Odd(), float("nan")],
    "int": ["1", 1.5, True, b"1", [1], {"a": 1}, Odd(), 10**30],
    "str": _TEXTS,
    "str | Sequence[str]": [7, 1.5, True, b"x", {"a": 1}, Odd(), [7], [None], [["a"]]],
    "str | int": [1.5, True, b"x", ["a"], {"a": 1}, Odd(), "", "two words"],
    "str | os.PathLike[str]": [7, 1.5, True, b"x", ["a"], {"a": 1}, Odd()],
    **{name: [*_TEXTS, "nonsense"] for name in WORDS},
    **{f"Sequence[{name}]": [*_LISTS, [7], [None], [["a"]], [True], ["nonsense"]] for name in WORDS},
    **{
        f"{name} | Sequence[{name}]": [7, 1.5, True, b"x", {"a": 1}, Odd(), [7], [None], [["a"]], ["nonsense"]]
        for name in WORDS
    },
}
"""By annotation: what is not of that type, and what is and cannot be."""

BY_ITEM: Final = {"add_many": "items", "update_many": "items", "delete_many": "ids"}
"""Batches answer for each item by itself."""


def _parameters(method: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    return {name: one for name, one in inspect.signature(method).parameters.items() if name != "self"}


def _right(method: Callable[..., Any]) -> dict[str, Any]:
    return {name: RIGHT[name] for name, one in _parameters(method).items() if one.default is one.empty}


def _wrong(verb: str, name: str, annotation: str) -> Iterator[Any]:
    kind = annotation.removesuffix(" | None")
    held_back = BY_ITEM.get(verb) == name
    yield from (value for value in WRONG[kind] if not (held_back and isinstance(value, list)))
    if kind == annotation:
        yield None


@pytest.mark.req("C-52")
@pytest.mark.parametrize("cls", [Memory, AsyncMemory])
def test_every_annotation_has_its_rule(cls: type[Any]) -> None:
    memory = cls({"store": {"url": "memory:"}, "embedder": {"provider": "hash"}})
    for name in METHODS:
        for parameter in _parameters(verb_of(memory, name)).values():
            assert str(parameter.annotation).removesuffix(" | None") in RULES, (name, parameter.name)


@pytest.mark.req("C-52")
@ON_DISK
@pytest.mark.parametrize("verb", METHODS)
async def test_what_is_of_another_type_is_refused_and_nothing_is_written(opens: Opens, verb: str) -> None:
    face = opens()
    await face.remember("I live in Oslo")
    method = verb_of(face.memory, verb)
    with opens.sql() as database:
        await _refuses(face, verb, method, lambda: database.execute("PRAGMA data_version").fetchone())


async def _refuses(face: Face, verb: str, method: Callable[..., Any], written: Callable[[], Any]) -> None:
    """``written`` gives another number after every transaction of somebody else."""
    before = written()
    for name, parameter in _parameters(method).items():
        for value in _wrong(verb, name, str(parameter.annotation)):
            values = {**_right(method), name: value}
            with pytest.raises(MemstoneError) as refused:
                await _called(face, verb, values)
            assert refused.value.message.strip(), (name, value)
            assert written() == before, (name, value)


async def _called(face: Face, verb: str, values: dict[str, Any]) -> Any:
    if verb == "acting_for":
        return face.memory.acting_for(**values)
    return await verb_of(face, verb)(**values)


@pytest.mark.req("C-52")
@pytest.mark.parametrize("cls", [Client, AsyncClient])
def test_a_client_refuses_it_before_anything_is_sent(cls: type[Any]) -> None:
    client = cls("http://127.0.0.1:9", "key", max_retries=0)
    for verb in sorted(set(METHODS) - NOT_OVER_HTTP.keys() - {"acting_for"}):
        method = verb_of(client, verb)
        for name, parameter in _parameters(method).items():
            rule = rule_of(name, str(parameter.annotation))
            wrong = [one for one in _wrong(verb, name, str(parameter.annotation)) if rule and not rule.fits(one)]
            for value in wrong:
                with pytest.raises(UsageError):
                    _answer(method(**{**_right(method), name: value}))


def _answer(result: Any) -> Any:
    if inspect.iscoroutine(result):
        return drive(result)
    return next(iter(result)) if inspect.isgenerator(result) else result


@pytest.mark.req("C-52")
@pytest.mark.parametrize(("verb", "key"), [("add_many", "messages"), ("update_many", "memory_id")])
async def test_an_item_of_a_batch_is_held_to_the_types_of_its_method(face: Face, verb: str, key: str) -> None:
    memory_id = await face.remember("I live in Oslo")
    single = getattr(Memory, verb.removesuffix("_many"))
    right = {"messages": {"messages": "I like tea", "user_id": "alice"}, "memory_id": {"memory_id": memory_id}}[key]
    seen = (await face.review.events(everybody=True))["cursor"]
    for name, parameter in _parameters(single).items():
        for value in _wrong(single.__name__, name, str(parameter.annotation)):
            if value is None and name == "memory_id":
                continue  # an item may also say id
            (result,) = (await verb_of(face, verb)([{**right, name: value}]))["results"]
            assert "error" in result, (name, value)
    assert (await face.review.events(everybody=True))["cursor"] == seen


def test_methods_of_somebodys_own_class_are_theirs() -> None:
    class Mine(Memory):
        def limit_of(self, limit: int) -> int:
            return limit

    with Mine({"store": {"url": "memory:"}, "embedder": {"provider": "none"}}) as own:
        assert str(own.limit_of("many")) == "many"  # type: ignore[arg-type]


def _nested(levels: int) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for _ in range(levels):
        made = {"a": made}
    return made


_ITSELF: Final[dict[str, Any]] = {}
_ITSELF["a"] = _ITSELF
DEEP: Final[list[Any]] = [
    _nested(3_000),
    _ITSELF,
    [_nested(3_000)],
    [_ITSELF],
    [{"messages": "x", "user_id": "alice", "metadata": _ITSELF}],
    [{"messages": _nested(3_000), "user_id": "alice"}],
    {"context.budget": _nested(3_000)},
    {"user_id": _nested(3_000)},
]
HOLDS_MORE: Final = ("Filters", "Input", "Iterable", "Mapping", "Sequence", "ExportLines")


@pytest.mark.req("C-52")
@ANYWHERE
@pytest.mark.parametrize("verb", METHODS)
async def test_what_is_nested_without_end_is_an_error_of_ours(face: Face, verb: str) -> None:
    method = verb_of(face.memory, verb)
    for name, parameter in _parameters(method).items():
        if not any(kind in str(parameter.annotation) for kind in HOLDS_MORE):
            continue
        for value in DEEP:
            keys = [{}, {"idempotency_key": "k"}] if "idempotency_key" in _parameters(method) else [{}]
            for key in keys:
                await _ours_or_fine(face, verb, {**_right(method), name: value, **key})


async def _ours_or_fine(face: Face, verb: str, values: dict[str, Any]) -> None:
    """Whatever is wrong is an error of ours: some take what another cannot, and batches answer for each item."""
    with suppress(MemstoneError):
        await _called(face, verb, values)


@pytest.mark.req("C-52")
def test_a_client_refuses_what_is_nested_without_end() -> None:
    with Client("http://127.0.0.1:9", "key", max_retries=0) as client:
        for call in (
            lambda: client.add("x", user_id="alice", metadata=_ITSELF),
            lambda: client.search("x", user_id="alice", filters=_nested(3_000)),
            lambda: client.load([_ITSELF]),
        ):
            with pytest.raises(InvalidInput, match="nested too deeply"):
                call()


PATHS: Final = ["/nowhere/at/all", "", "\0", "a" * 5_000, "/" + "b/" * 4_000, "half \ud800", "/proc/1/mem"]


@pytest.mark.req("C-52")
@ANYWHERE
@pytest.mark.parametrize(
    "verb", ["admin.backups.create", "admin.import_from", "admin.backups.restore", "admin.backups.verify"]
)
@pytest.mark.parametrize("path", PATHS, ids=range(len(PATHS)))
async def test_a_path_that_leads_nowhere_is_an_error_of_ours(face: Face, verb: str, path: str) -> None:
    name = "source" if verb == "admin.import_from" else "path"
    with pytest.raises(MemstoneError):
        await verb_of(face, verb)(**{name: path})
