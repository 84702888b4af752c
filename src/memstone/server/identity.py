"""Whom a request names, by its headers and its body, before anybody has asked whether its key may."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from starlette.datastructures import Headers

from memstone.model.access import Bounds, Users
from memstone.model.policy import Identity

OWN_HEADER: Final = "x-memstone-user"
FORMER_HEADER: Final = "x-retain-user"
USER_HEADERS: Final = (OWN_HEADER, FORMER_HEADER, "x-openwebui-user-id")
_USER_FIELDS: Final = frozenset({"user_id", "userId", "api_key_id", "apiKeyId"})
KEY: Final = "api_key"
"""The source that names no person: the key itself is meant."""


def read_headers(headers: Headers) -> dict[str, str]:
    """Return headers as they were meant: what was sent in UTF-8 comes in as if every byte were a character.

    One that stands there several times is a list. Two persons in one request are thereby nobody's name.
    """
    found = dict[str, str]()
    for name, value in headers.items():
        text = value if value.isascii() else _decoded(value)
        found[name] = f"{found[name]}, {text}" if found.get(name, text) != text else text
    return found


def _decoded(value: str) -> str:
    try:
        return value.encode("latin-1").decode()
    except UnicodeError:
        return value


def user_in_headers(headers: Mapping[str, str], policy: Identity) -> str:
    """Return whom the headers of a request name, on any route; '' when nobody."""
    return next(_named(headers, {}, _persons(policy)), "")


def user_in_chat(headers: Mapping[str, str], body: Mapping[str, Any], policy: Identity, *, trusted: bool) -> str:
    """Return whom a chat names: by a header, or by the field ``user`` of its body; '' when nobody.

    With a key that is ``trusted`` to name anybody the body counts where it is a source, or where no other source of
    persons is configured: a header that is left out once must not let something else in its place. It comes before a
    header only where the sources name both in that order.
    """
    persons = _persons(policy)
    ordered = persons if any(one != "body" for one in persons) else []
    last = ["body"] if not (trusted and ordered) else []
    return next(_named(headers, body, ordered), "") or next(_named({}, body, last), "")


def _persons(policy: Identity) -> list[str]:
    return [source for source in policy.sources if source != KEY]


def _named(headers: Mapping[str, str], body: Mapping[str, Any], persons: list[str]) -> Iterator[str]:
    """Whom a request names: by our own header, by the configured sources in their order, by a header that is known."""
    own, known = (f"header:{name}" for name in (OWN_HEADER, FORMER_HEADER)), (f"header:{name}" for name in USER_HEADERS)
    for source in (*own, *persons, *known):
        kind, _, name = source.partition(":")
        found = text_of(body.get("user")) if kind == "body" else headers.get(name.lower(), "").strip()
        if found:
            yield found


def text_of(value: Any) -> str:
    """Return a value of a body as an id may be written: text without blanks around it, else ''."""
    return value.strip() if isinstance(value, str) else ""


def with_own_names(answer: Any, bounds: Bounds) -> Any:
    """Return an answer in which users are called as the caller calls them: a pool of its key by the name of a person.

    The caller sends that name again; the id of a pool it cannot send.
    """
    if bounds.users is not Users.POOLS:
        return answer
    if isinstance(answer, (list, tuple)):
        return [with_own_names(one, bounds) for one in answer]
    if not isinstance(answer, Mapping):
        return answer
    return {
        name: bounds.name_of(value)
        if name in _USER_FIELDS and isinstance(value, str) and value
        else with_own_names(value, bounds)
        for name, value in answer.items()
    }
