"""Explain an invalid setting, and suggest the one that was probably meant."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final, get_args

from pydantic import BaseModel, ValidationError

from memstone.errors import ConfigError

_MOST: Final = 3
"""So many complaints are shown at once."""
_ALIKE: Final = 0.6

_WORDS: Final[dict[str, Callable[[Mapping[str, Any]], str]]] = {
    "missing": lambda _: "it is required here",
    "model_type": lambda _: "it must be a section with settings of its own, not a single value",
    "model_attributes_type": lambda _: "it must be a section with settings of its own, not a single value",
    "dict_type": lambda _: "it must be a section with settings of its own, not a single value",
    "list_type": lambda _: "it must be a list",
    "tuple_type": lambda _: "it must be a list",
    "set_type": lambda _: "it must be a list",
    "frozen_set_type": lambda _: "it must be a list",
    "string_type": lambda _: "it must be text",
    "string_too_short": lambda ctx: f"it must have at least {ctx['min_length']} characters",
    "string_too_long": lambda ctx: f"it must have at most {ctx['max_length']} characters",
    "string_pattern_mismatch": lambda ctx: f"it must match the pattern {ctx['pattern']}",
    "int_type": lambda _: "it must be a whole number",
    "int_parsing": lambda _: "it must be a whole number",
    "int_from_float": lambda _: "it must be a whole number",
    "float_type": lambda _: "it must be a number",
    "float_parsing": lambda _: "it must be a number",
    "finite_number": lambda _: "it must be a finite number",
    "bool_type": lambda _: "it must be true or false",
    "bool_parsing": lambda _: "it must be true or false",
    "path_type": lambda _: "it must be a path",
    "literal_error": lambda ctx: f"it must be {ctx['expected']}",
    "enum": lambda ctx: f"it must be {ctx['expected']}",
    "greater_than": lambda ctx: f"it must be more than {ctx['gt']:g}",
    "greater_than_equal": lambda ctx: f"it must be at least {ctx['ge']:g}",
    "less_than": lambda ctx: f"it must be less than {ctx['lt']:g}",
    "less_than_equal": lambda ctx: f"it must be at most {ctx['le']:g}",
    "too_short": lambda ctx: f"it must have at least {ctx['min_length']} entries",
    "too_long": lambda ctx: f"it must have at most {ctx['max_length']} entries",
}
"""What pydantic finds wrong, said without its own terms."""


def format_validation_error(
    error: Exception, variables: Mapping[str, list[str]] | None = None, model: type[BaseModel] | None = None
) -> str:
    """Return the first complaints of a validation, without the values, which may be secrets.

    ``variables`` are those that named a setting: one that is complained about is named too. With the ``model`` of the
    settings, a misspelt one is followed by the one that was probably meant.
    """
    if not isinstance(error, ValidationError):
        return str(error)
    return "; ".join(_describe_complaint(one, variables or {}, model) for one in _list_complaints(error))


def suggest_hint(error: Exception) -> str:
    """Return what a validator says that one should do, else where to look."""
    causes = (one.get("ctx", {}).get("error") for one in _list_complaints(error))
    return next((one.hint for one in causes if isinstance(one, ConfigError)), "see docs/configuration.md")


def list_setting_names(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """Yield every setting of a model by its full name, such as ``store.url``."""
    for name, field in model.model_fields.items():
        yield f"{prefix}{name}"
        for section in _sections_of(field.annotation):
            yield from list_setting_names(section, f"{prefix}{name}.")


def _list_complaints(error: Exception) -> list[Any]:
    """Return what is wrong, without what is only wrong because of something inside it."""
    if not isinstance(error, ValidationError):
        return []
    found: list[Any] = list(error.errors())
    inner = [one["loc"] for one in found]
    return [one for one in found if not any(_is_inside(loc, one["loc"]) for loc in inner)][:_MOST]


def _is_inside(inner: tuple[int | str, ...], outer: tuple[int | str, ...]) -> bool:
    return len(inner) > len(outer) and inner[: len(outer)] == outer


def _describe_complaint(one: Any, variables: Mapping[str, list[str]], model: type[BaseModel] | None) -> str:
    steps = list(map(str, one["loc"]))
    name = ".".join(steps) or "settings"
    named = [variable for variable, path in variables.items() if steps and all(map(str.__eq__, steps, path))]
    where = f"{name} ({', '.join(named)})" if named else name
    if one["type"] == "extra_forbidden":
        return f"there is no setting {where}{_suggest_setting(steps, model)}"
    return f"{where}: {_describe_problem(one)}"


def _describe_problem(one: Any) -> str:
    cause = one.get("ctx", {}).get("error")
    if isinstance(cause, ConfigError):
        return cause.message
    words = _WORDS.get(one["type"])
    return words(one.get("ctx", {})) if words else str(one["msg"]).removeprefix("Value error, ")


def _suggest_setting(steps: Sequence[str], model: type[BaseModel] | None) -> str:
    """Return the setting that was probably meant: alike in the same section, else of that name in another one."""
    if model is None:
        return ""
    every, inside = list(list_setting_names(model)), ".".join([*steps[:-1], ""])
    beside = [name for name in every if name.startswith(inside) and "." not in name[len(inside) :]]
    near = get_close_matches(f"{inside}{steps[-1].lower()}", beside, n=1, cutoff=_ALIKE)
    near = near or [name for name in every if name.rpartition(".")[2] == steps[-1].lower()]
    near = near or get_close_matches(".".join(steps).lower(), every, n=1, cutoff=_ALIKE)
    return f": did you mean {' or '.join(near[:_MOST])}?" if near else ""


def _sections_of(annotation: object) -> Iterator[type[BaseModel]]:
    """Yield the sections in an annotation, such as the one of ``LlmSettings | None``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        return
    if getattr(annotation, "__origin__", None) in (list, tuple, dict, set, frozenset):
        return  # their keys or places are the user's own
    for inner in get_args(annotation):
        yield from _sections_of(inner)
