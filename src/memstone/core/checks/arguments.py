"""The types of arguments: what a public method is handed is looked at before the method begins.

Each method says in its signature what it takes. ``check_methods`` lets every public method of a class refuse what is of
another type with a typed error, so that no flag is decided by whether a text is empty, nothing is half done before a
callback turns out not to be one, and no method has to remember to ask. ``check_fields`` does the same for the items of
a batch, which hold the arguments of a method.

A rule belongs to an annotation as it is written. What needs more than its type looked at (messages, filters, the ids
within a list) is checked by the verb that reads it, and has no rule here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import wraps
from inspect import iscoroutinefunction
from types import FunctionType
from typing import Any, Final, TypeAlias

from memstone.errors import InvalidInput, ScopeError, UsageError
from memstone.model.functions import is_async

Arguments: TypeAlias = Mapping[str, object]

_OPTIONAL: Final = " | None"
_UNSET: Final = " | _Unset"
"""What a request adds to the type of a field whose default means that it stays as it is."""

_DATE: Final = "pass a datetime or ISO 8601 text such as 2026-05-07T09:30:00Z; without a zone it means UTC"
_CALLED: Final = "it is called as progress(done, total)"


@dataclass(frozen=True, slots=True)
class Rule:
    """What an argument must be."""

    fits: Callable[[object], bool]
    wanted: str
    hint: str = ""
    error: type[UsageError] = InvalidInput

    def refusal(self, name: str, value: object) -> UsageError:
        """Return the error for a value that does not fit; it names the type only, the value may be a secret."""
        found = "None" if value is None else type(value).__name__
        return self.error(f"{name} must be {self.wanted}, not {found}", hint=self.hint)


def _is_uuid(value: object) -> bool:
    from uuid import UUID  # whoever has one has loaded it

    return isinstance(value, UUID)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_list(value: object) -> bool:
    return isinstance(value, Collection) and not isinstance(value, (str, bytes, bytearray, Mapping))


_IN_A_LIST: Final = "put it into a list"
_TEXT: Final = Rule(lambda value: isinstance(value, str), "text")
_TENANT: Final = Rule(
    lambda value: isinstance(value, str), "the name of a tenant", "nobody acts for all of them", ScopeError
)
_PATH: Final = Rule(lambda value: isinstance(value, (str, os.PathLike)), "a path")
_PROGRESS: Final = Rule(callable, "a function", _CALLED)
_PLAIN_PROGRESS: Final = Rule(
    lambda value: callable(value) and not is_async(value),
    "a plain function",
    f"{_CALLED}; AsyncMemory awaits an async one",
)

IDS: Final = {
    "memory_id": ("a memory", "add, search and get_all show ids"),
    "event_id": ("an event", "history and events show their ids"),
    "job_id": ("a job", "events show the job_id of what a job did"),
    "receipt_id": ("a receipt", "context gives it"),
    "key_id": ("a key", "`memstone keys list` shows them"),
    "vector_id": ("a vector", "insert_vectors gives the ids"),
}
"""What an id is of, by the name of the argument, and where callers find it."""

RULES: Final[dict[str, Rule | None]] = {
    "Any": None,
    "Callable[[int, int], object]": _PROGRESS,
    "ExportLines": None,
    "Filters": None,
    "Iterable[Mapping[str, Any]]": None,
    "Mapping[str, Any]": Rule(lambda value: isinstance(value, Mapping), "a mapping"),
    "MessagesInput": None,
    "Progress": _PROGRESS,
    "Sequence[Mapping[str, Any]]": Rule(_is_list, "a list of mappings", _IN_A_LIST),
    "Sequence[float]": Rule(_is_list, "a list of numbers", _IN_A_LIST),
    "Sequence[str]": Rule(_is_list, "a list of texts", _IN_A_LIST),
    "Source": None,
    "TranscriptInput": None,
    "TranscriptInput | Iterable[Mapping[str, Any]]": None,
    "When": Rule(lambda value: isinstance(value, (str, date)), "a date", _DATE),
    "bool": Rule(lambda value: isinstance(value, bool), "true or false", "write True or False, without quotes"),
    "float": Rule(lambda value: isinstance(value, float) or _is_whole(value), "a number"),
    "int": Rule(_is_whole, "a whole number"),
    "str": _TEXT,
    "str | Sequence[str]": Rule(lambda value: isinstance(value, str) or _is_list(value), "text or a list of texts"),
    "str | int": Rule(
        lambda value: isinstance(value, str) or _is_whole(value) or _is_uuid(value),
        "text, a whole number or a UUID",
        error=ScopeError,
    ),
    "str | os.PathLike[str]": _PATH,
}
"""By annotation, without ``| None``; None where the verb itself checks."""


def rule_of(name: str, annotation: str) -> Rule | None:
    """Return the rule for a parameter, None where the verb itself checks."""
    if name == "tenant_id":
        return _TENANT
    rule = RULES.get(annotation.removesuffix(_OPTIONAL).removesuffix(_UNSET))
    return _id_rule(name) if rule is _TEXT and name in IDS else rule


def _id_rule(name: str) -> Rule:
    """An id is text, or the UUID that some have of it."""
    what, hint = IDS[name]
    return Rule(lambda value: isinstance(value, str) or _is_uuid(value), f"the id of {what}", hint)


def check_methods(cls: type) -> None:
    """Let every public method that a class defines refuse arguments of the wrong type."""
    for name, method in list(vars(cls).items()):
        if isinstance(method, FunctionType) and not name.startswith("_"):
            setattr(cls, name, _checked(method))


def check_fields(annotations: Mapping[str, str], given: Arguments) -> None:
    """Raise ``InvalidInput`` if a field that is given is of another type than its annotation says."""
    for name, value in given.items():
        if name in annotations:
            _Check.of(name, annotations[name], _MISSING).apply(name, value)


def either(name: str, value: Any, other_name: str, other: Any) -> Any:
    """Return the value of an argument that has two names; raise ``InvalidInput`` if both are given."""
    if value is not None and other is not None:
        raise InvalidInput(f"{name} and {other_name} are two names for one thing", hint="give one of them")
    return other if value is None else value


@dataclass(frozen=True, slots=True)
class _Check:
    """The rule of one parameter, and what it may be besides: not given, or nothing."""

    rule: Rule | None
    default: object
    is_optional: bool

    @classmethod
    def of(cls, name: str, annotation: str, default: object) -> _Check:
        return cls(rule_of(name, annotation), default, annotation.endswith(_OPTIONAL))

    def apply(self, name: str, value: object) -> None:
        if self.rule is None or value is self.default or (value is None and self.is_optional):
            return
        if not self.rule.fits(value):
            raise self.rule.refusal(name, value)


def _checked(method: FunctionType) -> Callable[..., Any]:
    """The same method behind a check of what it is handed."""
    names = _parameters(method)[1:]
    checks = _checks_of(method)

    def check(args: tuple[object, ...], kwargs: Arguments) -> None:
        for name, value in zip(names, args, strict=False):
            checks[name].apply(name, value)
        for name, value in kwargs.items():
            if name in checks:  # Python itself says that there is no such argument
                checks[name].apply(name, value)

    if iscoroutinefunction(method):

        @wraps(method)
        async def awaited(self: object, *args: Any, **kwargs: Any) -> Any:
            check(args, kwargs)
            try:
                return await method(self, *args, **kwargs)
            except RecursionError as error:
                raise _too_deep() from error

        return awaited

    @wraps(method)
    def called(self: object, *args: Any, **kwargs: Any) -> Any:
        check(args, kwargs)
        try:
            return method(self, *args, **kwargs)
        except RecursionError as error:
            raise _too_deep() from error

    return called


def _too_deep() -> InvalidInput:
    """Return the error for what Python cannot go through to its end; the transaction it broke off in left nothing."""
    return InvalidInput("an argument is nested too deeply, or holds itself", hint="a few dozen levels are fine")


def _parameters(method: FunctionType) -> tuple[str, ...]:
    """The names of what may be given by position."""
    return method.__code__.co_varnames[: method.__code__.co_argcount]


def _checks_of(method: FunctionType) -> dict[str, _Check]:
    placed = method.__defaults__ or ()
    names = _parameters(method)
    defaults = {**dict(zip(names[len(names) - len(placed) :], placed, strict=True)), **(method.__kwdefaults__ or {})}
    checks = {
        name: _Check.of(name, str(annotation), defaults.get(name, _MISSING))
        for name, annotation in method.__annotations__.items()
        if name != "return"
    }
    if iscoroutinefunction(method):
        return checks
    return {  # nobody awaits an async callback of a method that blocks
        name: replace(check, rule=_PLAIN_PROGRESS) if check.rule is _PROGRESS else check
        for name, check in checks.items()
    }


_MISSING: Final = object()
"""What nobody can pass."""
