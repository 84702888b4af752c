"""Which models can be asked for here: those that upstreams list, as far as a request for them would reach them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, Final

import httpx2

from memstone.errors import BackendError, BackendUnavailable, InvalidInput
from memstone.sections_service import UpstreamSettings
from memstone.server.gateway.upstream import Target, Upstreams, origin, without_key
from memstone.server.observe import log

_OK: Final = 200
_SECONDS: Final = 5.0


async def listed(upstreams: Upstreams, headers: Mapping[str, str]) -> list[dict[str, Any]]:
    """The models of every upstream that answers soon, each once and under the name by which it is asked for here.

    A key that a caller brought goes to the first upstream, as it does with a chat, and to nobody else. That none of
    them answers is an error: it does not mean that there are no models.
    """
    everyone = upstreams.all
    theirs = [headers if origin(one) == origin(everyone[0]) else without_key(headers) for one in everyone]
    answers = await asyncio.gather(*(_asked(upstreams, *each) for each in zip(everyone, theirs, strict=True)))
    if everyone and all(items is None for items in answers):
        names = ", ".join(one.name for one in everyone)
        raise BackendUnavailable(f"{names} did not list any models", kind="upstream", name=names)
    found = dict[str, dict[str, Any]]()
    for one, items in zip(everyone, answers, strict=True):
        for item in items or []:
            name = _name(upstreams, one, item.get("id"))
            if name:
                found.setdefault(name, {**item, "id": name})
    return list(found.values())


async def _asked(
    upstreams: Upstreams, one: UpstreamSettings, headers: Mapping[str, str]
) -> list[dict[str, Any]] | None:
    """What an upstream lists, asked once and for a few seconds; None when it is silent or talks nonsense."""
    once = Target(one.model_copy(update={"retries": 0}), "")
    try:
        async with (
            asyncio.timeout(min(one.timeout, _SECONDS)),
            upstreams.asked([once], "/models", lambda _: None, headers) as response,
        ):
            if response.status_code == _OK:
                return _items(await response.aread())
            log.warning("gateway.models.missing", upstream=one.name, status=response.status_code)
            return None
    except (BackendError, httpx2.HTTPError, TimeoutError, ValueError, RecursionError) as error:
        log.warning("gateway.models.missing", upstream=one.name, kind=type(error).__name__)
        return None


def _items(body: bytes) -> list[dict[str, Any]]:
    listing = json.loads(body)
    json.dumps(listing, ensure_ascii=False, allow_nan=False).encode()  # what cannot be written again is refused
    data = listing.get("data") if isinstance(listing, dict) else None
    return [item for item in data if isinstance(item, dict)] if isinstance(data, list) else []


def _name(upstreams: Upstreams, one: UpstreamSettings, listed_as: Any) -> str:
    """By which name a model is asked for here; '' when a request for it would go elsewhere."""
    if not isinstance(listed_as, str):
        return ""
    names = [beginning + listed_as for beginning in one.models] if one.strip else [listed_as]
    return next((name for name in names if _reaches(upstreams, one, name)), "")


def _reaches(upstreams: Upstreams, one: UpstreamSettings, name: str) -> bool:
    try:
        return any(target.upstream is one for target in upstreams.targets(name))
    except InvalidInput:
        return False
