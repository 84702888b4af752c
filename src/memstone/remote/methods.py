"""Make the methods of a client from those of ``Memory``, with signatures and docstrings.

A client takes every verb of ``memstone.api``; instead of an engine it asks a service. What makes no sense over HTTP
raises ``Unsupported`` and says what to use instead. The classes are made when the module is loaded, so there is no
second list of verbs that could fall behind.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable
from functools import wraps
from types import FunctionType
from typing import Any, Final, get_type_hints

from memstone.api.base import Group
from memstone.core.checks.arguments import argument_check, too_deep_error
from memstone.drive import drive, drive_iter
from memstone.errors import InvalidInput, Unsupported
from memstone.remote.link import ServiceConnection
from memstone.remote.routes import LEFT_OUT, NOT_OVER_HTTP

CallArguments = dict[str, Any]


class RemoteGroup:
    """Verbs that a service carries out."""

    def __init__(self, link: ServiceConnection) -> None:
        self._link = link


def client_class(verbs: type[Group], prefix: str = "") -> type[Any]:
    """Return a class with the methods of ``verbs``, each of which asks a service; ``prefix`` names the group."""
    members: dict[str, Any] = {"__doc__": verbs.__doc__, "__module__": __name__}
    for name, member in vars(verbs).items():
        if isinstance(member, property):
            members[name] = _group_property(member, f"{prefix}{name}.")
        elif isinstance(member, FunctionType) and not name.startswith("_"):
            members[name] = _remote_method(inspect.unwrap(member), f"{prefix}{name}")
    return type(f"Remote{verbs.__name__}", (RemoteGroup,), members)


def _group_property(member: property, prefix: str) -> property:
    made = client_class(get_type_hints(member.fget)["return"], prefix)
    return property(lambda self: made(self._link), doc=member.__doc__)


def _remote_method(method: Any, verb: str) -> Callable[..., Any]:
    """Return a method with the signature of another one, which sends its arguments to the service."""
    bind, send = _argument_reader(method, verb), _SPECIAL.get(verb) or _sender(verb)

    if inspect.iscoroutinefunction(method):

        @wraps(method)
        async def ask_and_await(self: RemoteGroup, *args: Any, **kwargs: Any) -> Any:
            try:
                return await send(self._link, bind(self, args, kwargs))
            except RecursionError as error:
                raise too_deep_error() from error

        return ask_and_await

    @wraps(method)
    def ask(self: RemoteGroup, *args: Any, **kwargs: Any) -> Any:
        answer = send(self._link, bind(self, args, kwargs))
        if not isinstance(answer, AsyncIterator):
            try:
                return drive(answer)
            except RecursionError as error:
                raise too_deep_error() from error
        return answer if str(method.__annotations__["return"]).startswith("AsyncIterator") else drive_iter(answer)

    return ask


def _sender(verb: str) -> Callable[[ServiceConnection, CallArguments], Any]:
    return lambda link, values: link.call(verb, values)


def _argument_reader(method: Any, verb: str) -> Callable[[RemoteGroup, tuple[Any, ...], CallArguments], CallArguments]:
    """Return what checks the arguments of a call as ``Memory`` does, and gives them by their names."""
    signature, check = inspect.signature(method), argument_check(method)

    def read(group: RemoteGroup, args: tuple[Any, ...], kwargs: CallArguments) -> CallArguments:
        if verb in NOT_OVER_HTTP:
            raise Unsupported(f"{verb} is not available over HTTP: {NOT_OVER_HTTP[verb]}", kind="client", name=verb)
        bound = signature.bind(group, *args, **kwargs)
        check(args, kwargs)
        bound.apply_defaults()
        values = dict(list(bound.arguments.items())[1:])
        for name in LEFT_OUT:
            if values.pop(name, None) is not None:
                raise InvalidInput(f"{name} cannot be sent to a service", hint="leave it out, or use Memory instead")
        return values

    return read


_SPECIAL: Final[dict[str, Callable[[ServiceConnection, CallArguments], Any]]] = {
    "context": lambda link, values: link.context(values),
    "export": lambda link, values: link.export(values),
    "load": lambda link, values: link.load(values["records"]),
    "reset": lambda link, _: link.reset(),
}
"""Verbs that are more than one request with the arguments of the call."""
