"""Before anything is stored: is memory paused or off for whoever speaks, and is there room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from memstone.engine.access.pause import not_stored
from memstone.engine.access.quotas import Ahead, admit_messages, is_unlimited
from memstone.engine.parts import Parts
from memstone.engine.storing.turns import Turn
from memstone.engine.tuning import PAUSED, Request, scope_named, tuned


class AddRequest(Request, Protocol):
    """One call of ``add``."""

    @property
    def messages(self) -> Any: ...  # noqa: D102 - the class says it

    @property
    def infer(self) -> bool: ...  # noqa: D102 - the class says it

    @property
    def project_id(self) -> Any: ...  # noqa: D102 - the class says it


async def turned_away(parts: Parts, request: AddRequest, ahead: Ahead | None = None) -> dict[str, Any] | None:
    """The answer to a request that is not carried out; None lets it in.

    ``QuotaExceeded`` or ``StorageFull`` when there is no room. Where one's own memory is switched off a project still
    learns; a pause is a pause for everybody. ``ahead`` is what a batch has admitted before this request and not stored
    yet.
    """
    answer = not_stored(parts)
    if answer is not None and (answer["status"] == PAUSED or request.project_id is None):
        return answer
    if is_unlimited(parts):
        await parts.ledger.ensure_room()
    else:
        who = scope_named(parts, request)
        await admit_messages(parts, who, request.messages, infer=request.infer, ahead=ahead)
    return None


async def admitted(parts: Parts, turns: Sequence[Turn]) -> tuple[list[Turn], list[str]]:
    """The turns of a transcript without those of sessions that are paused, and what to say about these."""
    scopes = {turn.draft.scope: "" for turn in turns}
    for scope in scopes:
        idle = not_stored(await tuned(parts, scope))
        scopes[scope] = "" if idle is None else f"turns of {scope.run_id} were not stored: {idle['reason']}"
    kept = [turn for turn in turns if not scopes[turn.draft.scope]]
    return kept, [why for why in scopes.values() if why]
