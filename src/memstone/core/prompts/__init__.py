"""Prompts as versioned files: a new wording is a new file with the next number."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

_VERSIONS: Final = {
    "learn": 2,
    "extract_facts": 3,
    "decide": 3,
    "distill": 3,
    "distill_narrative": 3,
    "graph": 2,
    "gate": 3,
}
"""The wordings that are not the first."""


def version_of(name: str) -> str:
    """Return the wording of a prompt that is in use, such as ``extract_facts.v3``."""
    return f"{name}.v{_VERSIONS.get(name.removesuffix('_format'), 1)}"


@cache
def prompt_text(name: str) -> str:
    """Return the text of a prompt file, for example ``learn.v2``; read once."""
    return files(__name__).joinpath(f"{name}.md").read_text("utf-8").strip()
