"""``backends``, ``set_backends``: which embedder, reranker and stores a service uses, and the keys for them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from memstone.core.settings.backends import BACKENDS, QDRANT_KEY, checked_backends, masked, place_of
from memstone.engine.parts import Parts
from memstone.engine.tuning import decoded
from memstone.errors import Forbidden
from memstone.ports.ledger import Tx

PLAIN: Final = "service:backends"
"""The key under which the choices are stored. Nobody's settings are resolved from it."""

SECRETS: Final = "service:secrets"
"""The key under which keys are stored. Only ``connections`` reads what stands there."""


async def backends(parts: Parts) -> dict[str, Any]:
    """Every choice with its value, which of them are stored, and the keys behind their masks."""
    values, secrets = await connections(parts)
    return _shown(values, secrets)


async def set_backends(parts: Parts, given: Mapping[str, Any]) -> dict[str, Any]:
    """Store choices and keys, all or none. A key goes when its place changes, unless a new one comes with it."""
    _whole(parts)
    values, secrets = checked_backends(given)
    now = parts.now()

    async def work(tx: Tx) -> tuple[dict[str, Any], dict[str, str], list[str]]:
        stored, kept = await _stored(tx, parts.tenant_id)
        after = {**stored, **values}
        gone = [name for name in kept if name not in secrets and place_of(name, stored) != place_of(name, after)]
        removed = [*gone, *(name for name, secret in secrets.items() if not secret)]
        put = {name: secret for name, secret in secrets.items() if secret}
        await tx.preferences.put(parts.tenant_id, PLAIN, _written(values), now)
        await tx.preferences.put(parts.tenant_id, SECRETS, _written(put), now)
        await tx.preferences.drop(parts.tenant_id, SECRETS, removed, now)
        return after, {name: one for name, one in {**kept, **put}.items() if name not in removed}, sorted(gone)

    after, kept, cleared = await parts.ledger.write(work)
    parts.tunings.changed(parts.tenant_id)
    return {**_shown(after, kept), "cleared": cleared}


async def connections(parts: Parts) -> tuple[dict[str, Any], dict[str, str]]:
    """What is stored, and the keys themselves: for whoever connects, and for no answer."""
    _whole(parts)
    return await parts.ledger.peek(lambda tx: _stored(tx, parts.tenant_id))


async def _stored(tx: Tx, tenant_id: str) -> tuple[dict[str, Any], dict[str, str]]:
    found = await tx.preferences.of(tenant_id, [PLAIN, SECRETS])
    values = {name: one for name, one in decoded(found.get(PLAIN, {})).items() if name in BACKENDS}
    return values, decoded(found.get(SECRETS, {}))


def _whole(parts: Parts) -> None:
    if parts.bounds is not None:
        raise Forbidden("this key may not choose backends", hint="use one that reaches the whole tenant")


def _written(values: Mapping[str, Any]) -> dict[str, str]:
    return {name: json.dumps(value, ensure_ascii=False) for name, value in values.items()}


def _shown(values: Mapping[str, Any], secrets: Mapping[str, str]) -> dict[str, Any]:
    settings = {name: values.get(name, default) for name, (_, default) in BACKENDS.items()}
    configs = {name: dict(options) for name, options in settings["backendConfigs"].items()}
    for name, secret in secrets.items():
        _, _, backend = name.partition(".")
        if name != QDRANT_KEY and backend in configs:
            configs[backend]["apiKey"] = masked(secret)
    settings["backendConfigs"] = configs
    settings[QDRANT_KEY] = masked(secrets[QDRANT_KEY]) if QDRANT_KEY in secrets else ""
    return {"settings": settings, "stored": sorted(values)}
