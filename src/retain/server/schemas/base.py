"""What the forms of requests and answers have in common."""

from __future__ import annotations

from typing import Annotated, Any, Final, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

Id: TypeAlias = Annotated[str, Field(max_length=256)]
Json: TypeAlias = dict[str, Any]


class Given(BaseModel):
    """A body that a caller sends: what it does not know is an error, never ignored."""

    model_config = ConfigDict(extra="forbid")


def shown_as(**example: Any) -> ConfigDict:
    """The configuration of a body, with an example for the description of the service."""
    return ConfigDict(extra="forbid", json_schema_extra={"examples": [example]})


class Scoped(Given):
    """A body that says whom it is about; the key decides whether it may."""

    user_id: Id | None = None
    agent_id: Id | None = None
    run_id: Id | None = None


class Answer(BaseModel):
    """What a caller gets; more may be added to it without notice."""

    model_config = ConfigDict(extra="allow")


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
    401: "no key, or one that is not valid",
    403: "the key does not reach so far",
    404: "there is no such thing",
    408: "the rest of the request did not come",
    409: "it was changed meanwhile, or is there already",
    413: "larger than a limit allows",
    429: "too often; see Retry-After",
    502: "a model or service behind this one failed",
    503: "not now; try again",
    504: "a model or service behind this one took too long",
}
"""What a route may answer when something is wrong; always a ``Problem``."""

PROBLEMS: Final[dict[int | str, dict[str, Any]]] = {"default": {"description": "a problem"}}
"""Given to a router, says that its routes may answer so. ``retain.server.description`` spells it out for each of them:
a route would build forms of its own, which was most of what starting a service cost."""
