"""Check the arguments of public methods, before a method begins.

Each method says in its signature what it takes. ``check_methods`` lets every public method of a class refuse what is of
another type with a typed error, so that no flag is decided by whether a text is empty, nothing is half done before a
callback turns out not to be one, and no method has to remember to ask. ``check_fields`` does the same for the items of
a batch, which hold the arguments of a method.

A rule belongs to an annotation as it is written. What needs more than its type looked at (messages, filters, the ids
within a list) is checked by the verb that reads it, and has no rule here.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import wraps
from inspect import iscoroutinefunction
from pathlib import Path
from types import FunctionType
from typing import Any, Final, Literal, TypeAlias, get_origin

from memstone import literals
from memstone.errors import InvalidInput, ScopeError, TooLarge, UsageError
from memstone.model.functions import is_async
from memstone.model.instant import Instant, When, parse_when
from memstone.model.memory import Kind
from memstone.model.policy import Limits

# --- the types of arguments -------------------------------------------------------------------------------------------


Arguments: TypeAlias = Mapping[str, object]

_OPTIONAL: Final = " | None"
_UNSET: Final = " | _Unset"
"""What a request adds to the type of a field whose default means that it stays as it is."""

_DATE: Final = "pass a datetime or ISO 8601 text such as 2026-05-07T09:30:00Z; without a time zone it means UTC"
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
    lambda value: isinstance(value, str), "the name of a tenant", "no call can act for all tenants", ScopeError
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
    "job_id": ("a job", "events show the job_id of each change"),
    "receipt_id": ("a receipt", "context returns it"),
    "key_id": ("a key", "`memstone keys list` shows them"),
    "vector_id": ("a vector", "insert_vectors returns the ids"),
}
"""What an id is of, by the name of the argument, and where callers find it."""

_TEXTS: Final = Rule(lambda value: isinstance(value, str) or _is_list(value), "text or a list of texts")

WORDS: Final = tuple(name for name, value in vars(literals).items() if get_origin(value) is Literal)
"""The annotations of arguments that are one of a few words."""

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
    "str | Sequence[str]": _TEXTS,
    "str | int": Rule(
        lambda value: isinstance(value, str) or _is_whole(value) or _is_uuid(value),
        "text, a whole number or a UUID",
        error=ScopeError,
    ),
    "str | os.PathLike[str]": _PATH,
    # A word is text here: the verb says which ones there are.
    **dict.fromkeys(WORDS, _TEXT),
    **{f"Sequence[{name}]": Rule(_is_list, "a list of texts", _IN_A_LIST) for name in WORDS},
    **{f"{name} | Sequence[{name}]": _TEXTS for name in WORDS},
}
"""By annotation, without ``| None``; None where the verb itself checks."""


def rule_of(name: str, annotation: str) -> Rule | None:
    """Return the rule for a parameter, None where the verb itself checks."""
    if name == "tenant_id":
        return _TENANT
    rule = RULES.get(annotation.removesuffix(_OPTIONAL).removesuffix(_UNSET))
    return _id_rule(name) if rule is _TEXT and name in IDS else rule


def _id_rule(name: str) -> Rule:
    """Return the rule for an id, which is text, or the UUID that some have of it."""
    what, hint = IDS[name]
    return Rule(lambda value: isinstance(value, str) or _is_uuid(value), f"the id of {what}", hint)


def check_methods(cls: type) -> None:
    """Let every public method that a class defines refuse arguments of the wrong type."""
    for name, method in list(vars(cls).items()):
        if isinstance(method, FunctionType) and not name.startswith("_"):
            setattr(cls, name, _wrap_with_checks(method))


def check_fields(annotations: Mapping[str, str], arguments: Arguments) -> None:
    """Raise ``InvalidInput`` if a field that is given is of another type than its annotation says."""
    for name, value in arguments.items():
        if name in annotations:
            _Check.of(name, annotations[name], _MISSING).apply(name, value)


def resolve_argument_alias(name: str, value: Any, other_name: str, other: Any) -> Any:
    """Return the value of an argument that has two names; raise ``InvalidInput`` if both are given."""
    if value is not None and other is not None:
        raise InvalidInput(f"{name} and {other_name} are two names for the same argument", hint="give one of them")
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


def argument_check(method: FunctionType) -> Callable[[tuple[object, ...], Arguments], None]:
    """Return what refuses arguments of the wrong type, given as a method is given them, without ``self``."""
    names = _positional_names(method)[1:]
    checks = _checks_of(method)

    def check(args: tuple[object, ...], kwargs: Arguments) -> None:
        for name, value in zip(names, args, strict=False):
            checks[name].apply(name, value)
        for name, value in kwargs.items():
            if name in checks:  # Python itself says that there is no such argument
                checks[name].apply(name, value)

    return check


def _wrap_with_checks(method: FunctionType) -> Callable[..., Any]:
    """Return the same method behind a check of what it receives."""
    check = argument_check(method)

    if iscoroutinefunction(method):

        @wraps(method)
        async def check_and_await(self: object, *args: Any, **kwargs: Any) -> Any:
            check(args, kwargs)
            try:
                return await method(self, *args, **kwargs)
            except RecursionError as error:
                raise too_deep_error() from error

        return check_and_await

    @wraps(method)
    def check_and_call(self: object, *args: Any, **kwargs: Any) -> Any:
        check(args, kwargs)
        try:
            return method(self, *args, **kwargs)
        except RecursionError as error:
            raise too_deep_error() from error

    return check_and_call


def too_deep_error() -> InvalidInput:
    """Return the error for what Python cannot go through to its end; the transaction it broke off in left nothing."""
    return InvalidInput("an argument is nested too deeply or contains itself", hint="a few dozen levels are fine")


def _positional_names(method: FunctionType) -> tuple[str, ...]:
    """Return the names of what may be given by position."""
    return method.__code__.co_varnames[: method.__code__.co_argcount]


def _checks_of(method: FunctionType) -> dict[str, _Check]:
    placed = method.__defaults__ or ()
    names = _positional_names(method)
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


# --- input checks -----------------------------------------------------------------------------------------------------


IDENTITY_KEYS: Final = frozenset({"tenant_id", "user_id", "agent_id", "run_id"})
"""What metadata may never set: whose memory it is."""

_NAME_BYTES: Final = 255
_PATH_BYTES: Final = 4_000
"""As much as the file systems of all platforms take."""

NO_NUL: Final = "remove it; databases cannot store it as text"
DECODE_HINT: Final = "decode the text properly"
"""What to do about characters that no database takes."""

CALLER_KINDS: Final = (Kind.FACTUAL, Kind.EPISODIC, Kind.PROCEDURAL, Kind.SEMANTIC)


def checked_text(value: object, name: str, limit: int, setting: str = "") -> str:
    """Return text that can be stored as it is; ``setting`` is what raises the limit, if anything does."""
    if not isinstance(value, str):
        raise InvalidInput(f"{name} must be text, not {type(value).__name__}")
    if len(value) > limit:
        raise TooLarge(
            f"{name} has {len(value):,} characters, the limit is {limit:,}",
            hint=f"split it, or raise {setting}" if setting else "make it shorter",
        )
    if not value.strip():
        raise InvalidInput(f"{name} is empty", hint=_FILLED.get(name, "give some text, or leave out the argument"))
    if "\x00" in value:
        raise InvalidInput(f"{name} contains a NUL character", hint=NO_NUL)
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(f"{name} contains a lone surrogate at {error.start}", hint=DECODE_HINT) from error
    return value


def checked_path(value: object, what: str) -> Path:
    """Return a path that every file system can be asked about; raise ``InvalidInput`` for any other."""
    text = os.fspath(value) if isinstance(value, (str, os.PathLike)) else None
    if not isinstance(text, str) or not text or "\0" in text:
        raise InvalidInput(f"{what} must be a path", hint="give a string or a pathlib.Path")
    try:
        sizes = [len(part.encode()) for part in Path(text).parts]
    except UnicodeEncodeError as error:
        raise InvalidInput(f"{what} contains a lone surrogate at {error.start}", hint=DECODE_HINT) from error
    if max(sizes, default=0) > _NAME_BYTES or sum(sizes) > _PATH_BYTES:
        raise InvalidInput(f"{what} is too long for a path", hint=f"a name has {_NAME_BYTES} bytes at most")
    return Path(text).expanduser()


def checked_key(value: str | None, limits: Limits) -> str | None:
    """Return a stable key, or None for a blank one."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    return checked_text(value, "key", limits.key_chars, "limits.key_chars").strip()


def checked_kind(value: str | None) -> str:
    """Return one of the four kinds a caller may give."""
    if value is None:
        return Kind.FACTUAL
    if value not in CALLER_KINDS:
        raise InvalidInput(f"unknown kind {value!r}", hint="one of " + ", ".join(CALLER_KINDS))
    return str(value)


def checked_metadata(value: Mapping[str, Any] | None, limits: Limits) -> tuple[dict[str, Any], list[str]]:
    """Return the caller's metadata as it is stored, without identity keys, and warnings about what was left out."""
    if value is None:
        return {}, []
    if not isinstance(value, Mapping):
        raise InvalidInput(f"metadata must be a mapping, not {type(value).__name__}")
    stored = {key: item for key, item in value.items() if key not in IDENTITY_KEYS}
    left_out = sorted(set(value) - set(stored))
    written = _as_json(stored)
    size = len(written.encode())
    if size > limits.metadata_bytes:
        raise TooLarge(
            f"metadata has {size:,} bytes, the limit is {limits.metadata_bytes:,}",
            hint="store large values elsewhere and refer to them, or raise limits.metadata_bytes",
        )
    copy: dict[str, Any] = json.loads(written)
    return copy, [f"metadata.{key} was ignored: pass it as an argument to say whose memory it is" for key in left_out]


def checked_expiry(value: When | None, now: Instant, warnings: list[str]) -> Instant | None:
    """Return when something stops to hold; nobody finds what has expired already, which is worth a word."""
    until = None if value is None else parse_when(value, "expires_at")
    if until is not None and until <= now:
        warnings.append("expires_at is in the past: the memory is stored, but only found with show_expired=True")
    return until


def _as_json(value: dict[str, Any]) -> str:
    _validate_json_value(value, "metadata", 0)
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        hint = "give text, numbers, true, false, null, lists or objects; a date as its ISO text, value.isoformat()"
        raise InvalidInput(f"metadata is not JSON: {error}", hint=hint) from error


_FILLED: Final = {"query": "give a query; get_all lists everything"}
_DEPTH: Final = 32


def _validate_json_value(value: object, path: str, depth: int) -> None:
    if depth > _DEPTH:
        raise InvalidInput(f"metadata is nested deeper than {_DEPTH}")
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise InvalidInput(f"{path} has a key that is not text: {key!r}")
            _validate_text(key, f"a key of {path}")
            _validate_json_value(item, f"{path}.{key}", depth + 1)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _validate_json_value(item, path, depth + 1)
    elif isinstance(value, str):
        _validate_text(value, path)
    elif isinstance(value, float) and not math.isfinite(value):
        raise InvalidInput(f"{path} is {value}", hint="JSON has no NaN or infinity")


def _validate_text(value: str, path: str) -> None:
    if "\x00" in value:
        raise InvalidInput(f"{path} contains a NUL character", hint=NO_NUL)
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(f"{path} contains a lone surrogate", hint=DECODE_HINT) from error
