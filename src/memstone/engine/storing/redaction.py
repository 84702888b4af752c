"""Secrets are masked before anything is written, whichever call brings them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from memstone.core.privacy.redact import Action, Redacted, RedactPolicy, Sensitive, redact
from memstone.errors import InvalidInput
from memstone.model.message import Message
from memstone.model.policy import Policy


def redaction_of(policy: Policy) -> RedactPolicy:
    """What a memory does about each kind of secret."""
    return _policy(policy.curation.redact)


@lru_cache(maxsize=64)
def _policy(actions: tuple[tuple[str, str], ...]) -> RedactPolicy:
    return RedactPolicy(**{kind: Action(action) for kind, action in actions})


@lru_cache(maxsize=64)
def only_masking(policy: RedactPolicy) -> RedactPolicy:
    """The same, where nothing can be refused any more: what would be dropped is masked."""
    drops = {str(kind): Action.MASK for kind in Sensitive if policy.action(kind) is Action.DROP}
    return replace(policy, **drops) if drops else policy


def masked(messages: Sequence[Message], policy: RedactPolicy) -> tuple[list[Message], list[str]]:
    """Messages without secrets, and warnings about those that held some; one that is refused is left out."""
    kept: list[Message] = []
    warnings: list[str] = []
    for at, message in enumerate(messages):
        found = redact(message.text, policy)
        if found.found:
            warnings.append(warning(f"messages[{at}]", found))
        if found.text.strip():
            kept.append(replace(message, text=found.text) if found.found else message)
    return kept, warnings


def warning(name: str, found: Redacted) -> str:
    """What is said about a text that held a secret; never the secret."""
    what = "was not stored" if found.dropped else "was masked before it was stored"
    return f"{name} {what}: {', '.join(found.found)}"


def masked_text(text: str, name: str, policy: RedactPolicy) -> tuple[str, list[str]]:
    """A text without secrets; ``InvalidInput`` when it must not be stored at all."""
    found = redact(text, policy)
    if found.dropped:
        raise InvalidInput(warning(name, found), hint="extract.redact drops such texts; mask keeps the rest of them")
    return found.text, [warning(name, found)] if found.found else []


def masked_metadata(metadata: dict[str, Any], policy: RedactPolicy) -> tuple[dict[str, Any], list[str]]:
    """Metadata without secrets: a value is masked, never dropped."""
    kinds: dict[Sensitive, None] = {}
    mask = only_masking(policy)

    def without(text: str) -> str:
        found = redact(text, mask)
        kinds.update(dict.fromkeys(found.found))
        return found.text

    clean = walked(metadata, without)
    return clean, [f"metadata was masked before it was stored: {', '.join(kinds)}"] if kinds else []


def walked(value: Any, change: Callable[[str], str]) -> Any:
    """JSON with every text in it changed; names of fields stay."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {name: walked(one, change) for name, one in value.items()}
    return [walked(one, change) for one in value] if isinstance(value, list) else value
