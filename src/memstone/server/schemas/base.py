"""Common parts of forms of requests and answers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, ClassVar, Final, TypeAlias, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler, TypeAdapter
from pydantic.json_schema import JsonSchemaValue
from pydantic_core.core_schema import CoreSchema, definitions_schema

Id: TypeAlias = Annotated[str, Field(max_length=256)]
Json: TypeAlias = dict[str, Any]
FilterForm: TypeAlias = Json | list[Any]
"""Conditions: an object, or a list of which all hold."""


# --- requests ---------------------------------------------------------------------------------------------------------


class RequestBody(BaseModel):
    """A body of a request; unknown fields are an error."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")


def example_config(**example: Any) -> ConfigDict:
    """Return the configuration of a body, with an example for the description of the service."""
    return ConfigDict(extra="forbid", json_schema_extra={"examples": [example]})


class ScopedBody(RequestBody):
    """A body that names whom it is about; the key decides whether that is allowed."""

    user_id: Id | None = None
    agent_id: Id | None = None
    run_id: Id | None = None


# --- answers ----------------------------------------------------------------------------------------------------------


class AnswerModel(BaseModel):
    """An answer; fields may be added later."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="allow")


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """Describes an answer that is sent as it is: it is neither checked on its way out nor filtered.

    ``form`` is an annotation, such as ``MemoryItem | None``, of types in ``memstone.results`` and
    ``memstone.server.schemas.answers``. These are loaded when the description is made: to have them all at the start
    would make it slower.
    """

    form: str

    def __get_pydantic_json_schema__(self, _: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Return the schema of the form: a reference to it, wherever it has a name."""
        return handler(definitions_schema(_core_schema(self.form), []))


def answer_form(form: str) -> Any:
    """Return the response model of a route whose answer has this form."""
    return Annotated[Any, AnswerForm(form)]


@cache
def _core_schema(form: str) -> CoreSchema:
    """Return what pydantic knows of a form; many routes answer in the same one."""
    from memstone import results
    from memstone.server.schemas import answers

    answer = type("Answer", (), {"__annotations__": {"form": form}})
    found = get_type_hints(answer, {**vars(answers), **vars(results)})["form"]
    return TypeAdapter(found).core_schema


class Problem(AnswerModel):
    """A request that failed (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    hint: str = ""
    retryable: bool = False
    request_id: str = ""


WRONG: Final = {
    400: "the request is wrong; nothing was written",
    401: "no key, or an invalid one",
    403: "the key does not have access",
    404: "not found",
    408: "the rest of the request did not arrive",
    409: "it changed in the meantime, or already exists",
    413: "larger than a limit allows",
    429: "too many requests; see Retry-After",
    502: "a model or service behind this one failed",
    503: "not available right now; try again",
    504: "a model or service behind this one took too long",
}
"""What a route may answer when something is wrong; always a ``Problem``."""

PROBLEMS: Final[dict[int | str, dict[str, Any]]] = {"default": {"description": "a problem"}}
"""Given to a router, says that its routes may answer so. ``memstone.server.description`` spells it out for all of them
together: a route would build forms of its own, which was most of what starting a service cost."""
