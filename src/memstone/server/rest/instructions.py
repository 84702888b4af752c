"""Instructions and settings for a use case, as a suggestion."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from memstone.server.access import Keyed, Writer
from memstone.server.schemas.accounts import UseCaseBody
from memstone.server.schemas.base import PROBLEMS, answer_form

router = APIRouter(prefix="/v1/instructions", tags=["settings"], responses=PROBLEMS, route_class=Keyed)


@router.post("", response_model=answer_form("InstructionSuggestion"))
async def suggest_instructions(caller: Writer, given: UseCaseBody) -> Any:
    """What a team with this use case would set: instructions, what to keep and to leave out, categories.

    A language model is asked, where one is configured, else rules answer. Nothing is changed; but asking costs, which
    takes more than the permission to read.
    """
    return await caller.memory.settings.suggest_instructions(given.use_case)
