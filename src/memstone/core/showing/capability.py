"""What models accept: whether a system message may stand anywhere, only first, or not at all."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final


class SystemRole(StrEnum):
    """Where a model takes a system message."""

    YES = "yes"
    FIRST_ONLY = "first_only"
    NO = "no"


# By the name of the provider or of the model; both are looked for, in the whole and in the part after the last "/".
_NONE: Final = frozenset({"o1", "o1-mini", "o1-preview", "glm", "glmt", "glm-cn", "zai", "qianfan"})
_FIRST: Final = frozenset({"xiaomi-mimo", "mimo"})


def accepts_system(provider: str | None) -> bool:
    """Whether a provider or model takes a message of the role ``system`` at all; an unknown one does."""
    return system_role(provider) is not SystemRole.NO


def should_inject(messages: Any, *, enabled: bool) -> bool:
    """Whether there is anything to put memory into: it is switched on, and there is a list with messages."""
    return enabled and isinstance(messages, list) and bool(messages)


def system_role(*names: str | None) -> SystemRole:
    """What is known of a provider and a model, by their names; whoever is strictest decides."""
    told = {part for name in names if name for part in _parts(name)}
    if told & _NONE:
        return SystemRole.NO
    return SystemRole.FIRST_ONLY if told & _FIRST else SystemRole.YES


def _parts(name: str) -> set[str]:
    whole = name.strip().lower()
    provider, _, model = whole.rpartition("/")
    return {part for part in (whole, provider, model) if part}
