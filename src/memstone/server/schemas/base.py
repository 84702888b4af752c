"""What the forms of requests and answers have in common."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any, ClassVar, Final, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler, TypeAdapter
from pydantic.json_schema import JsonSchemaValue
from pydantic_core.core_schema import CoreSchema, definitions_schema

Id: TypeAlias = Annotated[str, Field(max_length=256)]
Json: TypeAlias = dict[str, Any]
FilterForm: TypeAlias = Json | list[Any]
"""Conditions: an object, or a list of which all hold."""


class RequestBody(BaseModel):
    """A body that a caller sends: what it does not know is an error, never ignored."""

    model_config = ConfigDict(extra="forbid")


def shown_as(**example: Any) -> ConfigDict:
    """The configuration of a body, with an example for the description of the service."""
    return ConfigDict(extra="forbid", json_schema_extra={"examples": [example]})


class Scoped(RequestBody):
    """A body that says whom it is about; the key decides whether it may."""

    user_id: Id | None = None
    agent_id: Id | None = None
    run_id: Id | None = None


class Answer(BaseModel):
    """What a caller gets; more may be added to it without notice."""

    model_config = ConfigDict(extra="allow")

    besides: ClassVar[str] = ""
    """The form that describes the rest of it: what is there at times only, or what its parts hold.

    That is for the description alone. What an answer holds is passed on as it is, and nothing that it does not hold is
    written into it, as would be with a field that has a default.
    """

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The schema, with that of the rest."""
        shown = handler(core_schema)
        if cls.besides:
            own, rest = (
                handler.resolve_ref_schema(shown),
                handler.resolve_ref_schema(_form_schema(cls.besides, handler)),
            )
            own["properties"] = {**own.get("properties", {}), **rest["properties"]}
            own["required"] = list(dict.fromkeys([*own.get("required", ()), *rest.get("required", ())]))
        return shown


@dataclass(frozen=True, slots=True)
class Told:
    """Describes an answer that is sent as it is: it is neither checked on its way out nor filtered.

    ``form`` is a type, or names one in ``memstone.server.schemas``, such as ``answers.context.Receipt``; of a table of
    them, ``key`` says which. Those that are named are loaded when the description is made: to have them all at the
    start would make it slower.
    """

    form: Any
    key: str = ""

    def __get_pydantic_json_schema__(self, _: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The schema of the form."""
        return _form_schema(self.form, handler, self.key)


def answer_form(form: Any, key: str = "") -> Any:
    """The response model of a route whose answer has this form."""
    return Annotated[Any, Told(form, key)]


def _form_schema(form: Any, handler: GetJsonSchemaHandler, key: str = "") -> JsonSchemaValue:
    """The schema of a form: a reference to it, wherever it has a name."""
    if isinstance(form, str):
        module, _, name = form.rpartition(".")
        form = getattr(import_module(f"memstone.server.schemas.{module}"), name)
    return handler(definitions_schema(TypeAdapter(form[key] if key else form).core_schema, []))


class Problem(Answer):
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
"""Say, on a router, that its routes may answer so. ``memstone.server.description`` spells it out for each of
them: a route would build forms of its own, which was most of what starting a service cost."""
