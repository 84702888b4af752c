"""What models are asked, as versioned files: a changed wording is a new file with the next number."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def prompt_text(name: str) -> str:
    """The text of a prompt file, for example ``extract_facts.v1``; read once."""
    return files(__name__).joinpath(f"{name}.md").read_text("utf-8").strip()
