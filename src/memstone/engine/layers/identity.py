"""Identity: standing instructions, derived facts, and the narrative.

An identity belongs to a user of a tenant, whichever agent asks and in whichever conversation. Overrides are written by
the user alone; nothing that was derived is ever put among them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, cast

from memstone.core.checks.arguments import checked_text
from memstone.core.checks.filters import where_link_direct, where_visible
from memstone.core.ranking.strength import Strength, current_strength
from memstone.engine.layers.mirrors import (
    identity_dedupe,
    never_fades,
    place_of,
    read_visible_facts,
    rows_of,
    true_derived,
)
from memstone.engine.policy import policy_for
from memstone.engine.request_scope import merged_scope
from memstone.engine.runtime import Runtime
from memstone.engine.search_request import LARGEST, checked_limit
from memstone.engine.store.draft import Draft, event_of, new_record, text_hash
from memstone.engine.store.revise import take_from
from memstone.engine.store.turns import masked_text, redaction_of
from memstone.engine.store.versions import Vectors, ensure_space, insert_version, supersede_version, vectors_of
from memstone.engine.store.write import current_space
from memstone.errors import Forbidden, InvalidInput, MemstoneError, NotFoundError, ScopeError
from memstone.language.language import IdentityRules, Language
from memstone.language.text.normal import estimate_tokens, normal_text
from memstone.model.event import EventType
from memstone.model.instant import Instant
from memstone.model.memory import FoundMemory, Kind, Layer, Link, Origin, Record
from memstone.model.query import And, Condition, Not, Op
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx

if TYPE_CHECKING:
    from memstone.literals import StatusName
    from memstone.results import (
        FactItem,
        FactList,
        IdentityItem,
        IdentityResult,
        InstructionList,
        NarrativeItem,
    )

# --- who the user is --------------------------------------------------------------------------------------------------


MOST_OVERRIDES: Final = 1_000


@dataclass(frozen=True, slots=True)
class IdentityText:
    """A text the user wrote, checked, with its vectors."""

    text: str
    vectors: Vectors = ()


async def get_identity(runtime: Runtime, user_id: Any) -> IdentityResult:
    """Return an owner's identity as it is now."""
    owner = owner_for(runtime, user_id)
    return await runtime.ledger.read(lambda tx: _read_identity(tx, owner, runtime.now()))


async def add_override(runtime: Runtime, user_id: Any, text: str) -> IdentityResult:
    """Keep something the user wrote; what is there already, in whatever case, is not added again."""
    owner = owner_for(runtime, user_id)
    (written,), warnings = await _prepare_overrides(runtime, [text])
    now = runtime.now()

    async def work(tx: Tx) -> IdentityResult:
        rows = await rows_of(tx, owner, now, Kind.OVERRIDE)
        if normal_text(written.text) not in {normal_text(found.record.text) for found in rows}:
            _refuse_more(len(rows) + 1)
            await _insert_override(
                tx, runtime.language, owner, written, max((place_of(one.record) for one in rows), default=-1) + 1, now
            )
        return await _read_identity(tx, owner, now)

    return _add_warnings(runtime, await runtime.ledger.write(work), warnings)


async def remove_override(runtime: Runtime, user_id: Any, position: int) -> IdentityResult:
    """Delete the override at a position, counted from 0."""
    owner = owner_for(runtime, user_id)
    if isinstance(position, bool) or not isinstance(position, int) or position < 0:
        raise InvalidInput(f"position must be a whole number from 0, not {position!r}")
    now = runtime.now()

    async def work(tx: Tx) -> IdentityResult:
        rows = await rows_of(tx, owner, now, Kind.OVERRIDE)
        if position >= len(rows):
            raise NotFoundError(f"no override at position {position}", hint=f"there are {len(rows)}, counted from 0")
        await take_from(tx, runtime.language, rows[position].record, owner, now)
        return await _read_identity(tx, owner, now)

    return _add_warnings(runtime, await runtime.ledger.write(work), [])


async def set_overrides(runtime: Runtime, user_id: Any, texts: Sequence[str]) -> IdentityResult:
    """Put these in place of all overrides; what stays keeps its id."""
    owner = owner_for(runtime, user_id)
    if isinstance(texts, str) or not isinstance(texts, Sequence):
        raise InvalidInput(f"overrides must be a list of texts, not {type(texts).__name__}")
    _refuse_more(len(texts))
    written, warnings = await _prepare_overrides(runtime, texts)
    wanted = {normal_text(one.text): one for one in reversed(written)}
    order = list(dict.fromkeys(normal_text(one.text) for one in written))
    now = runtime.now()

    async def work(tx: Tx) -> IdentityResult:
        stored: dict[str, FoundMemory] = {}
        for found in await rows_of(tx, owner, now, Kind.OVERRIDE):
            text = normal_text(found.record.text)
            if text not in wanted or text in stored:
                await take_from(tx, runtime.language, found.record, owner, now)
            else:
                stored[text] = found
        for place, text in enumerate(order):
            await _place_override(tx, runtime.language, owner, wanted[text], stored.get(text), place, now)
        return await _read_identity(tx, owner, now)

    return _add_warnings(runtime, await runtime.ledger.write(work), warnings)


def owner_for(runtime: Runtime, user_id: Any) -> Scope:
    """Return the owner a caller names.

    Nobody is an error, and so is somebody of whom the caller reaches a part only.
    """
    owner = runtime.scope({"user_id": user_id, "agent_id": None, "run_id": None})
    if not owner.user_id:
        raise ScopeError("an identity belongs to a user", hint="give user_id")
    scope = Scope(owner.tenant_id, owner.user_id)
    if runtime.bounds is not None and not runtime.bounds.holds(scope):
        raise Forbidden(
            "this key is bound to an agent, but an identity belongs to a user",
            hint="use a key of the user, or a key for the whole tenant",
        )
    return scope


async def _prepare_overrides(runtime: Runtime, texts: Sequence[str]) -> tuple[list[IdentityText], list[str]]:
    """Return texts as they are stored: checked, trimmed, without secrets, and with their vectors."""
    if texts:
        await runtime.ledger.ensure_room()
    limit, redaction = runtime.policy.limits.text_chars, redaction_of(runtime.policy)
    clean: list[str] = []
    warnings: list[str] = []
    for at, text in enumerate(texts):
        name = f"overrides[{at}]"
        stored_text, found = masked_text(checked_text(text, name, limit, "limits.text_chars").strip(), name, redaction)
        clean.append(stored_text)
        warnings += found
    return [IdentityText(text, vectors) for text, vectors in await embed_texts(runtime, clean)], warnings


async def embed_texts(runtime: Runtime, texts: Sequence[str]) -> list[tuple[str, Vectors]]:
    """Return texts with their vectors; one that cannot be embedded now is found by its words."""
    if not runtime.embedding.on or not texts:
        return [(text, ()) for text in texts]
    try:
        space = await current_space(runtime)
        vectors = await runtime.embedding.many(texts)
    except MemstoneError:
        return [(text, ()) for text in texts]
    pairs = zip(texts, vectors, strict=True)
    return [(text, () if isinstance(vector, MemstoneError) else [(space, vector)]) for text, vector in pairs]


def _refuse_more(count: int) -> None:
    if count > MOST_OVERRIDES:
        raise InvalidInput(
            f"{count:,} overrides are too many: the limit is {MOST_OVERRIDES:,}", hint="remove some, or join them"
        )


async def _place_override(
    tx: Tx,
    language: Language,
    owner: Scope,
    written: IdentityText,
    memory: FoundMemory | None,
    place: int,
    now: Instant,
) -> None:
    """Store an override at its place, or move the one that says the same there."""
    if memory is None:
        await _insert_override(tx, language, owner, written, place, now)
        return
    old = memory.record
    if old.text == written.text and place_of(old) == place:
        return
    links = await tx.links.of(owner.tenant_id, old.seq)
    new = replace(
        old,
        seq=0,
        version=old.version + 1,
        text=written.text,
        hash=text_hash(written.text),
        tokens=estimate_tokens(written.text),
        data={**old.data, "place": place},
        valid_from=max(old.valid_from, now),
        updated_at=now,
    )
    vectors = await vectors_of(tx, old) if old.text == written.text else written.vectors
    await _ensure_spaces(tx, owner, vectors)
    await supersede_version(tx, language, old, new, links, vectors)
    await tx.events.append([event_of(EventType.UPDATE, new, owner, now, before=old, links_before=links)])


async def _insert_override(
    tx: Tx, language: Language, owner: Scope, written: IdentityText, place: int, now: Instant
) -> None:
    dedupe = identity_dedupe(owner, Kind.OVERRIDE, written.text)
    draft = Draft(
        scope=owner,
        text=written.text,
        dedupe=dedupe,
        kind=Kind.OVERRIDE,
        origin=Origin.USER,
        trust=1.0,
        occurred_at=now,
        role="user",
        data={"place": place},
        layer=Layer.IDENTITY,
        salience=1.0,
    )
    await tx.suppressions.lift(owner.tenant_id, dedupe)
    await _ensure_spaces(tx, owner, written.vectors)
    record = new_record(draft, owner.tenant_id, now)
    holder = await tx.links.holder(owner.tenant_id, dedupe)
    if holder is not None:  # put aside or expired, and wanted again
        await tx.links.release(owner.tenant_id, holder)
    await insert_version(tx, language, record, [Link(owner, now, dedupe)], written.vectors)
    await tx.events.append([event_of(EventType.ADD, record, owner, now)])


async def _ensure_spaces(tx: Tx, owner: Scope, vectors: Vectors) -> None:
    for space, _ in vectors:
        await ensure_space(tx, owner.tenant_id, space)


def _add_warnings(runtime: Runtime, identity_result: IdentityResult, warnings: Sequence[str]) -> IdentityResult:
    """Return the answer, with what the caller should know: beyond a size, not all overrides are shown to a model."""
    cap = runtime.policy.retrieval.override_tokens
    size = sum(runtime.token_counter.tokens(one["text"]) for one in identity_result["overrides"])
    lines = list(warnings)
    if size > cap:
        lines.append(f"the overrides have about {size:,} tokens, but a model sees only the first {cap:,}")
    return {**identity_result, "warnings": lines} if lines else identity_result


async def _read_identity(tx: Tx, owner: Scope, now: Instant) -> IdentityResult:
    rows = await rows_of(tx, owner, now, Kind.OVERRIDE, Kind.NARRATIVE)
    overrides = [found.record for found in rows if found.record.kind == Kind.OVERRIDE]
    narrative = next((found.record for found in rows if found.record.kind == Kind.NARRATIVE), None)
    derived = [found.record for found in await true_derived(tx, owner, now)]
    return {
        "user_id": owner.user_id,
        "overrides": [_format_entry(record) for record in overrides],
        "derived": [{**_format_entry(record), "fact": record.origin_id} for record in derived],
        "narrative": None if narrative is None else await _format_narrative(tx, owner, narrative, now),
    }


def _format_entry(record: Record) -> IdentityItem:
    return {"id": record.id, "text": record.text, "token_count": record.tokens, "created_at": record.created_at}


async def _format_narrative(tx: Tx, owner: Scope, record: Record, now: Instant) -> NarrativeItem:
    return {
        "id": record.id,
        "text": record.text,
        "version": record.version,
        "model": record.model,
        "generated_at": record.updated_at,
        "token_count": record.tokens,
        "stale": await is_stale(tx, owner, record, now),
    }


async def is_stale(tx: Tx, owner: Scope, narrative: Record, now: Instant) -> bool:
    """Return whether a fact that a text about the user was made of has changed since, or is gone."""
    made_of = narrative.data.get("facts")
    if not isinstance(made_of, dict) or not made_of:
        return False
    facts = await read_visible_facts(tx, owner, list(made_of), now)
    return any(one not in facts or facts[one].hash != version for one, version in made_of.items())


# --- facts as a companion sees them, the weightiest first; and what the user wants to be done always ------------------


_MOST_STANDING: Final = 100
STANDING: Final = And((Condition("kind", Op.EQ, str(Kind.PROCEDURAL)), Condition("origin", Op.EQ, str(Origin.USER))))
"""What the user wants to be done always: a surface of its own, which no other one repeats."""


@dataclass(slots=True)
class PinnedRequest:
    """One call of ``pinned``."""

    user_id: Any = None
    agent_id: Any = None
    run_id: Any = None
    limit: int = 100


async def list_pinned_facts(runtime: Runtime, request: PinnedRequest) -> FactList:
    """Return the most salient facts of a scope, without what ``standing_instructions`` tells."""
    values = {"user_id": request.user_id, "agent_id": request.agent_id, "run_id": request.run_id}
    limit = checked_limit(request.limit, runtime.policy.limits.page, LARGEST)
    now, days = runtime.now(), (await policy_for(runtime, request)).policy.recall.decay_days
    where = where_visible(
        merged_scope(runtime, values, {}), now, layers=(Layer.FACT,), extra=And((where_link_direct(), Not(STANDING)))
    )
    rows = await runtime.ledger.read(lambda tx: tx.memories.salient(where, limit=limit))
    return {"results": [_pinned_shown(found, now, days, runtime.language.identity) for found in rows]}


def salience_now(found: FoundMemory, now: Instant, decay_days: float | None, rules: IdentityRules) -> float:
    """Return how salient a memory still is, since it was last renewed or used."""
    record, used = found.record, found.link.last_used_at
    decay_days = None if never_fades(record, rules) else decay_days
    anchor = max(record.anchor_at, used) if used is not None else record.anchor_at
    return round(current_strength(Strength(record.salience, anchor), now, decay_days), 4)


def _pinned_shown(found: FoundMemory, now: Instant, decay_days: float | None, rules: IdentityRules) -> FactItem:
    record, link = found.record, found.link
    return {
        "id": record.id,
        "content": record.text,
        "salience": record.salience,
        "effective_salience": salience_now(found, now, decay_days, rules),
        "source_count": record.source_count,
        "source_episode_id": record.data.get("episode"),
        "last_used": link.last_used_at,
        "use_count": link.use_count,
        "status": cast("StatusName", str(record.status)),
        "tags": _read_tags(record.metadata),
        "user_id": link.scope.user_id or None,
        "agent_id": link.scope.agent_id or None,
        "occurred_at": record.occurred_at,
        "created_at": record.created_at,
    }


def _read_tags(metadata: Mapping[str, Any]) -> list[str]:
    current = metadata.get("tags")
    return [str(one) for one in current] if isinstance(current, Sequence) and not isinstance(current, str) else []


async def standing_instructions(runtime: Runtime, values: Mapping[str, Any]) -> InstructionList:
    """Return how the user wants to be served whatever the subject, in their own words, oldest first."""
    where = where_visible(
        merged_scope(runtime, values, {}),
        runtime.now(),
        layers=(Layer.FACT,),
        extra=And((where_link_direct(), STANDING)),
    )
    rows = await runtime.ledger.read(lambda tx: tx.memories.find(where, limit=_MOST_STANDING))
    lines = [found.record for found in sorted(rows, key=lambda found: (found.record.created_at, found.record.seq))]
    return {
        "text": "\n".join(f"- {' '.join(one.text.split())}" for one in lines),
        "instructions": [{"id": one.id, "text": one.text, "occurred_at": one.occurred_at} for one in lines],
    }
