"""``/api/memory``: memories in the form that gateway clients know."""

from __future__ import annotations

import json
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse

from memstone.engine.access.admission import resolve_owner
from memstone.engine.add_request import AddRequest
from memstone.engine.memory_page import PageRequest, memory_page
from memstone.errors import Conflict, InvalidInput, NotFoundError
from memstone.literals import CallerKind
from memstone.model.instant import parse_when
from memstone.server.access import AuthenticatedRoute, Caller, Reader, Writer, resolve_scope
from memstone.server.errors import problem_response
from memstone.server.schemas.api import (
    EntryAddition,
    EntryAnswer,
    EntryBody,
    EntryChange,
    EntryChangeBody,
    EntryNotFound,
    EntryPage,
    SuccessFlag,
    entry_from_memory,
)
from memstone.server.schemas.base import PROBLEMS

if TYPE_CHECKING:
    from memstone.results import MemoryPage

router = APIRouter(prefix="/api/memory", tags=["entries"], responses=PROBLEMS, route_class=AuthenticatedRoute)
_ABSENT: dict[int | str, dict[str, Any]] = {
    404: {"model": EntryNotFound, "description": "no such entry", "content": {"application/problem+json": {}}}
}

_CHANGED: Final = {"content": "text", "type": "kind"}


@router.get("", response_model=EntryPage)
async def list_entries(
    caller: Reader,
    api_key_id: Annotated[str | None, Query(alias="apiKeyId", max_length=256)] = None,
    session_id: Annotated[str | None, Query(alias="sessionId", max_length=256)] = None,
    type: Annotated[CallerKind | None, Query()] = None,  # noqa: A002 - the name on the wire
    q: Annotated[str | None, Query(max_length=1_000)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    page: Annotated[int, Query(ge=1)] = 1,
    offset: Annotated[int | None, Query(ge=0)] = None,
) -> Any:
    """List entries, newest first, with statistics about all that match; for administrators everybody's.

    ``offset`` takes precedence over ``page``.
    """
    reach = resolve_scope(caller, {"user_id": api_key_id, "run_id": session_id})
    owner = await caller.engine.run(resolve_owner, api_key_id, caller.key.id) if api_key_id else None
    request = PageRequest(
        {"user_id": owner, "run_id": session_id or None},
        type,
        q if q and q.strip() else None,
        limit,
        page,
        offset,
        everybody=reach["everybody"],
    )
    found = await caller.engine.run(memory_page, request)
    place = {name: found[name] for name in ("total", "page", "limit")}
    data = [entry_from_memory(one) for one in found["results"]]
    return {"data": data, **place, "total_pages": found["pages"], "stats": _page_stats(found)}


@router.post("", response_model=EntryAddition)
async def create_entry(caller: Writer, new: EntryBody) -> Any:
    """Store something under a key; the same key of the same owner and session again is the same entry.

    This also works if memory is switched off, which only applies to chats, but not while it is paused for the owner.
    """
    from memstone.engine.add_note import add_note

    wanted = AddRequest(
        new.content,
        user_id=await owner_of(caller, new.api_key_id, new.user_id),
        run_id=new.session_id or None,
        key=new.key,
        kind=new.type,
        metadata=new.metadata,
        expires_at=_parse_expiry(caller, new.expires_at),
    )
    answer = await caller.engine.run(add_note, wanted)
    results = answer["results"]
    if not results or not results[0]["id"]:
        raise Conflict(f"nothing was stored: {answer['status']}", hint=answer.get("hint", ""))
    stored = await caller.memory.get(results[0]["id"])
    if stored is None:
        raise Conflict("an entry with this text exists but is not active", hint="enable or approve it first")
    return {"id": entry_from_memory(stored), "memory_id": stored["id"]}


@router.get("/{memory_id}", response_model=EntryAnswer, responses=_ABSENT)
async def get_entry(request: Request, caller: Reader, memory_id: str) -> Any:
    """Return one entry."""
    found = await caller.memory.get(memory_id)
    return entry_not_found(request) if found is None else {"memory": entry_from_memory(found)}


@router.put("/{memory_id}", response_model=EntryChange, responses=_ABSENT)
async def update_entry(request: Request, caller: Writer, memory_id: str, changes: EntryChangeBody) -> Any:
    """Change the text, key, type, metadata or expiry of an entry; the previous version stays in the history."""
    values = changes.model_dump(exclude_unset=True)
    if not values:
        raise InvalidInput("nothing to change", hint="give content, key, type, metadata or expiresAt")
    named = {_CHANGED.get(name, name): value for name, value in values.items()}
    if "expires_at" in named:
        named["expires_at"] = _parse_expiry(caller, named["expires_at"])
    try:
        changed = await caller.memory.update(memory_id, **named)
    except NotFoundError:
        return entry_not_found(request)
    return {"memory": entry_from_memory(changed)}


@router.delete("/{memory_id}", response_model=SuccessFlag, responses=_ABSENT)
async def delete_entry(
    request: Request, caller: Writer, memory_id: str, *, dry_run: Annotated[bool, Query(alias="dryRun")] = False
) -> Any:
    """Delete an entry; its history stays."""
    try:
        await caller.memory.delete(memory_id, dry_run=dry_run)
    except NotFoundError:
        return entry_not_found(request)
    return {"success": True, "dryRun": True} if dry_run else {"success": True}


def _parse_expiry(caller: Caller, when: date | None) -> str | None:
    """Return when an entry expires; raise if that is past: it could not be shown, nor be found again."""
    if when is None:
        return None
    expires = parse_when(when, "expiresAt")
    if expires <= caller.engine.runtime.now():
        raise InvalidInput(f"expiresAt is in the past: {expires}", hint="give a later time, or leave it out")
    return expires


async def owner_of(caller: Caller, api_key_id: str | None, user_id: str | None) -> str:
    """Return whose entries a body is about, as far as the key may say so."""
    if user_id and api_key_id and user_id != api_key_id:
        raise InvalidInput("apiKeyId and userId name different owners", hint="give one of them")
    if user_id:
        return user_id
    owner: str = await caller.engine.run(resolve_owner, api_key_id, caller.key.id)
    return owner


def entry_not_found(request: Request) -> JSONResponse:
    """Return what clients of this interface expect for an entry that is not there, and what every problem says."""
    answer = problem_response(request, 404, "Not found", code="not_found")
    body = {**json.loads(bytes(answer.body)), "error": "Not found"}
    return JSONResponse(body, status_code=404, media_type=answer.media_type)


def _page_stats(found: MemoryPage) -> dict[str, Any]:
    stats = found["stats"]
    named = {"by_type": stats["by_kind"], "tokens_used": stats["tokens"], "cache_stats": stats["cache"]}
    return {"total": stats["total"], "hit_rate": stats["hit_rate"], **named}
