"""What is about to be stored: a memory with its link, its words and its vector."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from retain.core import analyze
from retain.core.normalize import normal_text
from retain.core.temporal import date_words, resolve
from retain.core.tokens import estimate_tokens
from retain.model.entity import Found as Named
from retain.model.event import Event
from retain.model.ids import new_id
from retain.model.instant import Instant, moment
from retain.model.memory import Layer, Link, Origin, Record, TextDoc
from retain.model.message import Message
from retain.model.scope import Scope

TRUST: Final = {Origin.USER: 1.0, Origin.ASSISTANT: 0.5}
"""How far a speaker's word carries."""


@dataclass(slots=True)
class Draft:
    """One candidate, complete but for its vector."""

    scope: Scope
    text: str
    dedupe: str
    kind: str
    origin: str
    trust: float
    occurred_at: Instant
    role: str
    dated: bool = True
    speaker: str = ""
    key: str | None = None
    expires_at: Instant | None = None
    metadata: dict[str, Any] | None = None
    data: dict[str, Any] | None = None
    vector: bytes | None = None
    item: int = 0
    layer: str = Layer.FACT
    source: str = "manual"
    salience: float = 0.5
    origin_id: str | None = None
    named: Named | None = None


@dataclass(frozen=True, slots=True)
class Details:
    """What a caller said about messages besides their words; ``dated`` is false when the clock gave the time."""

    kind: str
    occurred_at: Instant
    key: str | None = None
    expires_at: Instant | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    dated: bool = True


def verbatim_draft(scope: Scope, message: Message, details: Details, fields: Sequence[str], item: int) -> Draft:
    """A message as it was said; ``fields`` are those of the scope within which it is kept once."""
    origin, speaker = Origin(message.role), message.speaker
    return Draft(
        scope=scope,
        text=message.text,
        dedupe=dedupe_value(scope, fields, speaker=speaker, key=details.key, text=message.text),
        kind=details.kind,
        origin=origin,
        trust=TRUST[origin],
        occurred_at=details.occurred_at,
        role=message.role,
        dated=details.dated,
        speaker=speaker,
        key=details.key,
        expires_at=details.expires_at,
        metadata=dict(details.metadata),
        data={"verbatim": True, "speaker": speaker},
        item=item,
    )


def text_hash(text: str) -> str:
    """The md5 of a text, as callers compare it. Not a security measure."""
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def dedupe_value(scope: Scope, fields: Sequence[str], *, speaker: str, key: str | None, text: str) -> str:
    """What makes two memories the same: where they live, who spoke, and the key or the normalised text.

    Each part is written with its length, so that no two different lists of parts give the same text.
    """
    parts = [getattr(scope, field) if field in fields else "" for field in ("user_id", "agent_id", "run_id")]
    parts += ["key", key] if key else ["text", speaker, normal_text(text)]
    joined = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.sha256(joined.encode()).hexdigest()


def new_record(draft: Draft, tenant_id: str, now: Instant) -> Record:
    """The first version of a memory."""
    return Record(
        id=new_id(),
        text=draft.text,
        hash=text_hash(draft.text),
        occurred_at=draft.occurred_at,
        created_at=now,
        updated_at=now,
        valid_from=draft.occurred_at,
        anchor_at=draft.occurred_at,
        tenant_id=tenant_id,
        expires_at=draft.expires_at,
        origin=draft.origin,
        trust=draft.trust,
        kind=draft.kind,
        key=draft.key,
        data=draft.data or {},
        metadata=draft.metadata or {},
        source_role=draft.role,
        tokens=estimate_tokens(draft.text),
        layer=draft.layer,
        source=draft.source,
        salience=draft.salience,
        origin_id=draft.origin_id,
    )


def text_doc(record: Record, links: Sequence[Link]) -> TextDoc:
    """What the full text holds of a memory."""
    return TextDoc(
        body=analyze.match_text(record.text),
        key=analyze.match_text(record.key) if record.key else "",
        speaker=analyze.match_text(str(record.data.get("speaker", ""))),
        day=_day_words(record),
        scope=" ".join(sorted({token for link in links for token in scope_tokens(link.scope)})),
    )


def _day_words(record: Record) -> str:
    """The day it was said, and the days it speaks of: "yesterday" is asked for by its date."""
    said = analyze.day_terms(record.occurred_at)
    spoken_of = date_words(resolve(record.text, moment(record.occurred_at)))
    return " ".join(dict.fromkeys([*said.split(), *analyze.terms(spoken_of)])) if spoken_of else said


def scope_tokens(scope: Scope) -> list[str]:
    """The words by which the full text finds a scope's rows."""
    given = ((field, getattr(scope, field)) for field in ("user_id", "agent_id", "run_id"))
    return [analyze.scope_token(scope.tenant_id, field, value) for field, value in given if value]


def snapshot(record: Record) -> dict[str, Any]:
    """What an event remembers of a version, besides its text."""
    kept = ("kind", "layer", "key", "status", "version", "metadata", "occurred_at", "expires_at")
    return {name: getattr(record, name) for name in kept if getattr(record, name) not in (None, {})}


def event_of(
    event: str,
    record: Record,
    scope: Scope,
    now: Instant,
    *,
    before: Record | None = None,
    reason: str | None = None,
    ended: bool = False,
) -> Event:
    """The event that records what became of a memory; ``ended`` when there is no version after it."""
    return Event(
        id=new_id(),
        memory_id=record.id,
        event=event,
        scope=scope,
        created_at=now,
        old_text=before.text if before else None,
        new_text=None if ended else record.text,
        reason=reason,
        before=snapshot(before) if before else None,
        after=None if ended else snapshot(record),
        is_deleted=ended,
    )
