"""``pause``, ``resume``: no memory for a user, an agent or a session, for a while or until told otherwise.

While it is so nothing they say is stored and nothing is shown to a model. Who searches by hand still finds what is
there. The switches ``policy.enabled``, ``policy.learns`` and ``policy.shows`` are settings; these are moments.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from retain.core.settings.resolve import scope_key, whose
from retain.engine.parts import Parts
from retain.engine.tuning import PAUSED, decoded
from retain.errors import InvalidInput
from retain.model.instant import When, parse_when
from retain.ports.ledger import Tx

_KINDS: Final = ("user", "agent", "run")
_MOST: Final = 1_000


async def pause(parts: Parts, given: Mapping[str, Any], until: When | None) -> dict[str, Any]:
    """Pause each of those that are named."""
    keys = _keys(parts, given)
    now = parts.now()
    end = "" if until is None else parse_when(until, "until")
    if end and end <= now:
        raise InvalidInput(f"until is past: {until!r}", hint="leave it out to pause until resume")

    async def work(tx: Tx) -> None:
        for key in keys:
            await tx.preferences.put(parts.tenant_id, key, {PAUSED: json.dumps(end)}, now)

    await parts.ledger.write(work)
    parts.tunings.changed(parts.tenant_id)
    return {"paused": [_named(key) for key in keys], "until": end or None}


async def resume(parts: Parts, given: Mapping[str, Any]) -> dict[str, Any]:
    """End the pause of each of those that are named."""
    keys = _keys(parts, given)
    now = parts.now()

    async def work(tx: Tx) -> list[str]:
        return [key for key in keys if await tx.preferences.drop(parts.tenant_id, key, [PAUSED], now)]

    ended = await parts.ledger.write(work)
    parts.tunings.changed(parts.tenant_id)
    return {"resumed": [_named(key) for key in ended]}


async def paused(parts: Parts, given: Mapping[str, Any]) -> dict[str, Any]:
    """Who is paused among those that are named, or at all when nobody is; and until when."""
    scope, now = parts.scope(given), parts.now()
    if scope.is_open:
        found = await parts.ledger.peek(lambda tx: tx.preferences.named(parts.tenant_id, PAUSED, _MOST))
    else:
        keys = _keys(parts, given)
        stored = await parts.ledger.peek(lambda tx: tx.preferences.of(parts.tenant_id, keys))
        found = [(key, stored[key][PAUSED]) for key in keys if PAUSED in stored.get(key, {})]
    ends = [(key, str(decoded({PAUSED: value}).get(PAUSED) or "")) for key, value in found]
    return {"paused": [{**_named(key), "until": end or None} for key, end in ends if not end or end > now]}


def why_idle(parts: Parts) -> tuple[str, str] | None:
    """Why nothing is stored and nothing shown for whom these parts are tuned: a status and words; None when it is."""
    policy = parts.policy
    if not policy.enabled:
        return "disabled", "memory is switched off here"
    now = parts.now() if policy.paused else ""
    holds = [(kind, until) for kind, until in policy.paused if not until or until > now]
    if not holds:
        return None
    kind, until = holds[0]
    return PAUSED, f"memory is paused for this {_WORDS[kind]}" + (f" until {until}" if until else "")


_WORDS: Final = {"user": "user", "agent": "agent", "run": "session"}
_HINTS: Final = {PAUSED: "resume() ends it", "disabled": "set policy.enabled to store again"}


def not_stored(parts: Parts) -> dict[str, Any] | None:
    """The answer to whoever wants to store something, where nothing is stored; None where it is."""
    idle = why_idle(parts)
    if idle is None:
        return None
    status, reason = idle
    return {"results": [], "status": status, "reason": reason, "hint": _HINTS[status]}


def not_shown(parts: Parts) -> str:
    """Why a model is shown nothing; '' when it is."""
    idle = why_idle(parts)
    return idle[1] if idle is not None else "" if parts.policy.shows else "memory is not shown here"


def _keys(parts: Parts, given: Mapping[str, Any]) -> list[str]:
    scope = parts.scope(given).required()
    named = ((kind, getattr(scope, f"{kind}_id")) for kind in _KINDS)
    return [scope_key(kind, name) for kind, name in named if name]


def _named(key: str) -> dict[str, str]:
    return {f"{whose(key)}_id": key.partition(":")[2]}
