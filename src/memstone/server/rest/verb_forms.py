"""The form of a call, read off the signature of the method: what it takes, and of what type."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from string import Formatter
from typing import Annotated, Any, Final, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model

from memstone.api.aio.verbs import AsyncMemoryVerbs
from memstone.core.checks.arguments import WORDS
from memstone.remote.routes import LEFT_OUT, VerbRoute
from memstone.server.schemas.base import FilterForm, Json, RequestBody
from memstone.server.schemas.memories import Messages
from memstone.server.summaries import SUMMARIES, body_name

_Items = list[Json]
_Turns = str | Json | list[str | Json]
_SafeInteger = Annotated[int, Field(ge=-(2**53), le=2**53)]  # what every reader of JSON holds exactly, and every store

TYPES: Final[dict[str, Any]] = {
    "ExportLines": _Items,
    "Filters": FilterForm,
    "Iterable[Mapping[str, Any]]": _Items,
    "Mapping[str, Any]": Json,
    "MessagesInput": Messages,
    "Sequence[Mapping[str, Any]]": _Items,
    "Sequence[float]": list[float],
    "Sequence[str]": list[str],
    "TranscriptInput": _Turns,
    "TranscriptInput | Iterable[Mapping[str, Any]]": _Turns,
    "When": str,
    "bool": bool,
    "float": float,
    "int": _SafeInteger,
    "str": str,
    "str | Sequence[str]": str | list[str],
    "str | int": str | int,
    **dict.fromkeys(WORDS, str),
    **{f"Sequence[{name}]": list[str] for name in WORDS},
    **{f"{name} | Sequence[{name}]": str | list[str] for name in WORDS},
}
"""What an annotation of a method means in JSON; a date is text there."""

_ID: Final = "0198c2d4-6b1e-7c3a-9f00-5d2b8e4a7c11"
_SAMPLES: Final[dict[str, Any]] = {
    "account": "ada@example.org",
    "agent_id": "planner",
    "answer": "You live in Oslo.",
    "conversations": [{"id": "chat-1", "messages": [{"role": "user", "content": "I live in Oslo"}]}],
    "from_scope": {"user_id": "alice"},
    "ids": [_ID],
    "items": [{"messages": "I live in Oslo", "user_id": "alice"}],
    "key_id": "0123456789abcdef",
    "login": "ada@example.org",
    "memory_id": _ID,
    "messages": "I live in Oslo",
    "password": "a long sentence of mine",
    "position": 0,
    "query": "Where does she live?",
    "receipt_id": _ID,
    "records": [{"type": "header", "format": "memstone", "version": 1}],
    "report": {"sha256": "0" * 64},
    "text": "I live in Oslo",
    "texts": ["Answer in metric units"],
    "to_scope": {"user_id": "alice.smith"},
    "turns": [{"role": "user", "content": "I live in Oslo", "timestamp": "2026-03-02T09:00:00Z"}],
    "use_case": "a cooking coach for families",
    "useful": True,
    "user_id": "alice",
    "values": {"context.budget": 800},
    "vector": [0.1, 0.2, 0.3],
    "vector_id": "v1",
    "vectors": [{"id": "v1", "values": [0.1, 0.2, 0.3], "metadata": {"text": "I live in Oslo"}}],
    "visibility": "private",
}


def verb_method(name: str) -> Callable[..., Any]:
    """Return the method of a verb, by its group and its name."""
    *groups, last = name.split(".")
    owner: Any = AsyncMemoryVerbs
    for group in groups:
        owner = get_type_hints(getattr(owner, group).fget)["return"]
    method: Callable[..., Any] = getattr(owner, last)
    return method


def parameter_names(path: str) -> list[str]:
    """Return the parameters of a path."""
    return [name for _, name, _, _ in Formatter().parse(path) if name]


def path_type(method: Callable[..., Any], name: str) -> Any:
    """Return the type of a parameter that is in the path."""
    return int if str(inspect.signature(method).parameters[name].annotation) == "int" else str


def call_parameters(method: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the parameters of a method that can be sent."""
    every = list(inspect.signature(method).parameters.values())[1:]
    return [one for one in every if one.name not in LEFT_OUT]


def form_of(
    name: str, method: Callable[..., Any], route: VerbRoute, *, leave_out: Sequence[str] = ()
) -> tuple[type[BaseModel], bool]:
    """Return the form of a call, and whether it must be sent; what the method does not know is an error.

    One that could empty everything takes ``confirm`` besides, which is the service's and not the method's.
    """
    takes = [one for one in call_parameters(method) if one.name not in leave_out]
    fields: dict[str, Any] = {
        one.name: (_json_type(one), ... if one.default is one.empty else _json_default(one)) for one in takes
    }
    if route.narrowed_by:
        fields["confirm"] = (str | None, None)
    # In a body "5" is not 5, as for the library; in a query everything is text.
    strict = route.method not in ("GET", "DELETE")
    config = ConfigDict(extra="forbid", strict=strict, json_schema_extra={"examples": [_call_example(takes)]})
    base = type("Form", (RequestBody,), {"model_config": config})
    form: type[BaseModel] = create_model(
        body_name(SUMMARIES[f"{route.method} {route.path}"]),
        __base__=base,
        __doc__=f"The arguments of ``{name}``.",
        **fields,
    )
    return form, any(one.default is one.empty for one in takes)


def _call_example(takes: Sequence[inspect.Parameter]) -> Json:
    return {one.name: _SAMPLES[one.name] for one in takes if one.default is one.empty or one.name == "user_id"}


def _json_type(parameter: inspect.Parameter) -> Any:
    text = str(parameter.annotation)
    found = TYPES[text.removesuffix(" | None")]
    return found | None if text.endswith(" | None") else found


def _json_default(parameter: inspect.Parameter) -> Any:
    """Return the default where JSON can hold it; what means "not given" in Python is not given here."""
    default = parameter.default
    if isinstance(default, tuple):
        return list(default)
    return default if default is None or isinstance(default, (str, int, float, bool)) else None
