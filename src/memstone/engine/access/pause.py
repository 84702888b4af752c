"""``pause``, ``resume``: no memory for a user, an agent or a session, for a while or until told otherwise.

Whoever names several means all of them together: a user in one session, say. While it is so nothing they say is stored
and nothing is shown to a model. Who searches by hand still finds what is there. The switches ``policy.enabled``,
``policy.learns`` and ``policy.shows`` are settings; these are moments.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from memstone.engine.parts import Parts
from memstone.engine.scoping import scope_or_everybody
from memstone.engine.tuning import PAUSED, decoded
from memstone.errors import InvalidInput
from memstone.model.instant import When, parse_when

_MOST: Final = 1_000


async def pause(parts: Parts, given: Mapping[str, Any], until: When | None) -> dict[str, Any]:
    """Pause those that are named, where they are together."""
    from memstone.core.settings.lenient import pause_key  # every write loads this module, few of them need that one

    key, now = pause_key(parts.scope(given).required()), parts.now()
    end = "" if until is None else parse_when(until, "until")
    if end and end <= now:
        raise InvalidInput(f"until is past: {until!r}", hint="leave it out to pause until resume")
    await parts.ledger.write(lambda tx: tx.preferences.put(parts.tenant_id, key, {PAUSED: json.dumps(end)}, now))
    parts.tunings.changed(parts.tenant_id)
    return {"paused": {**_named(key), "until": end or None}}


async def resume(parts: Parts, given: Mapping[str, Any]) -> dict[str, Any]:
    """End a pause of exactly those that are named."""
    from memstone.core.settings.lenient import pause_key

    key, now = pause_key(parts.scope(given).required()), parts.now()
    ended = await parts.ledger.write(lambda tx: tx.preferences.drop(parts.tenant_id, key, [PAUSED], now))
    parts.tunings.changed(parts.tenant_id)
    return {"resumed": _named(key) if ended else None}


async def paused(parts: Parts, given: Mapping[str, Any], *, everybody: bool) -> dict[str, Any]:
    """The pauses that hold for those that are named, or all there are when nobody is; and until when."""
    from memstone.core.settings.lenient import pause_keys

    scope, now = scope_or_everybody(parts, given, everybody=everybody), parts.now()
    if scope.is_open:
        found = await parts.ledger.peek(lambda tx: tx.preferences.named(parts.tenant_id, PAUSED, _MOST))
    else:
        keys = pause_keys(scope)
        stored = await parts.ledger.peek(lambda tx: tx.preferences.of(parts.tenant_id, keys))
        found = [(key, stored[key][PAUSED]) for key in keys if PAUSED in stored.get(key, {})]
    ends = [(key, str(decoded({PAUSED: value}).get(PAUSED) or "")) for key, value in found]
    return {"paused": [{**_named(key), "until": end or None} for key, end in ends if not end or end > now]}


def why_idle(parts: Parts) -> tuple[str, str] | None:
    """Why nothing is stored and nothing shown for whom these parts are tuned: a status and words; None when it is."""
    if not parts.policy.enabled:
        return "disabled", "memory is switched off here"
    reason = why_paused(parts)
    return (PAUSED, reason) if reason else None


def why_paused(parts: Parts) -> str:
    """Return which pause holds for whom these parts are tuned, in words; '' when none does."""
    paused = parts.policy.paused
    now = parts.now() if paused else ""
    holds = [(kind, until) for kind, until in paused if not until or until > now]
    if not holds:
        return ""
    kinds, until = holds[0]
    who = " and this ".join(kinds.replace("run", "session").split())
    return f"memory is paused for this {who}" + (f" until {until}" if until else "")


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


def _named(key: str) -> dict[str, str]:
    from memstone.core.settings.lenient import pause_ids

    return {f"{kind}_id": name for kind, name in pause_ids(key).items()}
