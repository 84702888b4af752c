"""``summarize``: shorten old memories.

What is shortened is not overwritten. Its first sentences become a memory of their own, which says what it comes from;
the original is superseded, can be brought back, and is what a look at the past shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from memstone.core.checks.filters import where_visible
from memstone.core.consolidation import LASTING, days_before, over_budget, shorten_text
from memstone.engine.request_scope import scope_or_everybody
from memstone.engine.runtime import Runtime
from memstone.engine.store.draft import text_hash
from memstone.engine.store.versions import end_version, insert_version
from memstone.engine.upkeep.passes import ALL, PAGE, Pass, is_current, parts_to_tidy
from memstone.errors import InvalidInput
from memstone.language.text.normal import estimate_tokens
from memstone.model.event import EventType, Job
from memstone.model.ids import new_id
from memstone.model.memory import Layer, Link, Origin, Record, Status, owner_of
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx

if TYPE_CHECKING:
    from memstone.results import OldSummaryResult, SummaryCounts, SummaryResult

# --- ``summarize`` ----------------------------------------------------------------------------------------------------


TASK: Final = "summarize"
_LAYERS: Final = (str(Layer.FACT), str(Layer.EPISODE))


@dataclass(frozen=True, slots=True)
class ShortenedMemory:
    """A memory, and what is left of its words."""

    record: Record
    text: str

    @property
    def saved_tokens(self) -> int:
        """How many tokens fewer that is."""
        return estimate_tokens(self.record.text) - estimate_tokens(self.text)


@dataclass(frozen=True, slots=True)
class SummaryLimits:
    """What is left as it is: what fits into so many tokens, and what is younger than so many days."""

    max_tokens: int
    older_than_days: float | None = None


async def summarize_scope(
    runtime: Runtime, values: Mapping[str, Any], max_tokens: int, older_than_days: float | None, *, dry_run: bool
) -> SummaryResult:
    """Shorten the memories of a scope beyond a budget, and return the counts."""
    scope = runtime.scope(values)
    runtime = parts_to_tidy(runtime, scope)
    scope.require_owner()
    wanted = _validate_limits(max_tokens, older_than_days)
    run = Pass(runtime, scope, runtime.now(), new_id(), dry_run=dry_run)
    counts = await _shorten_scope(run, scope, wanted, again=True)
    if not counts["summarizedCount"] or dry_run:
        return {**counts}
    job = Job(id=run.job_id, task=TASK, scope=scope, status="success", details=dict(counts), created_at=run.now)
    await runtime.ledger.write(lambda tx: tx.jobs.put(job))
    return {**counts, "job_id": run.job_id}


def _validate_limits(max_tokens: object, older_than_days: object) -> SummaryLimits:
    if isinstance(max_tokens, bool) or not isinstance(max_tokens, int) or max_tokens < 0:
        raise InvalidInput(f"max_tokens must be a whole number from 0, not {max_tokens!r}")
    if older_than_days is None:
        return SummaryLimits(max_tokens)
    if isinstance(older_than_days, bool) or not isinstance(older_than_days, (int, float)) or not older_than_days >= 0:
        raise InvalidInput(f"older_than_days must be a number from 0, not {older_than_days!r}")
    return SummaryLimits(max_tokens, float(older_than_days))


async def summarize_pass(run: Pass) -> None:
    """Shorten what everybody within a pass has beyond the budget of their policy; what was brought back stays."""
    if not any(policy.upkeep.auto_summarize for _, policy in run.policies.groups(run.scope)):
        return
    found = await run.runtime.ledger.read(partial(_list_owners, scope=run.scope))
    for owner in found:
        policy = run.policies.of(owner).upkeep
        if policy.auto_summarize:
            await run.go_on()
            await _shorten_scope(run, owner, SummaryLimits(policy.summarize_tokens), again=False)


async def _list_owners(tx: Tx, *, scope: Scope) -> list[Scope]:
    pairs = [pair for layer in _LAYERS for pair in await tx.upkeep.owners(scope, layer)]
    named = (Scope(scope.tenant_id, user, agent, scope.run_id) for user, agent in dict.fromkeys(pairs))
    return list(dict.fromkeys(replace(owner_of(one), run_id=scope.run_id) for one in named if not one.is_open))


async def _shorten_scope(run: Pass, scope: Scope, wanted: SummaryLimits, *, again: bool) -> SummaryCounts:
    """Shorten a scope; ``again``: also what was shortened before and brought back by somebody."""
    count, chosen = await run.runtime.ledger.read(
        partial(_choose_memories, run=run, scope=scope, wanted=wanted, again=again)
    )
    done = chosen if run.dry_run else []
    for start in range(0, 0 if run.dry_run else len(chosen), PAGE):
        done += await _replace_page(run, chosen[start : start + PAGE])
    if run.dry_run:
        for one in chosen:
            run.would("summarized", one.record)
    return {"originalCount": count, "summarizedCount": len(done), "tokensSaved": sum(one.saved_tokens for one in done)}


async def _choose_memories(
    tx: Tx, *, run: Pass, scope: Scope, wanted: SummaryLimits, again: bool
) -> tuple[int, list[ShortenedMemory]]:
    """Return how many memories a scope has, and those that are shortened: each owner has the budget for itself."""
    found = await tx.memories.find(where_visible(scope, run.now, layers=_LAYERS), limit=ALL)
    by_owner: dict[Scope, list[Record]] = {}
    for one in found:
        if one.record.kind not in LASTING and one.record.seq not in run.settled:
            by_owner.setdefault(owner_of(one.link.scope), []).append(one.record)
    chosen = [one for records in by_owner.values() for one in _select_over_budget(records, run, wanted)]
    allowed = [one for one in chosen if await _is_theirs(tx, one.record, scope, again=again)]
    return sum(map(len, by_owner.values())), allowed


def _select_over_budget(records: Sequence[Record], run: Pass, wanted: SummaryLimits) -> list[ShortenedMemory]:
    """Return those of one owner, newest first, that do not fit, are old enough and can be said in fewer words."""
    records = sorted(records, key=lambda record: (record.created_at, record.seq), reverse=True)
    places = over_budget((run.runtime.token_counter.tokens(record.text) for record in records), wanted.max_tokens)
    days = wanted.older_than_days
    old = [records[at] for at in places if days is None or records[at].created_at < days_before(run.now, days)]
    return [ShortenedMemory(record, short) for record in old if (short := shorten_text(record.text)) is not None]


async def _is_theirs(tx: Tx, record: Record, scope: Scope, *, again: bool) -> bool:
    """Return whether nobody outside the scope sees it and, unless that is asked for, it was not brought back before."""
    links = await tx.links.of(record.tenant_id, record.seq)
    if not all(scope.holds(link.scope) for link in links) or len({owner_of(link.scope) for link in links}) > 1:
        return False
    history = [] if again else await tx.events.of(record.tenant_id, record.id)
    return not any(event.event == EventType.SUMMARIZE and event.is_deleted for event in history)


async def _replace_page(run: Pass, page: Sequence[ShortenedMemory]) -> list[ShortenedMemory]:
    from memstone.engine.change.restore_state import Fresh, fresh_vectors

    fresh: Fresh = await fresh_vectors(run.runtime, [replace(one.record, text=one.text) for one in page])

    async def work(tx: Tx) -> list[tuple[ShortenedMemory, list[Link]]]:
        done = []
        for one in page:
            record = await tx.memories.at(one.record.seq)
            if record is not None and is_current(record):
                done.append((one, await _replace_with_summary(tx, run, record, one.text, fresh)))
        return done

    found = await run.write(work)
    for _, links in found:
        run.did("summarized", links)
    return [one for one, _ in found]


async def _replace_with_summary(tx: Tx, run: Pass, old: Record, text: str, fresh: Any) -> list[Link]:
    links = await tx.links.of(old.tenant_id, old.seq)
    new = _build_summary(old, text, run)
    await tx.upkeep.restate(replace(old, data={**old.data, "into": new.id}))
    await end_version(tx, old, Status.SUPERSEDED, run.now)
    # It holds the claim of the original: the same words once more are known, if only in short.
    await insert_version(tx, run.runtime.language, new, links, await fresh.of(tx, new))
    answer = {"before": old, "links_before": links, "ended": True}
    ended = run.event(EventType.SUMMARIZE, old, links, f"shortened to {new.id}", **answer)
    ended.new_id = new.id
    begun = run.event(EventType.SUMMARIZE, new, links, f"the first sentences of {old.id}", links=links)
    begun.after = {**(begun.after or {}), "derived_from": [old.id]}
    await tx.events.append([ended, begun])
    return links


def _build_summary(old: Record, text: str, run: Pass) -> Record:
    """Return the memory that is left: of the same kind and age, no more trusted than the original."""
    data = {name: value for name, value in old.data.items() if name not in ("verbatim", "evidence", "into")}
    return replace(
        old,
        id=new_id(),
        seq=0,
        version=1,
        text=text,
        hash=text_hash(text),
        tokens=estimate_tokens(text),
        origin=str(Origin.DERIVED),
        source="summary",
        origin_id=old.id,
        data={**data, "derived_from": [old.id], **({"named": True} if old.key and old.data.get("verbatim") else {})},
        valid_from=max(old.valid_from, run.now),
        updated_at=run.now,
    )


# --- ``summarize_old`` ------------------------------------------------------------------------------------------------


async def summarize_old(
    runtime: Runtime, values: Mapping[str, Any], older_than_days: float, *, everybody: bool, dry_run: bool
) -> OldSummaryResult:
    """Shorten everything that is older, whatever it takes up, of one owner or of each there is."""
    full = parts_to_tidy(runtime, scope_or_everybody(runtime, values, everybody=everybody))
    owners = [values] if not everybody else await full.ledger.read(lambda tx: _shortening_owners(tx, runtime.tenant_id))
    total: OldSummaryResult = {
        "originalCount": 0,
        "summarizedCount": 0,
        "tokensSaved": 0,
        "job_ids": [],
        "dry_run": dry_run,
    }
    for owner in owners:
        one = await summarize_scope(runtime if values else full, owner, 0, older_than_days, dry_run=dry_run)
        total["originalCount"] += one["originalCount"]
        total["summarizedCount"] += one["summarizedCount"]
        total["tokensSaved"] += one["tokensSaved"]
        total["job_ids"] += [one["job_id"]] if "job_id" in one else []
    return total


async def _shortening_owners(tx: Tx, tenant_id: str) -> list[Mapping[str, Any]]:
    scope, layers = Scope(tenant_id), (str(Layer.FACT), str(Layer.EPISODE))
    pairs = [pair for layer in layers for pair in await tx.upkeep.owners(scope, layer)]
    users = dict.fromkeys(user for user, _ in pairs if user)
    agents = dict.fromkeys(agent for user, agent in pairs if agent and not user)
    return [*({"user_id": user} for user in users), *({"agent_id": agent} for agent in agents)]
