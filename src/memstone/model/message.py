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
class Attachment:
    """Something in a message that is not words: what kind of thing, what it is called, where it is."""

    kind: str
    name: str
    media_type: str = ""
    url: str = ""

    def as_dict(self) -> dict[str, str]:
        """As it is stored."""
        given = (("type", self.kind), ("name", self.name), ("media_type", self.media_type), ("url", self.url))
        return {name: value for name, value in given if value}


@dataclass(frozen=True, slots=True)
class Message:
    """One checked message."""

    role: str
    text: str
    name: str = ""
    attachments: tuple[Attachment, ...] = ()

    @property
    def speaker(self) -> str:
        """Who said it: the name if there is one, else the role."""
        return self.name or self.role
