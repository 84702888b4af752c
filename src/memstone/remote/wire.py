"""Convert arguments to JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any, Final
from uuid import UUID

from memstone.core.talk.messages import as_mapping
from memstone.engine.store.revise import UNSET
from memstone.errors import InvalidInput
from memstone.model.instant import parse_when
from memstone.model.query import And, Condition, Not, Or

_NONE_SAYS_SOMETHING: Final = {"update": ("key", "expires_at"), "identity.set_narrative": ("text",)}
"""Where ``None`` means "take it away" and not "not given"."""

_IDS: Final = frozenset({"user_id", "agent_id", "run_id", "project_id"})
"""What is text in a store, whatever it is for a caller."""

_MESSAGES: Final = ("messages", "turns")
"""What may hold objects that are messages."""


def encode_arguments(verb: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call that say something, ready to be sent; the service knows the same defaults."""
    clears = _NONE_SAYS_SOMETHING.get(verb, ())
    texts = {
        name: value for name, value in values.items() if value is not UNSET and (value is not None or name in clears)
    }
    return {name: str(value) if name in _IDS else plain(value, name) for name, value in texts.items()}


def plain(value: Any, name: str) -> Any:
    """Return a value as JSON holds it: dates as text, anything that can be gone through as a list."""
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, date):
        return parse_when(value, name)
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(one, key if key in _MESSAGES else name) for key, one in value.items()}
    if name in _MESSAGES and not isinstance(value, Sequence) and (message := as_mapping(value)) is not None:
        return plain(message, name)
    if isinstance(value, (And, Or, Not, Condition)):
        raise InvalidInput(
            f"{name} cannot be sent as {type(value).__name__}", hint="convert it to a dictionary of JSON values"
        )
    if isinstance(value, Iterable) and not isinstance(value, (bytes, bytearray)):
        return [plain(as_mapping(one) or one if name in _MESSAGES else one, name) for one in value]
    raise InvalidInput(f"{name} contains {type(value).__name__}, which is not valid in JSON")
