"""What memories of different use cases have in common: which words tell one, what it keeps and what it leaves out."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class Domain:
    """A kind of use case.

    ``words`` tell it and ``hints`` speak for it; ``keep`` and ``leave`` are what it remembers and what it does not,
    ``categories`` what its facts are sorted into, ``needs`` the protected matters it cannot do without, ``mask``
    further kinds of data that its users hand over and that a memory does not need.
    """

    name: str
    words: str
    hints: str
    keep: tuple[str, ...]
    leave: tuple[str, ...]
    categories: tuple[tuple[str, str], ...]
    needs: tuple[str, ...] = ()
    mask: tuple[str, ...] = ()


@cache
def domains() -> tuple[Domain, ...]:
    """Every kind, the general one last; read once, from the file that lists them."""
    listed = tomllib.loads(files("memstone.core.prompts").joinpath("domains.toml").read_text("utf-8"))
    return tuple(_domain(one) for one in listed["domain"])


def _domain(given: dict[str, Any]) -> Domain:
    categories = tuple((name, about) for name, about in given.pop("categories"))
    name, words, hints = given.pop("name"), given.pop("words"), given.pop("hints", "")
    return Domain(name, words, hints, categories=categories, **{field: tuple(value) for field, value in given.items()})
