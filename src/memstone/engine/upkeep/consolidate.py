"""``consolidate``: merge, promote, evict and delete memories in one run.

Nearly identical memories become one, what recent sessions mention gains weight, what has faded is evicted, and what has
expired is deleted. Only narratives may need a language model. Everything is worked out from a snapshot and done in
small transactions that check again, so other calls continue meanwhile. A second run right after the first finds nothing
to do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from memstone.core.consolidation import (
    LASTING,
    Merge,
    Promotion,
    days_before,
    find_merges,
    find_promotions,
    find_repeats,
    merge_links,
    merge_records,
    owners_of,
)
from memstone.engine.layers.narrative import regenerate_narrative
from memstone.engine.policy import apply_scope_policy
from memstone.engine.request_scope import scope_or_everybody
from memstone.engine.runtime import Runtime
from memstone.engine.store.versions import add_links, end_version
from memstone.engine.upkeep import sweep
from memstone.engine.upkeep.passes import PAGE, Pass, is_current, of_owner, parts_to_tidy, read_policies
from memstone.engine.upkeep.summarize import summarize_pass
from memstone.errors import MemstoneError
from memstone.model.event import EventType, Job
from memstone.model.ids import new_id
from memstone.model.instant import Instant
from memstone.model.memory import Layer, Link, Record, Status
from memstone.model.policy import Policy, Upkeep
from memstone.model.scope import EVERYBODY, Scope
from memstone.ports.ledger import Tx
from memstone.trace import log_event

if TYPE_CHECKING:
    from memstone.results import ConsolidateCounts, ConsolidateResult

TASK: Final = "consolidate"
_COMPARED: Final = {Layer.EPISODE: 1_000, Layer.FACT: 5_000}
"""So many of the newest of an owner are compared with each other."""

_SPEAKING: Final = 200
_SPOKEN_OF: Final = 500


async def consolidate_scope(
    runtime: Runtime, values: Mapping[str, Any], *, everybody: bool, dry_run: bool = False
) -> ConsolidateResult:
    """Make one pass over a scope, or over everything there is; return what was done."""
    scope = scope_or_everybody(runtime, values, everybody=everybody)
    runtime = parts_to_tidy(runtime, scope)
    runtime = await apply_scope_policy(runtime, scope)
    if not runtime.policy.enabled:
        return {"status": "disabled"}
    run = Pass(runtime, scope, runtime.now(), new_id(), dry_run=dry_run)
    if dry_run:
        await _run_steps(run)
        return _build_answer(run)
    if not await run.claim():
        return {"status": "already_running"}
    try:
        await _run_and_log(run)
    finally:
        await run.release()
    return _build_answer(run)


async def _run_and_log(run: Pass) -> None:
    """Carry out a pass and log it, whatever becomes of it."""
    began = perf_counter()
    newest = 0
    if run.scope.is_open:  # only passes over everything ask how far the one before them came
        newest = await run.runtime.ledger.peek(lambda tx: tx.upkeep.newest_change(run.runtime.tenant_id))
    job = Job(id=run.job_id, task=TASK, scope=run.scope, status="error", created_at=run.now)
    try:
        await _run_steps(run)
        job.status, job.details = "success", {"repeats": True}
    except MemstoneError as error:
        job.details = {"error": error.as_dict()}
        raise
    finally:
        job.details = {**job.details, **_pass_counts(run), "changes": newest}
        job.duration_ms = 1_000 * (perf_counter() - began)
        await run.runtime.ledger.write(lambda tx: tx.jobs.put(job))
        log_event("memory.consolidated", counts=_pass_counts(run))


async def _run_steps(run: Pass) -> None:
    run.policies = await read_policies(run.runtime)
    earlier = await _read_earlier_passes(run)
    await merge_duplicates(run, Layer.EPISODE)
    if not (run.scope.is_open and any(one.merged_repeats for one in earlier)):
        await merge_repeats(run)
    await merge_duplicates(run, Layer.FACT)
    await promote_facts(run)
    await sweep.evict_faded_facts(run)
    await sweep.expire_memories(run)
    await sweep.prune_old_memories(run)
    await summarize_pass(run)
    if not run.dry_run:
        await _refresh_narratives(run, earlier[0].changes if earlier else 0)
    if run.scope.is_open:  # logs and receipts belong to the whole tenant
        # At least half an interval ago, so that a second pass right after this one finds nothing more to forget.
        latest = days_before(run.now, run.runtime.policy.upkeep.interval_hours / 48)
        await sweep.purge_old_rows(run, next((one.changes for one in earlier if one.began <= latest), 0))


@dataclass(frozen=True, slots=True)
class EarlierPass:
    """When a whole pass began, how far the log of changes had come, and whether it merged what was known twice."""

    began: Instant
    changes: int
    merged_repeats: bool


async def _read_earlier_passes(run: Pass) -> list[EarlierPass]:
    """Return the whole passes before this one, newest first."""
    tenant = Scope(run.runtime.tenant_id)
    jobs = await run.runtime.ledger.read(lambda tx: tx.jobs.find(tenant, task=TASK, status="success", limit=PAGE))
    return [
        EarlierPass(job.created_at, int(job.details.get("changes", 0)), bool(job.details.get("repeats")))
        for job in jobs
        if job.scope.is_open
    ]


async def _refresh_narratives(run: Pass, since: int) -> None:
    """Let the texts about users follow what has changed since the pass before this one, and by it."""
    tenant, only = run.runtime.tenant_id, run.scope.user_id
    changed = await run.runtime.ledger.read(lambda tx: tx.upkeep.changed_users(tenant, since, only))
    for user in changed:
        if not user or user == EVERYBODY:
            continue
        await run.go_on()
        runtime = await apply_scope_policy(run.runtime, Scope(tenant, user))
        made = await regenerate_narrative(runtime, Scope(tenant, user), job_id=run.job_id)
        run.counts["narratives"] += made["status"] in ("regenerated", "removed")


def _pass_counts(run: Pass) -> ConsolidateCounts:
    counts = run.counts
    return {
        "merged": counts["merged"],
        "promoted": counts["promoted"],
        "evicted": counts["evicted"],
        "expired": counts["expired"],
        "pruned": counts["pruned"],
        "summarized": counts["summarized"],
        "narratives": counts["narratives"],
        "purged": {name.removeprefix("purged."): n for name, n in counts.items() if name.startswith("purged.")},
    }


def _build_answer(run: Pass) -> ConsolidateResult:
    if run.dry_run:
        return {"status": "completed", "dry_run": True, **_pass_counts(run)}
    return {"status": "completed", "job_id": run.job_id, **_pass_counts(run)}


# --- what is alike ----------------------------------------------------------------------------------------------------


async def _list_owners(run: Pass, layer: Layer) -> list[Scope]:
    """Return the users and agents of a pass; each is looked at alone, so that nothing of two is ever mixed."""
    found = await run.runtime.ledger.read(lambda tx: tx.upkeep.owners(run.scope, str(layer)))
    return [Scope(run.runtime.tenant_id, user, agent, run.scope.run_id) for user, agent in found]


async def _read_newest(run: Pass, owner: Scope, layer: Layer, most: int) -> list[Record]:
    where = of_owner(owner, run.now, str(layer))
    found = await run.runtime.ledger.read(lambda tx: tx.memories.find(where, limit=most))
    return [one.record for one in found if one.record.kind not in LASTING and one.record.seq not in run.settled]


def _merge_threshold(policy: Policy, layer: Layer) -> float:
    """Return how alike two must be to become one; 0 is never."""
    return policy.upkeep.merge_episodes if layer == Layer.EPISODE else policy.upkeep.merge_facts


async def merge_duplicates(run: Pass, layer: Layer) -> None:
    """Let nearly identical memories of an owner become one: the older is kept, and the newer is part of it."""
    wanted = any(_merge_threshold(policy, layer) > 0 for _, policy in run.policies.groups(run.scope))
    for owner in await _list_owners(run, layer) if wanted else ():
        threshold = _merge_threshold(run.policies.of(owner), layer)
        if threshold <= 0:
            continue
        await run.go_on()
        records = await _read_newest(run, owner, layer, _COMPARED[layer])
        planned = (
            await run.runtime.io.run(partial(find_merges, records, threshold, run.runtime.language))
            if len(records) > 1
            else []
        )
        await _merge_planned(run, planned)


async def merge_repeats(run: Pass) -> None:
    """Merge an owner's facts that are the same word for word, of all conversations.

    Earlier versions learned them once for each conversation. Nothing doubles them any more, so one pass over everything
    is enough.
    """
    for owner in await _list_owners(run, Layer.FACT):
        await run.go_on()
        records = await _read_newest(run, owner, Layer.FACT, _COMPARED[Layer.FACT])
        await _merge_planned(run, await run.runtime.io.run(partial(find_repeats, records)), exact=True)


async def _merge_planned(run: Pass, planned: Sequence[Merge], *, exact: bool = False) -> None:
    for page in _split_pages(planned):
        if run.dry_run:
            for one in await run.runtime.ledger.read(partial(_filter_mergeable, run=run, page=page, exact=exact)):
                run.would("merged", one.dropped)
            continue
        for links in await run.write(partial(_merge_page, run=run, page=page, exact=exact)):
            run.did("merged", links)


def _split_pages(planned: Sequence[Any]) -> Iterator[Sequence[Any]]:
    return (planned[start : start + PAGE] for start in range(0, len(planned), PAGE))


async def _filter_mergeable(tx: Tx, *, run: Pass, page: Sequence[Merge], exact: bool) -> list[Merge]:
    """Return those that both still hold, are seen by the same owners, who all merge, and were not parted since.

    Nobody needs to want that what says ``exact``ly the same is merged.
    """
    found = []
    for one in page:
        stored, dropped = await tx.memories.at(one.survivor.seq), await tx.memories.at(one.dropped.seq)
        if stored is None or dropped is None or not (is_current(stored) and is_current(dropped)):
            continue
        links, others = [await tx.links.of(record.tenant_id, record.seq) for record in (stored, dropped)]
        together = owners_of(links) == owners_of(others) and (exact or _all_merge(run, links, stored))
        if together and not await _was_undone(tx, stored, dropped):
            found.append(Merge(stored, dropped))
    return found


def _all_merge(run: Pass, links: Sequence[Link], record: Record) -> bool:
    """Return whether everybody who holds a memory lets those that are alike become one."""
    return run.policies.agree(
        links, lambda policy: _merge_threshold(policy, Layer(record.layer)) > 0, run.runtime.policy
    )


async def _was_undone(tx: Tx, record: Record, dropped: Record) -> bool:
    """Return whether whatever made it part of the other was taken back, as it is there: that stands."""
    history = await tx.events.of(dropped.tenant_id, dropped.id)
    return any(event.event == EventType.MERGE and event.new_id == record.id for event in history)


async def _merge_page(tx: Tx, *, run: Pass, page: Sequence[Merge], exact: bool) -> list[list[Link]]:
    done = []
    for planned in page:  # one by one: what is kept may have grown by the one before
        done += [
            await _merge_pair(tx, run, one.survivor, one.dropped)
            for one in await _filter_mergeable(tx, run=run, page=[planned], exact=exact)
        ]
    return done


async def _merge_pair(tx: Tx, run: Pass, stored: Record, dropped: Record) -> list[Link]:
    own, others = [await tx.links.of(record.tenant_id, record.seq) for record in (stored, dropped)]
    grown, links = merge_records(stored, dropped), merge_links(own, others)
    known = {link.scope for link in own}
    await tx.upkeep.restate(replace(dropped, data={**dropped.data, "into": stored.id}))
    await end_version(tx, dropped, Status.SUPERSEDED, run.now)
    await tx.upkeep.restate(grown)
    await tx.upkeep.recount(grown, [link for link in links if link.scope in known])
    await add_links(tx, run.runtime.language, grown, [link for link in links if link.scope not in known], run.now)
    answer = {"before": dropped, "links_before": others, "ended": True}
    ended = run.event(EventType.MERGE, dropped, others, f"says the same as {stored.id}", **answer)
    ended.new_id = stored.id
    answer = {"before": stored, "links_before": own, "links": links}
    await tx.events.append([ended, run.event(EventType.MERGE, grown, own, f"{dropped.id} says the same", **answer)])
    return own


# --- what keeps being mentioned ---------------------------------------------------------------------------------------


async def promote_facts(run: Pass) -> None:
    """Give weight to facts that several recent episodes of the same owner mention."""
    wanted = any(policy.upkeep.promote_boost > 0 for _, policy in run.policies.groups(run.scope))
    for owner in await _list_owners(run, Layer.EPISODE) if wanted else ():
        policy = run.policies.of(owner).upkeep
        if policy.promote_boost <= 0:
            continue
        since = days_before(run.now, policy.promote_days)
        await run.go_on()
        episodes = await _read_newest(run, owner, Layer.EPISODE, _SPEAKING)
        facts = await _read_newest(run, owner, Layer.FACT, _SPOKEN_OF)
        work = partial(find_promotions, facts, episodes, policy, since)
        for page in _split_pages(await run.runtime.io.run(work) if facts else []):
            do = run.runtime.ledger.read if run.dry_run else run.write
            for record, links in await do(partial(_promote_page, run=run, page=page, policy=policy)):
                if run.dry_run:
                    run.would("promoted", record)
                else:
                    run.did("promoted", links)


async def _promote_page(
    tx: Tx, *, run: Pass, page: Sequence[Promotion], policy: Upkeep
) -> list[tuple[Record, list[Link]]]:
    done = []
    for found in page:
        record = await tx.memories.at(found.fact.seq)
        if record is None or not is_current(record):
            continue
        one, amount = replace(found, fact=record), await _count_boosts(tx, record)
        if one.steps(policy) <= amount:
            continue
        links = await tx.links.of(record.tenant_id, record.seq)
        if not run.dry_run:
            await _store_promotion(tx, run, one.strengthen_fact(amount, policy), record, links, one.steps(policy))
        done.append((record, links))
    return done


async def _count_boosts(tx: Tx, record: Record) -> int:
    """Return how many boosts a fact was given, also such as were taken back."""
    history = await tx.events.of(record.tenant_id, record.id)
    answer = (event.after or {} for event in history if event.event == EventType.PROMOTE)
    return max((int(after.get("promoted", 0)) for after in answer), default=0)


async def _store_promotion(tx: Tx, run: Pass, new: Record, old: Record, links: list[Link], steps: int) -> None:
    await tx.upkeep.restate(new)
    await tx.vectors.touch(new.tenant_id, [new.seq])  # so that no block that was made before is shown again
    answer = {"before": old, "links_before": links, "links": links}
    event = run.event(EventType.PROMOTE, new, links, "several conversations mention it", **answer)
    event.after = {**(event.after or {}), "salience": new.salience, "anchor_at": new.anchor_at, "promoted": steps}
    await tx.events.append([event])
