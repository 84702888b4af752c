"""What is said to a memory, in the shapes callers use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict


class MessageDict(TypedDict, total=False):
    """One chat message as callers write it; ``name`` is the speaker."""

    role: str
    content: object
    name: str


@dataclass(frozen=True, slots=True)
class Message:
    """One checked message."""

    role: str
    text: str
    name: str = ""

    @property
    def speaker(self) -> str:
        """Who said it: the name if there is one, else the role."""
        return self.name or self.role
