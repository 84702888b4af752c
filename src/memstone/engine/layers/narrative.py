"""Write the narrative of a user, and rewrite it when its sources change.

It is made of facts of the user's own words only, by a language model where there is one, else of the sentences of the
facts. What the user wrote by hand is never overwritten unless that is asked for. A text that was imported is told on as
far as no fact says otherwise, because what it was made of stayed where it comes from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from memstone.core.checks.arguments import checked_text
from memstone.core.checks.filters import where_link_direct, where_visible
from memstone.core.llm.digest import narrative_prompt, parse_narrative
from memstone.core.portrait import compose_user_text, inputs_of, with_names
from memstone.engine.layers.identity import embed_texts, get_identity, owner_for
from memstone.engine.layers.mirrors import (
    identity_dedupe,
    may_be_identity,
    owner_of_identity,
    refresh_mirrors,
    rows_of,
    sources_of,
    true_derived,
)
from memstone.engine.layers.portrait import imported_lines, imported_of, is_imported, line_of, still_told
from memstone.engine.learn.by_model import ask_model, meter_model_usage
from memstone.engine.policy import apply_scope_policy
from memstone.engine.runtime import Runtime
from memstone.engine.store.draft import event_of, text_hash
from memstone.engine.store.revise import take_from
from memstone.engine.store.turns import masked_text, redaction_of
from memstone.engine.store.versions import Vectors, end_version, ensure_space, insert_version, supersede_version
from memstone.errors import MemstoneError, StorageError
from memstone.language.language import Language
from memstone.language.text.normal import estimate_tokens, normal_text
from memstone.model.digest import PortraitFact, truncate_text
from memstone.model.event import EventType
from memstone.model.ids import new_id
from memstone.model.instant import Instant
from memstone.model.memory import Kind, Layer, Link, Origin, Record, Status
from memstone.model.query import And, Condition, Op
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx

if TYPE_CHECKING:
    from memstone.results import IdentityResult

BY_HAND: Final = "user"
BY_RULES: Final = "rules"
IMPORTED: Final = "import"
_ACTOR: Final = "consolidate"


@dataclass(slots=True)
class _NarrativeState:
    """What a text is made of, and the text there is."""

    lines: list[PortraitFact]
    record: Record | None
    imported: tuple[str, Instant] | None = None

    @property
    def inputs(self) -> str:
        return inputs_of(self.lines)

    @property
    def by_hand(self) -> bool:
        return self.record is not None and self.record.model == BY_HAND

    @property
    def is_import(self) -> bool:
        """Whether the text is just being brought over."""
        return self.record is None and self.imported is not None

    @property
    def has_news(self) -> bool:
        return self.record is not None and any(line.updated_at > self.record.updated_at for line in self.lines)

    @property
    def has_changed(self) -> bool:
        return self.record is None or self.record.data.get("inputs") != self.inputs


async def regenerate_narrative(
    runtime: Runtime, scope: Scope, *, force: bool = False, job_id: str | None = None
) -> dict[str, Any]:
    """Make the text about a user again if what it is made of has changed; for whoever keeps the memory in order.

    ``status`` is ``regenerated``, ``unchanged``, ``hand_edited`` (left alone; ``stale`` says whether there is news),
    ``empty`` (nothing is known), ``removed`` (nothing is known any more), ``no_owner`` or ``failed`` with ``error``.
    With ``force`` it is made again in any case.
    """
    owner = owner_of_identity(scope)
    if owner is None:
        return {"status": "no_owner"}
    now = runtime.now()
    known = await runtime.ledger.write(lambda tx: _read_known(runtime, tx, owner, now))
    if known.by_hand and not force:
        return {"status": "hand_edited", "stale": known.has_news}
    if not known.lines:
        return await runtime.ledger.write(lambda tx: _remove_narrative(tx, owner, known, now, job_id))
    if not known.has_changed and not force:
        return {"status": "unchanged"}
    # It tells what was said to every agent, so what one of them is allowed does not count.
    counted, meter = meter_model_usage(await apply_scope_policy(runtime, owner))
    try:
        text, model = await _generate_text(counted, known.lines)
    except StorageError:
        raise
    except MemstoneError as error:
        return {"status": "failed", "error": error.as_dict()}
    (made,) = await embed_texts(runtime, [truncate_text(text)])
    stored = await runtime.ledger.write(
        lambda tx: _store_narrative(tx, runtime.language, owner, known, made, model, now, job_id)
    )
    spent = {"input_tokens": meter.input_tokens, "output_tokens": meter.output_tokens} if meter is not None else {}
    return {**stored, **spent}


async def set_narrative(runtime: Runtime, user_id: Any, text: str | None) -> IdentityResult:
    """Write the text about the user by hand.

    None removes it, and the next consolidation writes it again.
    """
    owner = owner_for(runtime, user_id)
    now = runtime.now()
    if text is None:
        await runtime.ledger.write(lambda tx: _given_back(tx, runtime.language, owner, now))
        return await get_identity(runtime, user_id)
    await runtime.ledger.ensure_room()
    limit, redaction = runtime.policy.limits.text_chars, redaction_of(runtime.policy)
    checked = checked_text(text, "narrative", limit, "limits.text_chars").strip()
    clean, warnings = masked_text(checked, "narrative", redaction)
    (made,) = await embed_texts(runtime, [clean])

    async def work(tx: Tx) -> None:
        rows = await rows_of(tx, owner, now, Kind.NARRATIVE)
        await _store_narrative(
            tx, runtime.language, owner, _NarrativeState([], rows[0].record if rows else None), made, BY_HAND, now, None
        )

    await runtime.ledger.write(work)
    visible = await get_identity(runtime, user_id)
    return {**visible, "warnings": warnings} if warnings else visible


async def import_narrative(runtime: Runtime, user_id: Any, text: str, model: str, written_at: Instant | None) -> None:
    """Take over a text that another system wrote about the user; it is made again once there is something to add."""
    owner, now = owner_for(runtime, user_id), runtime.now()
    (made,) = await embed_texts(runtime, [text])

    async def work(tx: Tx) -> None:
        rows = await rows_of(tx, owner, now, Kind.NARRATIVE)
        if not rows:
            when = written_at or now
            known = _NarrativeState(imported_lines(text, when), None, imported=(text, when))
            await _store_narrative(tx, runtime.language, owner, known, made, model or IMPORTED, now, None)

    await runtime.ledger.write(work)


async def _read_known(runtime: Runtime, tx: Tx, owner: Scope, now: Instant) -> _NarrativeState:
    """Return what is known about the owner; mirrors are brought up to date on the way."""
    await refresh_mirrors(tx, runtime.language, owner, now)
    rows = await rows_of(tx, owner, now, Kind.NARRATIVE)
    lines = await lines_of(runtime, tx, owner, now)
    if not rows:
        return _NarrativeState(lines, None)
    brought = imported_of(rows[0].record)
    told_on = still_told(imported_lines(*brought), lines, runtime.language.changes) if brought is not None else []
    return _NarrativeState([*told_on, *lines], rows[0].record, imported=brought)


async def lines_of(runtime: Runtime, tx: Tx, owner: Scope, now: Instant) -> list[PortraitFact]:
    """Return the facts a text about the user is made of: those that say who they are, then the most salient they told.

    What happened or is planned is no part of it, nor how the user wants to be served, and what an override says already
    is left out.
    """
    policy = runtime.policy.formation
    mirrors = await true_derived(tx, owner, now)
    behind = await sources_of(tx, owner, mirrors, now)
    answer = And(
        (
            where_link_direct(),
            Condition("origin", Op.EQ, str(Origin.USER)),
            Condition("source", Op.NE, "manual"),
            Condition("kind", Op.NIN, (str(Kind.EPISODIC), str(Kind.PROCEDURAL))),
            Condition("salience", Op.GTE, policy.fact_salience),
        )
    )
    where = where_visible(owner, now, layers=(Layer.FACT,), extra=answer)
    pinned = await tx.memories.salient(where, limit=policy.portrait_facts)
    overrides = {normal_text(found.record.text) for found in await rows_of(tx, owner, now, Kind.OVERRIDE)}
    facts = {record.id: record for record in [*behind.values(), *(found.record for found in pinned)]}
    rules = runtime.language.identity
    records = [one for one in facts.values() if may_be_identity(one, rules) and normal_text(one.text) not in overrides]
    return [line_of(record) for record in records[: policy.portrait_facts]]


async def _generate_text(runtime: Runtime, lines: Sequence[PortraitFact]) -> tuple[str, str]:
    """Return the text, and who wrote it."""
    tokens, counter = runtime.policy.formation.portrait_tokens, runtime.token_counter
    if runtime.llm is not None:
        facts = [line.text for line in lines]
        days = [line.said_at[:10] for line in lines]
        question = narrative_prompt(facts, days=days, instructions=runtime.policy.instructions)
        answer = (
            await ask_model(
                runtime, question, lambda text: parse_narrative(text, facts, tokens, runtime.language, counter)
            )
        ).value
        if answer.text:
            return with_names(answer.text, lines, tokens, counter), runtime.llm.model
    return compose_user_text(lines, tokens, counter) or lines[0].text, BY_RULES


async def _store_narrative(
    tx: Tx,
    language: Language,
    owner: Scope,
    known: _NarrativeState,
    made: tuple[str, Vectors],
    model: str,
    now: Instant,
    job_id: str | None,
) -> dict[str, Any]:
    """Store the text as the next version of the one that was looked at; somebody else's is left alone."""
    text, vectors = made
    for space, _ in vectors:
        await ensure_space(tx, owner.tenant_id, space)
    dedupe = identity_dedupe(owner, Kind.NARRATIVE, "narrative")
    holder = await tx.links.holder(owner.tenant_id, dedupe)
    if holder is not None and (known.record is None or holder != known.record.seq):
        return {"status": "unchanged"}
    await tx.suppressions.lift(owner.tenant_id, dedupe)
    record = _build_record(owner, known, text, model, now)
    answer: dict[str, Any] = {"actor": _actor_name(known, model), "job_id": job_id}
    old = known.record
    if old is None:
        await insert_version(tx, language, record, [Link(owner, now, dedupe)], vectors)
        await tx.events.append([event_of(EventType.ADD, record, owner, now, **answer)])
    else:
        links = await tx.links.of(owner.tenant_id, old.seq)
        await supersede_version(tx, language, old, record, links, vectors)
        event = event_of(EventType.UPDATE, record, owner, now, before=old, links_before=links, **answer)
        await tx.events.append([event])
    return {"status": "regenerated", "id": record.id, "version": record.version, "model": model}


def _actor_name(known: _NarrativeState, model: str) -> str:
    if model == BY_HAND:
        return "caller"
    return IMPORTED if known.is_import else _ACTOR


def _build_record(owner: Scope, known: _NarrativeState, text: str, model: str, now: Instant) -> Record:
    by_hand = model == BY_HAND
    made_of = {} if by_hand else {line.id: line.version for line in known.lines if not is_imported(line)}
    brought = {} if by_hand or known.imported is None else {"imported": list(known.imported)}
    first = Record(
        id=new_id(),
        text=text,
        hash=text_hash(text),
        occurred_at=now,
        created_at=now,
        updated_at=now,
        valid_from=now,
        anchor_at=now,
        tenant_id=owner.tenant_id,
        origin=Origin.USER if by_hand else Origin.IMPORT if known.is_import else Origin.DERIVED,
        trust=1.0,
        layer=Layer.IDENTITY,
        kind=Kind.NARRATIVE,
        data={"inputs": known.inputs, "facts": made_of, **brought},
        salience=1.0,
        source="manual" if by_hand else "digest",
        model=model,
        tokens=estimate_tokens(text),
    )
    old = known.record
    if old is None:
        return first
    began = max(old.valid_from, now)
    return replace(first, id=old.id, version=old.version + 1, created_at=old.created_at, valid_from=began)


async def _remove_narrative(
    tx: Tx, owner: Scope, known: _NarrativeState, now: Instant, job_id: str | None
) -> dict[str, Any]:
    """End a text that nothing carries any more."""
    old = known.record
    if old is None:
        return {"status": "empty"}
    links = await tx.links.of(owner.tenant_id, old.seq)
    await end_version(tx, old, Status.SUPERSEDED, now)
    answer: dict[str, Any] = {"links_before": links, "actor": _ACTOR, "job_id": job_id}
    reason = "none of its sources is known any more"
    event = event_of(EventType.DELETE, old, owner, now, before=old, reason=reason, ended=True, **answer)
    await tx.events.append([event])
    return {"status": "removed"}


async def _given_back(tx: Tx, language: Language, owner: Scope, now: Instant) -> None:
    for found in await rows_of(tx, owner, now, Kind.NARRATIVE):
        await take_from(tx, language, found.record, owner, now)
