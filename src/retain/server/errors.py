"""One mapping from what went wrong to what a caller is told: problem+json, with a code, a hint and the request's id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from retain import errors
from retain.server.observe import log, unsecret

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
    (errors.StorageError, HTTPStatus.INTERNAL_SERVER_ERROR),
    (errors.AccessError, HTTPStatus.FORBIDDEN),
)

# What nothing but the request brings about: nested too deeply, half a character, a number that no column holds.
_UNHOLDABLE: Final = (RecursionError, UnicodeEncodeError, OverflowError)


def status_of(error: Exception) -> HTTPStatus:
    """The HTTP status of an error."""
    return next((status for kind, status in STATUSES if isinstance(error, kind)), HTTPStatus.INTERNAL_SERVER_ERROR)


def problem(
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
    """The answer to a request that failed; ``error`` repeats it for callers who look there."""
    message = unsecret(message)
    body = {
        "type": f"urn:retain:{code}",
        "title": HTTPStatus(status).phrase,
        "status": int(status),
        "detail": message,
        "code": code,
        "hint": hint,
        "retryable": retryable,
        "request_id": getattr(request.state, "request_id", ""),
        "error": {"message": message, "code": code, "details": list(details)},
    }
    return JSONResponse(body, status_code=int(status), headers=dict(headers or {}), media_type=MEDIA_TYPE)


def told(request: Request, error: errors.RetainError) -> JSONResponse:
    """The answer for one of our own errors."""
    headers: dict[str, str] = {}
    if isinstance(error, errors.TooManyRequests):
        headers["Retry-After"] = str(max(1, round(error.retry_after)))
    if isinstance(error, errors.Unauthenticated):
        headers["WWW-Authenticate"] = "Bearer"
    return problem(
        request,
        status_of(error),
        error.message,
        code=error.code,
        hint=error.hint,
        retryable=error.retryable,
        headers=headers,
    )


def install(app: FastAPI) -> None:
    """Let an application answer every error in this way."""
    app.add_exception_handler(errors.RetainError, failed)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    for kind in _UNHOLDABLE:
        app.add_exception_handler(kind, _unholdable)
    app.add_exception_handler(Exception, _unforeseen)


async def failed(request: Request, error: Exception) -> JSONResponse:
    """The answer for one of our own errors, after it was logged."""
    if not isinstance(error, errors.RetainError):
        return await _unforeseen(request, error)
    if status_of(error) >= HTTPStatus.INTERNAL_SERVER_ERROR:
        log.warning("request.failed", code=error.code, kind=type(error).__name__)
    return told(request, error)


async def _invalid(request: Request, error: Exception) -> JSONResponse:
    found = error.errors() if isinstance(error, RequestValidationError) else []
    if any(one["type"] == "json_invalid" for one in found):
        return problem(request, HTTPStatus.BAD_REQUEST, "Invalid JSON body", code="invalid_json")
    # Where and what, never the value: it may be a secret.
    details = [{"field": unsecret(".".join(map(str, one["loc"]))), "message": unsecret(one["msg"])} for one in found]
    said = "; ".join(f"{one['field']}: {one['message']}" for one in details[:3])
    return problem(request, HTTPStatus.BAD_REQUEST, said or "invalid request", code="invalid_input", details=details)


async def _unholdable(request: Request, error: Exception) -> JSONResponse:
    log.info("request.unholdable", kind=type(error).__name__)
    hint = "nest less deeply; a number has 64 bits at most, and a text whole characters only"
    return problem(request, HTTPStatus.BAD_REQUEST, "a value cannot be held", code="invalid_input", hint=hint)


async def _http(request: Request, error: Exception) -> JSONResponse:
    status = error.status_code if isinstance(error, HTTPException) else HTTPStatus.INTERNAL_SERVER_ERROR
    code = HTTPStatus(status).phrase.lower().replace(" ", "_").replace("-", "_")
    headers = getattr(error, "headers", None)
    return problem(request, status, HTTPStatus(status).phrase, code=code, headers=headers)


async def _unforeseen(request: Request, error: Exception) -> JSONResponse:
    log.error("request.crashed", kind=type(error).__name__, exc_info=error)
    return problem(
        request,
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "something went wrong in here",
        code="internal",
        hint="the log has it under this request_id",
    )
