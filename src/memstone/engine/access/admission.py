"""``pause`` and ``resume``: whether memory is on for a user, an agent or a session.

Whoever names several means all of them together: a user in one session, say. While it is so nothing they say is stored
and nothing is shown to a model. Who searches by hand still finds what is there. The switches ``policy.enabled``,
``policy.learns`` and ``policy.shows`` are settings; these are moments.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from memstone.core.checks.filters import where_in_scope
from memstone.engine.access.quotas import Ahead, admit_messages, is_unlimited
from memstone.engine.policy import PAUSED, ScopedRequest, apply_scope_policy, decode_values, scope_named
from memstone.engine.request_scope import scope_or_everybody
from memstone.engine.runtime import Runtime
from memstone.engine.store.turns import Turn
from memstone.errors import InvalidInput
from memstone.model.ids import POOLS, clean_id, pool_id
from memstone.model.instant import When, parse_when
from memstone.model.scope import Scope

if TYPE_CHECKING:
    from memstone.literals import IdleStatus
    from memstone.results import AddResult, IdleReason, PauseList, PauseResult, PauseScope, ResumeResult

# --- ``pause``, ``resume`` --------------------------------------------------------------------------------------------


_MOST: Final = 1_000


async def pause_scope(runtime: Runtime, values: Mapping[str, Any], until: When | None) -> PauseResult:
    """Pause those that are named, where they are together."""
    from memstone.core.settings.lenient import pause_key  # every write loads this module, few of them need that one

    key, now = pause_key(runtime.scope(values).require_owner()), runtime.now()
    end = "" if until is None else parse_when(until, "until")
    if end and end <= now:
        raise InvalidInput(f"until is in the past: {until!r}", hint="leave it out to pause until you resume")
    await runtime.ledger.write(lambda tx: tx.preferences.put(runtime.tenant_id, key, {PAUSED: json.dumps(end)}, now))
    runtime.tunings.invalidate(runtime.tenant_id)
    return {"paused": {**_format_pause_ids(key), "until": end or None}}


async def resume_scope(runtime: Runtime, values: Mapping[str, Any]) -> ResumeResult:
    """End a pause of exactly those that are named."""
    from memstone.core.settings.lenient import pause_key

    key, now = pause_key(runtime.scope(values).require_owner()), runtime.now()
    ended = await runtime.ledger.write(lambda tx: tx.preferences.drop(runtime.tenant_id, key, [PAUSED], now))
    runtime.tunings.invalidate(runtime.tenant_id)
    return {"resumed": _format_pause_ids(key) if ended else None}


async def list_pauses(runtime: Runtime, values: Mapping[str, Any], *, everybody: bool) -> PauseList:
    """Return the pauses that hold for those that are named, or all there are when nobody is; and until when."""
    from memstone.core.settings.lenient import pause_keys

    scope, now = scope_or_everybody(runtime, values, everybody=everybody), runtime.now()
    if scope.is_open:
        found = await runtime.ledger.peek(lambda tx: tx.preferences.list_by_name(runtime.tenant_id, PAUSED, _MOST))
    else:
        keys = pause_keys(scope)
        stored = await runtime.ledger.peek(lambda tx: tx.preferences.of(runtime.tenant_id, keys))
        found = [(key, stored[key][PAUSED]) for key in keys if PAUSED in stored.get(key, {})]
    ends = [(key, str(decode_values({PAUSED: value}).get(PAUSED) or "")) for key, value in found]
    return {"paused": [{**_format_pause_ids(key), "until": end or None} for key, end in ends if not end or end > now]}


def why_idle(runtime: Runtime) -> tuple[IdleStatus, str] | None:
    """Return why nothing is stored or shown here, as a status and words; else None."""
    if not runtime.policy.enabled:
        return "disabled", "memory is switched off"
    reason = why_paused(runtime)
    return ("paused", reason) if reason else None


def why_paused(runtime: Runtime) -> str:
    """Return which pause holds for whom this runtime is tuned, in words; '' when none does."""
    paused = runtime.policy.paused
    now = runtime.now() if paused else ""
    holds = [(kind, until) for kind, until in paused if not until or until > now]
    if not holds:
        return ""
    kinds, until = holds[0]
    who = " and this ".join(kinds.replace("run", "session").split())
    return f"memory is paused for this {who}" + (f" until {until}" if until else "")


_HINTS: Final = {"paused": "resume() ends it", "disabled": "set policy.enabled to true to store again"}


def not_stored(runtime: Runtime) -> IdleReason | None:
    """Return why nothing is stored, and what to do about it; None where it is."""
    idle = why_idle(runtime)
    if idle is None:
        return None
    status, reason = idle
    return {"status": status, "reason": reason, "hint": _HINTS[status]}


def not_shown(runtime: Runtime) -> str:
    """Return why a model is shown nothing; '' when it is."""
    idle = why_idle(runtime)
    return idle[1] if idle is not None else "" if runtime.policy.shows else "showing memory is switched off"


def _format_pause_ids(key: str) -> PauseScope:
    from memstone.core.settings.lenient import pause_ids

    return cast("PauseScope", {f"{kind}_id": name for kind, name in pause_ids(key).items()})


# --- before anything is stored ----------------------------------------------------------------------------------------


class AddCall(ScopedRequest, Protocol):
    """One call of ``add``."""

    @property
    def messages(self) -> Any: ...  # noqa: D102 - the class says it

    @property
    def infer(self) -> bool: ...  # noqa: D102 - the class says it

    @property
    def project_id(self) -> Any: ...  # noqa: D102 - the class says it


async def check_admission(runtime: Runtime, request: AddCall, ahead: Ahead | None = None) -> AddResult | None:
    """Return the answer to a request that is not carried out, or None if it may be.

    Raise ``QuotaExceeded`` or ``StorageFull`` if there is no room. A project still learns where one's own memory is
    switched off; a pause is a pause for everybody. ``ahead`` is what a batch has admitted before this request and not
    stored yet.
    """
    idle = not_stored(runtime)
    if idle is not None and (idle["status"] == "paused" or request.project_id is None):
        return {"results": [], **idle}
    if is_unlimited(runtime):
        await runtime.ledger.ensure_room()
    else:
        who = scope_named(runtime, request)
        await admit_messages(runtime, who, request.messages, infer=request.infer, ahead=ahead)
    return None


async def drop_paused_turns(runtime: Runtime, turns: Sequence[Turn]) -> tuple[list[Turn], list[str]]:
    """Return the turns of a transcript without those of sessions that are paused, and what to say about these."""
    scopes = {turn.draft.scope: "" for turn in turns}
    for scope in scopes:
        idle = not_stored(await apply_scope_policy(runtime, scope))
        scopes[scope] = "" if idle is None else f"turns of {scope.run_id} were not stored: {idle['reason']}"
    remaining = [turn for turn in turns if not scopes[turn.draft.scope]]
    return remaining, [why for why in scopes.values() if why]


# --- ``owner`` --------------------------------------------------------------------------------------------------------


async def resolve_owner(runtime: Runtime, named: str | None, own_key: str) -> str:
    """Return the user whose memories are meant, in the form in which the other verbs take it.

    A key stands for the user it is bound to, or else for a pool of its own; nobody named is one's own key. What is not
    the id of a key of this tenant is the id of a user. Which other keys there are is told only to who reaches the whole
    tenant: to everybody else the id of another key is a name like any other. Raise ``Forbidden`` for whoever lies
    outside the bounds.
    """
    text = clean_id(named or None, "apiKeyId")
    bounds = runtime.bounds
    if text in ("", own_key, POOLS + own_key):
        return pool_id(own_key) if bounds is None else bounds.user_id or pool_id(own_key)
    if bounds is not None:
        return runtime.scope({"user_id": text}).user_id
    wanted = text.removeprefix(POOLS)
    found = await runtime.ledger.peek(lambda tx: tx.api_keys.find(wanted))
    if found is not None and found.tenant_id == runtime.tenant_id:
        return found.subjects.user_id or pool_id(found.id)
    return POOLS + wanted if text.startswith(POOLS) or await _is_pool(runtime, wanted) else text


async def _is_pool(runtime: Runtime, key: str) -> bool:
    """Return whether memories were brought over from a key that is not one of this service."""
    pool = where_in_scope(Scope(runtime.tenant_id, POOLS + key))
    return bool(await runtime.ledger.peek(lambda tx: tx.memories.seqs(pool)))


def key_of(user_id: str | None) -> str:
    """Return what an owner is called by those callers: the key's id for its pool, the user's id for a user."""
    key_id = (user_id or "").removeprefix(POOLS)
    return (user_id or "") if ":" in key_id else key_id
