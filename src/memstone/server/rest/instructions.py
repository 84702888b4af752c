"""Instructions and settings for a use case, as a suggestion."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from memstone.server.access import AuthenticatedRoute, Writer
from memstone.server.schemas.accounts import UseCaseBody
from memstone.server.schemas.base import PROBLEMS, answer_form

router = APIRouter(prefix="/v1/instructions", tags=["settings"], responses=PROBLEMS, route_class=AuthenticatedRoute)


@router.post("", response_model=answer_form("InstructionSuggestion"))
async def suggest_instructions(caller: Writer, body: UseCaseBody) -> Any:
    """Suggest settings for a use case: instructions, what to keep and to leave out, categories.

    If a language model is configured, it is asked; otherwise rules answer. Nothing is changed, but a model costs money,
    so this needs more than the permission to read.
    """
    return await caller.memory.settings.suggest_instructions(body.use_case)
