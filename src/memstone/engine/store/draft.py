"""Drafts: memories to be stored, with link, words and vector."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from datetime import UTC
from functools import lru_cache
from typing import Any, Final

from memstone.errors import InvalidInput
from memstone.language.language import DateReader
from memstone.language.text import tokens
from memstone.language.text.normal import estimate_tokens, normal_text
from memstone.model.event import Event
from memstone.model.ids import new_id
from memstone.model.instant import Instant, datetime_from_instant
from memstone.model.memory import ENDED, Layer, Link, Origin, Record, Status, TextDoc
from memstone.model.memory import EntityFound as Named
from memstone.model.message import Attachment, Message
from memstone.model.policy import Policy
from memstone.model.scope import Scope

# --- what an event remembers of a memory ------------------------------------------------------------------------------


_STATE_FIELDS: Final = ("kind", "layer", "key", "status", "version", "metadata", "occurred_at", "expires_at")
_OF_THE_ROW: Final = frozenset({"id", "text", "hash", "tokens", "seq", "tenant_id", "valid_to"})
_ALWAYS: Final = frozenset({"kind", "layer", "status", "version"})
_DEFAULTS: Final = {
    item.name: item.default if item.default_factory is MISSING else item.default_factory()
    for item in fields(Record)
    if item.name not in _OF_THE_ROW
}
"""The fields of a record that a state holds, and what each is when it is not named."""


def shown_of(record: Record) -> dict[str, Any]:
    """Return what is told about a version that needs no more: the row has the rest."""
    return {name: getattr(record, name) for name in _STATE_FIELDS if getattr(record, name) not in (None, {})}


def state_of(record: Record, links: Sequence[Link]) -> dict[str, Any]:
    """Return everything about a version but its words, with all who see it."""
    stored = {name: getattr(record, name) for name in _DEFAULTS}
    answer = {name: value for name, value in stored.items() if name in _ALWAYS or value != _DEFAULTS[name]}
    return {**answer, "links": [link_state(link) for link in links]}


def link_state(link: Link) -> dict[str, Any]:
    """Return one who sees a memory."""
    who = link.scope
    answer: dict[str, Any] = {"user_id": who.user_id, "agent_id": who.agent_id, "run_id": who.run_id}
    answer |= {"origin": link.origin if link.origin != "direct" else None, "last_used_at": link.last_used_at}
    answer |= {"use_count": link.use_count, "created_at": link.created_at}
    return {"dedupe": link.dedupe, **{name: value for name, value in answer.items() if value}}


def record_of(state: Mapping[str, Any], row: Record) -> Record:
    """Return the version a state tells of; ``row`` is where its words are."""
    answer = {name: state[name] for name in _DEFAULTS if name in state}
    if "links" in state:  # a whole state: what it does not name is as it usually is
        answer = {**{name: value for name, value in _DEFAULTS.items() if value is not MISSING}, **answer}
    return replace(row, **answer)


def links_of(state: Mapping[str, Any], tenant_id: str) -> list[Link] | None:
    """Return who saw it; None when the state does not say."""
    answer = state.get("links")
    return None if answer is None else [_link_from_state(one, tenant_id) for one in answer]


def _link_from_state(answer: Mapping[str, Any], tenant_id: str) -> Link:
    return Link(
        scope=Scope(tenant_id, *(answer.get(name, "") for name in ("user_id", "agent_id", "run_id"))),
        created_at=answer["created_at"],
        dedupe=answer.get("dedupe"),
        origin=answer.get("origin", "direct"),
        use_count=answer.get("use_count", 0),
        last_used_at=answer.get("last_used_at"),
    )


def ended_state(version: int, status: str, *, suppressed: bool) -> dict[str, Any]:
    """Return the state of a memory that is there no more.

    It is ``suppressed`` when a person said that it should not come back.
    """
    return {"status": str(status), "version": version, **({"suppressed": True} if suppressed else {})}


def is_live(state: Mapping[str, Any] | None) -> bool:
    """Return whether a state is that of a memory that is there; an ADD has none before it."""
    return bool(state) and state is not None and state.get("status") not in ENDED


# --- pictures, sounds and files in messages ---------------------------------------------------------------------------


_MASKED: Final = "masked"


def check_attachments(policy: Policy, messages: Sequence[Message]) -> list[Message]:
    """Return these messages, or raise ``InvalidInput`` that names what is attached to one where nothing may be."""
    if policy.curation.attachments == "refuse":
        for at, message in enumerate(messages):
            if message.attachments:
                one = message.attachments[0]
                raise InvalidInput(
                    f"messages[{at}] contains {one.kind} {one.name!r}, but attachments are not accepted here",
                    hint="leave it out, describe it in words, or set extract.attachments to reference",
                )
    return list(messages)


def attachment_data(message: Message) -> dict[str, Any]:
    """Return what a row notes about the attachments of a message; nothing when there are none.

    A name that was masked in the text is not told here either.
    """
    if not message.attachments:
        return {}
    answer = (one if f": {one.name}]" in message.text else Attachment(one.kind, _MASKED) for one in message.attachments)
    return {"attachments": [one.as_dict() for one in answer]}


# --- what is about to be stored ---------------------------------------------------------------------------------------


TRUST: Final = {Origin.USER: 1.0, Origin.ASSISTANT: 0.5, Origin.IMPORT: 0.3}
"""How far a speaker's word carries; that of an import, whoever it says has spoken, less than any."""

PASSED_ON: Final = 0.5
"""How far the words of others carry that the user or the assistant passes on."""

DOUBTFUL: Final = 0.4
"""How far a statement carries that the conversation does not bear out; it replaces nothing that was verified."""

_PLACE: Final = ("user_id", "agent_id", "run_id")
_ALIKE: Final = 4
"""How many characters say where something lives."""


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
    also: Scope | None = None
    """Whose memory it is as well: the project in which it was said."""

    status: str = Status.ACTIVE
    """Quarantined when somebody has to approve it first."""

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """All whose memory it is."""
        return (self.scope,) if self.also is None else (self.scope, self.also)


@dataclass(slots=True)
class Details:
    """What a caller said about messages besides their words; ``dated`` is false when the clock gave the time."""

    kind: str
    occurred_at: Instant
    key: str | None = None
    expires_at: Instant | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    dated: bool = True


def verbatim_draft(scope: Scope, message: Message, details: Details, fields: Sequence[str], item: int) -> Draft:
    """Return a message as it was said; ``fields`` are those of the scope within which it is kept once."""
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
        data={"verbatim": True, "speaker": speaker, **attachment_data(message)},
        item=item,
    )


def text_hash(text: str) -> str:
    """Return the md5 of a text, as callers compare it. Not a security measure."""
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def dedupe_value(scope: Scope, fields: Sequence[str], *, speaker: str, key: str | None, text: str) -> str:
    """Return what makes two memories the same: where they live, who spoke, and the key or the normalised text.

    What lives in one place begins alike: an index has it side by side, and a batch touches few of its pages.
    """
    ids = [getattr(scope, field) if field in fields else "" for field in _PLACE]
    if not any(ids):  # it lives in nobody's place that counts: then in its own
        ids = [scope.user_id, scope.agent_id, scope.run_id]
    place, begins = _encode_scope_ids(*ids)
    texts = ("key", key) if key else ("text", speaker, normal_text(text))
    return begins + _sha256_hex(place + _join_with_lengths(texts))[_ALIKE:]


@lru_cache(maxsize=1024)
def _encode_scope_ids(*ids: str) -> tuple[str, str]:
    """Return where something lives, and how everything that lives there begins: too little to tell who it is."""
    place = _join_with_lengths(ids)
    return place, _sha256_hex(place)[:_ALIKE]


def _join_with_lengths(parts: Sequence[str]) -> str:
    """Return each part with its length, so that no two different lists of parts give the same text."""
    return "".join([f"{len(part)}:{part}" for part in parts])


def _sha256_hex(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def owner_alone(scope: Scope) -> Scope:
    """Return the user of a scope, whatever agent or conversation it names besides; a scope without a user as it is."""
    return Scope(scope.tenant_id, scope.user_id) if scope.user_id else scope


def waiting_dedupe(scope: Scope, fields: Sequence[str], text: str) -> str:
    """Return the same for what waits to be approved: beside what is known, not in its place."""
    return dedupe_value(scope, fields, speaker="import", key=None, text=text)


def new_record(draft: Draft, tenant_id: str, now: Instant) -> Record:
    """Return the first version of a memory."""
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
        status=draft.status,
    )


def text_doc(record: Record, links: Sequence[Link], dates: DateReader) -> TextDoc:
    """Return what the full text holds of a memory."""
    return TextDoc(
        body=tokens.match_text(record.text),
        key=tokens.match_text(record.key) if record.key else "",
        speaker=_speaker_words(str(record.data.get("speaker", ""))),
        day=_day_words(record, dates),
        scope=_scope_words(frozenset(link.scope for link in links)),
    )


_speaker_words = lru_cache(maxsize=1024)(tokens.match_text)


@lru_cache(maxsize=1024)
def _scope_words(scopes: frozenset[Scope]) -> str:
    return " ".join(sorted({token for scope in scopes for token in scope_tokens(scope)}))


def _day_words(record: Record, dates: DateReader) -> str:
    """Return the day it was said, and the days it mentions: "yesterday" is asked for by its date."""
    text = dates.list_day_words(record.occurred_at)
    times = dates.find(record.text, datetime_from_instant(record.occurred_at), UTC)
    words = tokens.document_terms(dates.list_words(times)) if times else []
    return " ".join(dict.fromkeys([*text.split(), *words])) if words else text


def scope_tokens(scope: Scope) -> list[str]:
    """Return the words by which the full text finds a scope's rows."""
    argument = ((field, getattr(scope, field)) for field in ("user_id", "agent_id", "run_id"))
    return [tokens.scope_token(scope.tenant_id, field, value) for field, value in argument if value]


def event_of(  # noqa: PLR0913 - one for each part of an event
    event: str,
    record: Record,
    scope: Scope,
    now: Instant,
    *,
    before: Record | None = None,
    reason: str | None = None,
    ended: bool = False,
    links: Sequence[Link] | None = None,
    links_before: Sequence[Link] | None = None,
    actor: str = "caller",
    job_id: str | None = None,
) -> Event:
    """Return the event that records what became of a memory; ``ended`` when there is no version after it.

    With ``links_before`` the whole state before is told, so that the change can be taken back exactly. ``links`` are
    who sees it now, told unless it was and is the one scope of the event.
    """
    same = links_before is None or _only_in(scope, links_before)
    known = links is None or (same and _only_in(scope, links))
    answer = {} if known else {"links": [link_state(link) for link in links or ()]}
    return Event(
        id=new_id(),
        memory_id=record.id,
        event=event,
        scope=scope,
        created_at=now,
        old_text=before.text if before else None,
        new_text=None if ended else record.text,
        reason=reason,
        before=_state_before_change(before, links_before) if before else None,
        after=None if ended else {**shown_of(record), **answer},
        actor=actor,
        job_id=job_id,
        is_deleted=ended,
    )


def _only_in(scope: Scope, links: Sequence[Link]) -> bool:
    return [link.scope for link in links] == [scope]


def _state_before_change(record: Record, links: Sequence[Link] | None) -> dict[str, Any]:
    return shown_of(record) if links is None else state_of(record, links)
