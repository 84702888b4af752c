"""Convert errors to problem+json."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import Match

from memstone import errors
from memstone.server.observe import log, mask_secrets
from memstone.server.strict import MESSAGES, hint_about, join_alternatives

if TYPE_CHECKING:
    from memstone.results import ErrorInfo

MEDIA_TYPE: Final = "application/problem+json"

# The first that fits decides; what no line names is ours to mend.
STATUSES: Final[tuple[tuple[type[Exception], HTTPStatus], ...]] = (
    (errors.Unauthenticated, HTTPStatus.UNAUTHORIZED),
    (errors.Forbidden, HTTPStatus.FORBIDDEN),
    (errors.TooManyRequests, HTTPStatus.TOO_MANY_REQUESTS),
    (errors.NotFoundError, HTTPStatus.NOT_FOUND),
    (errors.Conflict, HTTPStatus.CONFLICT),
    (errors.QuotaExceeded, HTTPStatus.FORBIDDEN),  # waiting does not help, so it is not 429
    (errors.TooLarge, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    (errors.UsageError, HTTPStatus.BAD_REQUEST),
    (errors.RateLimited, HTTPStatus.SERVICE_UNAVAILABLE),
    (errors.ModelError, HTTPStatus.BAD_GATEWAY),
    (errors.BackendTimeout, HTTPStatus.GATEWAY_TIMEOUT),
    (errors.BackendError, HTTPStatus.BAD_GATEWAY),
    (errors.StorageBusy, HTTPStatus.SERVICE_UNAVAILABLE),
    (errors.StorageFull, HTTPStatus.INSUFFICIENT_STORAGE),
    (errors.StorageError, HTTPStatus.INTERNAL_SERVER_ERROR),
    (errors.AccessError, HTTPStatus.FORBIDDEN),
)

_TYPES: Final[dict[int, str]] = {
    HTTPStatus.UNAUTHORIZED: "authentication_error",
    HTTPStatus.FORBIDDEN: "permission_error",
    HTTPStatus.NOT_FOUND: "not_found_error",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "request_too_large",
    HTTPStatus.TOO_MANY_REQUESTS: "rate_limit_error",
    HTTPStatus.SERVICE_UNAVAILABLE: "overloaded_error",
    HTTPStatus.GATEWAY_TIMEOUT: "timeout_error",
}

# What nothing but the request brings about: nested too deeply, half a character, a number that no column holds.
_UNHOLDABLE: Final = (RecursionError, UnicodeEncodeError, OverflowError)
_STORE: Final = "the store is not available right now"
_TELLING: Final = frozenset({"checks", "data", "degraded", "details", "error", "resolution", "result", "results"})
"""Where an answer tells of failures that did not prevent it."""

_NAME_CHARS: Final = 100
_TYPE_HINT: Final = "send it with Content-Type: application/json"


def status_of(error: Exception) -> HTTPStatus:
    """Return the HTTP status of an error."""
    return next((status for kind, status in STATUSES if isinstance(error, kind)), HTTPStatus.INTERNAL_SERVER_ERROR)


def problem_response(
    request: Request,
    status: int,
    message: str,
    *,
    code: str,
    hint: str = "",
    retryable: bool = False,
    details: Sequence[Mapping[str, Any]] = (),
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """Return the answer to a request that failed; ``error`` repeats it for callers who look there."""
    message = mask_secrets(message)
    body = {
        "type": f"urn:memstone:{code}",
        "title": HTTPStatus(status).phrase,
        "status": int(status),
        "detail": message,
        "code": code,
        "hint": hint,
        "retryable": retryable,
        "request_id": getattr(request.state, "request_id", ""),
        "error": {"message": message, "type": _type_of(status), "code": code, "details": list(details)},
    }
    return JSONResponse(body, status_code=int(status), headers=dict(headers or {}), media_type=MEDIA_TYPE)


def _type_of(status: int) -> str:
    """Return the kind of an error in the words of the vendors' own services, which their clients look for."""
    return _TYPES.get(status, "api_error" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "invalid_request_error")


def error_for_caller(error: errors.MemstoneError) -> ErrorInfo:
    """Return an error as callers see it: where the store is does not concern everybody who has a key."""
    answer = error.as_dict()
    return {**answer, "message": _STORE} if isinstance(error, errors.StorageError) else answer


def _error_codes(kind: type[errors.MemstoneError]) -> Iterator[str]:
    yield kind.code
    for narrower in kind.__subclasses__():
        yield from _error_codes(narrower)


_OF_STORES: Final = frozenset(
    code for cls in (errors.StorageError, errors.VectorStoreError, errors.GraphStoreError) for code in _error_codes(cls)
)


def hide_store_details(answer: Any) -> Any:
    """Return an answer whose failures have only code and kind.

    What a store said about itself belongs into the log.
    """
    if isinstance(answer, (list, tuple)):
        return [hide_store_details(one) for one in answer]
    if not isinstance(answer, Mapping):
        return answer
    notes = {name: hide_store_details(answer[name]) for name in _TELLING & answer.keys()}
    if "message" in answer and isinstance(answer.get("code"), str) and answer["code"] in _OF_STORES:
        log.warning("answer.degraded", code=answer["code"], reason=str(answer["message"]))
        notes["message"] = _STORE
    return {**answer, **notes} if notes else answer


def log_server_fault(error: errors.MemstoneError) -> None:
    """Log what is not the caller's fault."""
    if status_of(error) >= HTTPStatus.INTERNAL_SERVER_ERROR:
        reason = error.message if isinstance(error, errors.StorageError) else None  # others may quote
        log.warning("request.failed", code=error.code, kind=type(error).__name__, reason=reason)


def _error_response(request: Request, error: errors.MemstoneError) -> JSONResponse:
    """Return the answer for one of our own errors."""
    headers: dict[str, str] = {}
    if isinstance(error, errors.TooManyRequests):
        headers["Retry-After"] = str(max(1, round(error.retry_after)))
    if isinstance(error, errors.Unauthenticated):
        headers["WWW-Authenticate"] = "Bearer"
    return problem_response(request, status_of(error), headers=headers, **error_for_caller(error))


def install_error_handlers(app: FastAPI) -> None:
    """Let an application answer every error in this way."""
    app.add_exception_handler(errors.MemstoneError, handle_memstone_error)
    app.add_exception_handler(RequestValidationError, _handle_invalid_request)
    app.add_exception_handler(HTTPException, _handle_http_error)
    for kind in _UNHOLDABLE:
        app.add_exception_handler(kind, _handle_unstorable_value)
    app.add_exception_handler(Exception, handle_unexpected_error)


async def handle_memstone_error(request: Request, error: Exception) -> JSONResponse:
    """Return the answer for one of our own errors, after it was logged."""
    if not isinstance(error, errors.MemstoneError):
        return await handle_unexpected_error(request, error)
    log_server_fault(error)
    return _error_response(request, error)


async def _handle_invalid_request(request: Request, error: Exception) -> JSONResponse:
    found = error.errors() if isinstance(error, RequestValidationError) else []
    if any(one["type"] == "json_invalid" for one in found):
        return _invalid_json_response(request)
    # Where and what, never the value: it may be a secret.
    details = [_error_detail(one) for one in join_alternatives(found)]
    text = "; ".join(f"{one['field']}: {one['message']}" for one in details[:3])
    hint = mask_secrets(hint_about(request, found))
    if not hint and not _is_json(request) and any(tuple(one["loc"]) == ("body",) for one in found):
        hint = _TYPE_HINT
    message = text or "invalid request"
    return problem_response(request, HTTPStatus.BAD_REQUEST, message, code="invalid_input", hint=hint, details=details)


def _error_detail(error: Mapping[str, Any]) -> dict[str, str]:
    place = ".".join(str(step)[:_NAME_CHARS] for step in error["loc"])
    message = MESSAGES.get(error["type"], error["msg"].removeprefix("Value error, "))
    return {"field": mask_secrets(place), "message": mask_secrets(message)}


def _is_json(request: Request) -> bool:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))


async def _handle_unstorable_value(request: Request, error: Exception) -> JSONResponse:
    log.info("request.unholdable", kind=type(error).__name__)
    hint = "nest less deeply; numbers can have at most 64 bits, and texts must be valid Unicode"
    return problem_response(
        request, HTTPStatus.BAD_REQUEST, "a value cannot be stored", code="invalid_input", hint=hint
    )


async def _handle_http_error(request: Request, error: Exception) -> JSONResponse:
    status = error.status_code if isinstance(error, HTTPException) else HTTPStatus.INTERNAL_SERVER_ERROR
    if status == HTTPStatus.BAD_REQUEST:  # nothing but a body that is no text, or not to be unravelled, ends here so
        return _invalid_json_response(request)
    code = HTTPStatus(status).phrase.lower().replace(" ", "_").replace("-", "_")
    headers = dict(getattr(error, "headers", None) or {})
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        headers["Allow"] = ", ".join(_allowed_methods(request))
    return problem_response(request, status, HTTPStatus(status).phrase, code=code, headers=headers)


def _invalid_json_response(request: Request) -> JSONResponse:
    hint = "send JSON in UTF-8, not compressed and not nested too deeply"
    return problem_response(request, HTTPStatus.BAD_REQUEST, "Invalid JSON body", code="invalid_json", hint=hint)


def _allowed_methods(request: Request) -> list[str]:
    """Return every method for which there is a route at this path; the framework knows those of the first one only."""
    here = [route for route in request.app.routes if route.matches(request.scope)[0] is not Match.NONE]
    return sorted({method for route in here for method in getattr(route, "methods", None) or ()})


async def handle_unexpected_error(request: Request, error: Exception) -> JSONResponse:
    """Return the answer for what is ours to mend."""
    request_id = getattr(request.state, "request_id", "")
    log.error("request.crashed", kind=type(error).__name__, exc_info=error, request_id=request_id)
    return problem_response(
        request,
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "internal error",
        code="internal",
        hint="look for this request_id in the log",
    )
