"""Agents: their names, models, prompts and settings, and how they are removed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from memstone.core.checks.arguments import checked_text
from memstone.core.checks.filters import where_link_direct, where_visible
from memstone.core.settings.backends import operator_names, refuse_operators, tenant_only, to_native
from memstone.core.settings.lenient import AGENT, scope_key
from memstone.engine.change.reassign import leave_to_users
from memstone.engine.layers.identity import STANDING
from memstone.engine.layers.mirrors import is_of_identity
from memstone.engine.policy import PAUSED, decode_values
from memstone.engine.runtime import Runtime
from memstone.engine.search_request import checked_limit, checked_offset
from memstone.engine.store.revise import delete_all
from memstone.errors import Forbidden, InvalidInput, MemstoneError, NotFoundError
from memstone.language.language import IdentityRules
from memstone.model.access import Users
from memstone.model.ids import clean_id
from memstone.model.instant import Instant
from memstone.model.memory import Layer
from memstone.model.scope import Scope
from memstone.ports.access_tables import AgentRow
from memstone.ports.ledger import Tx
from memstone.trace import log

if TYPE_CHECKING:
    from memstone.results import AgentDeletion, AgentItem, AgentList

_NAME_CHARS: Final = 256
_MOST: Final = 1_000
_FACTS: Final = 10_000
_NO_HINT: Final = "agents() lists the known agents"


@dataclass(slots=True)
class AgentChange:
    """What to keep of an agent; None leaves a field as it is. ``settings`` are set in place of all earlier ones."""

    id: Any
    name: str | None = None
    model: str | None = None
    system_prompt: str | None = None
    settings: Mapping[str, Any] | None = None


async def list_agents(runtime: Runtime, limit: int, offset: int) -> AgentList:
    """Return the agents of the tenant, with how many memories each has."""
    most, first = checked_limit(limit, runtime.policy.limits.page), checked_offset(offset)
    tenant = runtime.tenant_id
    _check_reach(runtime, "")

    async def work(tx: Tx) -> AgentList:
        rows = await tx.agents.list_agents(tenant, most, first)
        return {
            "agents": [await _describe_agent(tx, runtime, row) for row in rows],
            "total": await tx.agents.count(tenant),
        }

    return await runtime.ledger.read(work)


async def get_agent(runtime: Runtime, agent_id: Any) -> AgentItem | None:
    """Return one agent, or None."""
    wanted = _validate_agent_id(runtime, agent_id)

    async def work(tx: Tx) -> AgentItem | None:
        row = await tx.agents.get(runtime.tenant_id, wanted)
        return None if row is None else await _describe_agent(tx, runtime, row)

    return await runtime.ledger.read(work)


async def save_agent(runtime: Runtime, change: AgentChange) -> AgentItem:
    """Make an agent, or change one."""
    wanted, now = _validate_agent_id(runtime, change.id), runtime.now()
    _check_change(runtime)
    made = None if change.settings is None else to_native(change.settings)
    tenant_only(made or ())
    if runtime.bounds is not None:
        refuse_operators(made or ())
    _validate_texts(change, runtime.policy.limits.text_chars)
    await runtime.ledger.ensure_room()

    async def work(tx: Tx) -> AgentItem:
        known = await tx.agents.get(runtime.tenant_id, wanted)
        row = _apply_change(known or AgentRow(wanted, now, now), change, now)
        await tx.agents.put(runtime.tenant_id, row)
        if made is not None:
            await _replace_settings(tx, runtime.tenant_id, wanted, made, now)
        return await _describe_agent(tx, runtime, row)

    saved = await runtime.ledger.write(work)
    runtime.tunings.invalidate(runtime.tenant_id)
    return saved


async def delete_agent(runtime: Runtime, agent_id: Any) -> AgentDeletion:
    """Remove an agent with its memories, vectors, signals, receipts and settings.

    Who the people are it talked to, and how they want to be served, was only learned through it: that stays theirs.
    """
    wanted, now = _validate_agent_id(runtime, agent_id), runtime.now()
    _check_change(runtime)
    scope = Scope(runtime.tenant_id, agent_id=wanted)
    left = await leave_to_users(runtime, wanted, partial(_of_the_user, now=now, rules=runtime.language.identity))
    deleted = (await delete_all(runtime, {"agent_id": wanted}, None))["deleted"]
    deleted -= left if runtime.dry_run else 0  # nothing was passed, so it was counted

    async def work(tx: Tx) -> bool:
        await tx.preferences.drop(runtime.tenant_id, scope_key("agent", wanted), None, now)
        await tx.receipts.forget(scope)
        return await tx.agents.remove(runtime.tenant_id, wanted)

    known = await runtime.ledger.write(work)
    runtime.tunings.invalidate(runtime.tenant_id)
    if not known and not deleted:
        raise NotFoundError(f"no agent {wanted}", hint=_NO_HINT)
    return {"id": wanted, "deleted": deleted}


async def _of_the_user(tx: Tx, owner: Scope, *, now: Instant, rules: IdentityRules) -> frozenset[str]:
    """Return the facts of an agent about a user that say who they are, or how they want to be served.

    What a text about the user happens to tell besides makes no difference: it depends on when that was written.
    """
    known = await tx.memories.find(
        where_visible(owner, now, layers=(Layer.FACT,), extra=where_link_direct()), limit=_FACTS
    )
    orders = await tx.memories.find(where_visible(owner, now, layers=(Layer.FACT,), extra=STANDING), limit=_MOST)
    return frozenset(
        found.record.id for found in (*(one for one in known if is_of_identity(one.record, rules)), *orders)
    )


async def register_agents(runtime: Runtime, agent_ids: Iterable[Any]) -> None:
    """Register agents that were named for the first time; what was stored stays stored when that fails."""
    for agent_id in agent_ids:
        try:
            await _register_agent(runtime, agent_id)
        except MemstoneError as error:
            log.info("an agent could not be registered: %s", error.code)


async def _register_agent(runtime: Runtime, agent_id: Any) -> None:
    """Register an agent; nothing is asked about one that is known to have its row."""
    who = (runtime.tenant_id, runtime.scope({"agent_id": agent_id}).agent_id)
    if not who[1] or who in runtime.tunings.agents:
        return
    now = runtime.now()
    if await runtime.ledger.peek(lambda tx: tx.agents.get(*who)) is None:
        await runtime.ledger.write(lambda tx: tx.agents.meet(*who, now))
    runtime.tunings.agents.add(who)


async def _replace_settings(tx: Tx, tenant_id: str, agent_id: str, made: Mapping[str, Any], now: Instant) -> None:
    key = scope_key("agent", agent_id)
    before = (await tx.preferences.of(tenant_id, [key])).get(key, {})
    remaining = {
        PAUSED,
        *operator_names(before),
    }  # neither is taken away by not being named: see resume and unset_settings
    gone = [name for name in before if name not in made and name not in remaining]
    if gone:
        await tx.preferences.drop(tenant_id, key, gone, now)
    await tx.preferences.put(tenant_id, key, {name: json.dumps(value) for name, value in made.items()}, now)


def _apply_change(known: AgentRow, change: AgentChange, now: Instant) -> AgentRow:
    def pick_value(name: str) -> Any:
        value = getattr(change, name)
        return getattr(known, name) if value is None else value

    model, prompt = pick_value("model") or None, pick_value("system_prompt") or None
    return AgentRow(known.id, known.created_at, now, pick_value("name"), model, prompt)


def _validate_texts(change: AgentChange, most: int) -> None:
    for name, limit in (("name", _NAME_CHARS), ("model", _NAME_CHARS), ("system_prompt", most)):
        value = getattr(change, name)
        if value not in (None, ""):
            checked_text(value, name, limit)


def _validate_agent_id(runtime: Runtime, agent_id: Any) -> str:
    wanted = clean_id(agent_id, "agent_id")
    if not wanted:
        raise InvalidInput("agent_id is missing")
    _check_reach(runtime, wanted)
    return wanted


def _check_reach(runtime: Runtime, agent_id: str) -> None:
    """Raise ``Forbidden`` if the caller has access to a part of the tenant only.

    An agent belongs to the whole tenant; an agent's own key may use it.
    """
    bounds = runtime.bounds
    if bounds is None or bounds.is_everyone or (agent_id and bounds.agent_id == agent_id):
        return
    raise Forbidden(f"this key has no access to {f'agent {agent_id!r}' if agent_id else 'every agent'}")


def _check_change(runtime: Runtime) -> None:
    """Raise ``Forbidden`` for whoever has an agent to themselves but not the people it talks to: they share it."""
    if runtime.bounds is not None and runtime.bounds.users is Users.POOLS:
        raise Forbidden("this key cannot change agents", hint="use a key that can assert users, or an admin key")


async def _describe_agent(tx: Tx, runtime: Runtime, row: AgentRow) -> AgentItem:
    key = scope_key("agent", row.id)
    stored = decode_values((await tx.preferences.of(runtime.tenant_id, [key])).get(key, {}))
    paused, counts = stored.pop(PAUSED, None), await _count_memories(tx, runtime, row.id)
    return {
        "id": row.id,
        "name": row.name,
        "model": row.model,
        "system_prompt": row.system_prompt,
        "settings": {**stored, **_read_switches(stored)},
        "paused": paused is not None,
        "memory_entry_count": sum(counts.values()) - counts[Layer.TURN],
        "memory_counts": counts,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
    }


async def _count_memories(tx: Tx, runtime: Runtime, agent_id: str) -> dict[str, int]:
    """Return how many memories of each layer an agent has now, of all that the caller reaches."""
    scope, now = Scope(runtime.tenant_id, agent_id=agent_id), runtime.now()
    counts = {str(layer): await tx.memories.count(where_visible(scope, now, layers=(layer,))) for layer in Layer}
    return {layer: sum(kinds.values()) for layer, kinds in counts.items()}


def _read_switches(stored: Mapping[str, Any]) -> dict[str, bool]:
    """Return the two switches of an agent under the names its host knows them by; off where nothing is set."""
    return {name: one.name in stored and one.of(stored[one.name]) for name, one in AGENT.items()}
