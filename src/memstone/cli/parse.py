"""From what is typed to what ``Memory`` takes."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from typing import Any, Final, NoReturn

import click

from memstone.core.checks.arguments import CALLER_KINDS
from memstone.model.memory import Layer

KINDS: Final = [str(kind) for kind in CALLER_KINDS]
LAYERS: Final = [str(layer) for layer in Layer]
STRATEGIES: Final = ["hybrid", "semantic", "exact", "recent", "vector", "text"]
SCOPES: Final = ["session", "owner", "global"]
_CONDITION: Final = re.compile(r"\s*([^=<>!\s]+)\s*(>=|<=|!=|==?|>|<)(?![=<>])(.*)", re.DOTALL)
FILTER_HINT: Final = 'write city=Oslo, age>=18 or JSON such as {"city": "Oslo"}'


def text(value: str) -> str:
    """The argument itself, or standard input for ``-``."""
    if value != "-":
        return value
    try:
        return sys.stdin.buffer.read().decode("utf-8").rstrip("\n")
    except UnicodeDecodeError:
        raise click.UsageError("standard input is not UTF-8 text") from None


def metadata(given: Sequence[str]) -> dict[str, Any] | None:
    """``k=v`` pairs and JSON objects as one mapping; None when nothing was given."""
    merged: dict[str, Any] = {}
    for one in given:
        for name, value in _pairs(one).items():
            if name in merged:
                raise click.BadParameter(f"{name!r} is given twice", param_hint="--metadata")
            merged[name] = value
    return merged if given else None


def _pairs(one: str) -> dict[str, Any]:
    if one.lstrip().startswith("{"):
        return _json_object(one, "--metadata")
    name, separator, value = one.partition("=")
    if not separator or not name.strip():
        raise click.BadParameter(f"{one!r} is not name=value", param_hint="--metadata")
    return {name.strip(): scalar(value)}


def filters(given: Sequence[str]) -> list[Any] | None:
    """Every ``--filter``, all of which must hold; what they mean is for the library to say."""
    return [_filter(one) for one in given] or None


def _filter(one: str) -> Any:
    if one.lstrip().startswith("{"):
        return _json_object(one, "--filter")
    found = _CONDITION.fullmatch(one)
    if found is None:
        raise click.BadParameter(f"{one!r} is not a filter: {FILTER_HINT}", param_hint="--filter")
    name, operator, value = found.groups()
    wanted = scalar(value.strip())
    return {name: wanted} if operator in ("=", "==") else {name: {operator: wanted}}


def scalar(value: str) -> Any:
    """A value that reads as JSON is that value, everything else is text."""
    try:
        return json.loads(value, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return value


def _no_constant(name: str) -> NoReturn:
    """``NaN`` and ``Infinity`` are words here: JSON does not know them."""
    raise ValueError(name)


def _json_object(one: str, option: str) -> dict[str, Any]:
    try:
        value: dict[str, Any] = json.loads(one, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise click.BadParameter(f"not JSON: {error}", param_hint=option) from None
    return value
