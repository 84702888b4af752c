"""Questions before something that cannot simply be done again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import click

from memstone.cli.given import Given
from memstone.errors import UsageError

T = TypeVar("T")


def agreed(given: Given, question: str, *, without: str) -> bool:
    """Whether somebody says yes; ``without`` is what ``--yes`` does without asking."""
    return _asked(given, without, lambda: click.confirm(question, err=True))


def typed(given: Given, wanted: str, question: str, *, without: str) -> bool:
    """Whether somebody types a word: a yes is given too quickly for some things."""
    said: str = _asked(given, without, lambda: click.prompt(question, err=True, default="", show_default=False))
    return said.strip() == wanted


def _asked(given: Given, without: str, ask: Callable[[], T]) -> T:
    hint = f"--yes {without} without asking"
    if given.json:  # a program reads what is said, and would read the question
        raise UsageError("with --json nobody is asked", hint=hint)
    try:
        return ask()
    except click.Abort as error:
        if isinstance(error.__context__, KeyboardInterrupt):
            raise
        raise UsageError("there is nobody to ask", hint=hint) from None
