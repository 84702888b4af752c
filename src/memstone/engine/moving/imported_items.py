"""What of an imported thing may be kept: no secrets, nothing Memstone itself once showed, nothing too long or over."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from memstone.core.checks.arguments import checked_metadata
from memstone.core.importers.items import Item
from memstone.core.privacy.redact import RedactPolicy, redact
from memstone.engine.storing.redaction import masked_metadata, redaction_of
from memstone.engine.storing.turns import without_injected
from memstone.errors import MemstoneError
from memstone.model.instant import Instant
from memstone.model.message import Message
from memstone.model.policy import Policy
from memstone.model.scope import Scope

TRUSTED: Final = 0.8
"""How far a fact carries that somebody imports who may speak for the user: it was written down by another system."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A thing that is imported, whose it will be, and what the caller should know about it."""

    item: Item
    scope: Scope = field(default_factory=Scope)
    warnings: tuple[str, ...] = ()


class Cleaning:
    """How things are cleaned: by the limits and the redaction of a policy, at one moment."""

    def __init__(self, policy: Policy, now: Instant) -> None:
        self.limits, self.now = policy.limits, now
        self.redaction: RedactPolicy = redaction_of(policy)


def cleaned(item: Item, by: Cleaning) -> Taken | str:
    """The thing as it may be kept, or why it is not."""
    if item.expires_at is not None and item.expires_at <= by.now:
        return "expired"
    text = without_injected(Message("user", item.text)).text.strip()
    if not text:
        return "shown by Memstone"
    if len(text) > by.limits.text_chars:
        return "too long"
    found = redact(text, by.redaction)
    if found.dropped:
        return "secret"
    metadata, warnings = _metadata(item, by)
    if found.found:
        warnings = (*warnings, f"something was masked before it was stored: {', '.join(found.found)}")
    said_at = min(item.occurred_at, by.now) if item.occurred_at is not None else None
    kept = replace(item, text=found.text, metadata=metadata, occurred_at=said_at, key=_key(item, by))
    return Taken(kept, warnings=warnings)


def _metadata(item: Item, by: Cleaning) -> tuple[dict[str, object], tuple[str, ...]]:
    """Metadata without secrets; what cannot be stored is left out, and that is said."""
    try:
        checked, _ = checked_metadata(item.metadata, by.limits)
    except MemstoneError as error:
        return {}, (f"metadata was left out: {error.message}",)
    clean, warnings = masked_metadata(checked, by.redaction)
    return clean, tuple(warnings)


def _key(item: Item, by: Cleaning) -> str | None:
    fits = item.key is not None and len(item.key) <= by.limits.key_chars and "\0" not in item.key
    return item.key if fits else None
