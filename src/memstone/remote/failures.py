"""Convert answers of a service to the errors that ``Memory`` raises."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from http import HTTPStatus
from typing import Any, Final

from memstone.backoff import parse_retry_after
from memstone.errors import (
    BackendRejected,
    BackendUnavailable,
    MemstoneError,
    RateLimited,
    TooManyRequests,
    Unauthenticated,
)
from memstone.ports.io import HttpResponse

_OLD_HINT: Final = "check the address; the service may also be older than this client"
_PASSING: Final = frozenset({HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT})


def problem_of(response: HttpResponse) -> dict[str, Any]:
    """Return what a service of ours says about a failure; empty when it was somebody else who answered."""
    try:
        body = json.loads(response.body)
    except ValueError:
        return {}
    return body if isinstance(body, dict) and isinstance(body.get("code"), str) else {}


def failure(response: HttpResponse, host: str, key: str) -> MemstoneError:
    """Return the error for an answer that is no success: the class the service raised, as far as it can be told.

    It has two more attributes: ``request_id``, under which the service logged it, and ``details``, a list of what was
    wrong with which field. Whoever answered may have been sent the key; what they say is shown without it.
    """
    body = problem_of(_without(response, key))
    error = _make_error(body, response) if body else _foreign(response, host)
    request_id = str(body.get("request_id") or response.headers.get("x-request-id", ""))
    inner = body.get("error")
    details = inner.get("details", []) if isinstance(inner, Mapping) else []
    vars(error).update(request_id=request_id, details=details)
    if request_id:
        error.add_note(f"request {request_id}")
    return error


def _without(response: HttpResponse, key: str) -> HttpResponse:
    return replace(response, body=response.body.replace(key.encode(), b"***")) if key else response


def is_passing(response: HttpResponse) -> bool:
    """Return whether the same request may be answered a moment later."""
    if response.status == HTTPStatus.TOO_MANY_REQUESTS:
        return True
    body = problem_of(response)
    return response.status in _PASSING and bool(body.get("retryable", not body))


def _make_error(body: Mapping[str, Any], response: HttpResponse) -> MemstoneError:
    message, hint = str(body.get("detail", "")), str(body.get("hint", ""))
    if response.status == HTTPStatus.NOT_FOUND and message == HTTPStatus.NOT_FOUND.phrase:
        return BackendRejected("the service does not know this route", kind="http", hint=_OLD_HINT)
    kind = _by_code().get(body["code"])
    if kind is None:
        is_ours = response.status >= HTTPStatus.INTERNAL_SERVER_ERROR
        return (BackendUnavailable if is_ours else BackendRejected)(message, kind="http", hint=hint)
    error = kind(message, hint=hint)
    if isinstance(error, (TooManyRequests, RateLimited)):
        error.retry_after = parse_retry_after(response.headers) or 0.0
    return error


def _foreign(response: HttpResponse, host: str) -> MemstoneError:
    """Return the error for an answer of somebody who is not Memstone: a proxy, or another service."""
    text = f"{host} answered {response.status}"
    if response.status == HTTPStatus.UNAUTHORIZED:
        return Unauthenticated(text)
    if response.status == HTTPStatus.TOO_MANY_REQUESTS:
        return TooManyRequests(text, retry_after=parse_retry_after(response.headers) or 0.0)
    if response.status in _PASSING:
        return BackendUnavailable(text, kind="http", name=host)
    if HTTPStatus.MULTIPLE_CHOICES <= response.status < HTTPStatus.BAD_REQUEST:
        return BackendRejected(f"{text}: redirects are not followed", kind="http", name=host, hint=_OLD_HINT)
    return BackendRejected(f"{text}, which is not a Memstone response", kind="http", name=host, hint=_OLD_HINT)


@cache
def _by_code() -> dict[str, type[MemstoneError]]:
    return {kind.code: kind for kind in _kinds(MemstoneError)}


def _kinds(kind: type[MemstoneError]) -> Iterator[type[MemstoneError]]:
    yield kind
    for narrower in kind.__subclasses__():
        yield from _kinds(narrower)
