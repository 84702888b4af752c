"""Everything out and in again: an export as a stream of JSON lines, and what puts it back."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any, Final

from fastapi import APIRouter, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import StreamingResponse

from memstone.errors import InvalidInput
from memstone.server.access import Admin, AuthenticatedRoute, Reach, Reader, resolve_scope
from memstone.server.schemas.base import PROBLEMS, answer_form
from memstone.server.strict import read_once

router = APIRouter(prefix="/v1", tags=["export and import"], responses=PROBLEMS, route_class=AuthenticatedRoute)

MEDIA: Final = "application/x-ndjson"
_HEAD: Final = '{"type": "header", "format": "memstone-export", "version": 1}\n'
_CONTENT: Final = {MEDIA: {"schema": {"type": "string", "examples": [_HEAD]}}}
_LINES: Final[dict[int | str, dict[str, Any]]] = {200: {"description": "one JSON object per line", "content": _CONTENT}}
_BODY: Final = {"requestBody": {"required": True, "content": _CONTENT}}


@router.get("/export", responses=_LINES, response_class=StreamingResponse)
async def export_memories(caller: Reader, named: Reach) -> StreamingResponse:
    """Export every version, link and event of a scope; for administrators everybody's."""
    lines = caller.memory.export(**resolve_scope(caller, named.as_dict()))
    first = await anext(lines)  # what is wrong with the request shows here, while there is a status to say so
    headers = {"content-disposition": 'attachment; filename="memstone-export.jsonl"'}
    return StreamingResponse(_export_lines(first, lines), media_type=MEDIA, headers=headers)


async def _export_lines(first: dict[str, Any], lines: AsyncIterator[dict[str, Any]]) -> AsyncIterator[str]:
    yield _format_line(first)
    async for one in lines:
        yield _format_line(one)


def _format_line(one: dict[str, Any]) -> str:
    return json.dumps(one, ensure_ascii=False) + "\n"


@router.post("/import", response_model=answer_form("LoadResult"), openapi_extra=_BODY)
async def load_export(request: Request, caller: Admin) -> Any:
    """Restore an export with ids and history; what already exists is left alone."""
    caller.needs_tenant()
    return await caller.memory.load(_parse_lines(await request.body()))


def _parse_lines(body: bytes) -> Iterator[dict[str, Any]]:
    for at, line in enumerate(body.splitlines(), 1):
        if line.strip():
            try:
                yield read_once(line)
            except RequestValidationError as error:
                raise InvalidInput(
                    f"line {at} has a duplicate name", hint="send an export as it was written"
                ) from error
            except ValueError:
                raise InvalidInput(f"line {at} is not JSON", hint="send an export as it was written") from None
