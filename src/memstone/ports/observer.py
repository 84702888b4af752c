"""Somebody who watches an engine at work."""

from __future__ import annotations

from typing import Protocol


class Observer(Protocol):
    """Is told how long steps take and what was decided, never what anything says. It must be quick and never raise."""

    def took(self, step: str, seconds: float) -> None:
        """A step is over: ``search.retrieve``, ``context.plan``, ``learn.settle`` and so on."""
        ...

    def gated(self, route: str) -> None:
        """The gate has sent a message to a part of the memory, or to none."""
        ...
