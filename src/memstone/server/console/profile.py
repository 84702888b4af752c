"""The profile page, and what a message would recall."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from starlette.responses import Response

from memstone.core.redact import redact_preview
from memstone.engine.browse import find_by_ids
from memstone.engine.preview import count_tokens
from memstone.model.access import Verb
from memstone.server.console.memory import texts_of
from memstone.server.console.visit import NobodyNamed, Pages, Visit

pages = Pages()

_MESSAGE_CHARS: Final = 2_000
_LEFT_OUT: Final = 50


@pages.page("/console/profile")
async def show_profile(visit: Visit) -> Response:
    """Show the profile of a person, and what would be recalled for a message."""
    user = visit.person or visit.query("user")
    if not user:
        raise NobodyNamed("a profile belongs to one person")
    profile = await visit.memory.profile.get(user_id=user)
    message = visit.query("message")[:_MESSAGE_CHARS]
    left_out = profile["left_out"][:_LEFT_OUT]
    texts = await texts_of(visit, [one["id"] for one in left_out])
    return visit.render(
        "profile.html",
        title="Profile",
        user=user,
        profile=profile,
        lines=await _lines_of(visit, profile),
        left_out=[{**one, "text": texts[one["id"]]} for one in left_out if one["id"] in texts],
        message=message,
        preview=await _preview(visit, user, message, profile) if message else None,
        pinned=await _read_choices(visit, profile),
        links=visit.can(Verb.ADMIN),
    )


async def _lines_of(visit: Visit, profile: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the lines of a profile in the order in which a model sees them, with what each costs."""
    show = str if visit.sees_texts else redact_preview
    parts = (("instruction", "instructions"), ("", "facts"), ("said", "turns"))
    lines = [(about, one) for about, part in parts for one in profile[part]]
    costs = await visit.run(count_tokens, [one["memory"] for _, one in lines])
    return [
        {"id": one["id"], "text": show(one["memory"]), "about": one.get("about") or about, "tokens": cost}
        for (about, one), cost in zip(lines, costs, strict=True)
    ]


async def _read_choices(visit: Visit, profile: Mapping[str, Any]) -> dict[str, str]:
    """Return what a person decided about the lines of a profile."""
    ids = [one["id"] for part in ("instructions", "facts", "turns") for one in profile[part]]
    rows = await visit.run(find_by_ids, ids)
    return {name: str(row.item.get("visibility") or "default") for name, row in rows.items()}


async def _preview(visit: Visit, user: str, message: str, profile: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a model would be given for a message: what is always there, what is recalled, and what is not."""
    answer = await visit.memory.profile.preview(message, user_id=user)
    always = {one["id"] for part in ("instructions", "facts", "turns") for one in profile[part]}
    recalled = [memory_id for memory_id in answer["chosen"] if memory_id not in always]
    dropped = [one for one in answer["dropped"] if one["id"] not in always][:_LEFT_OUT]
    texts = await texts_of(visit, [*recalled, *(one["id"] for one in dropped)])
    return {
        **answer,
        "always": sum(memory_id in always for memory_id in answer["chosen"]),
        "recalled": [{"id": memory_id, "text": texts[memory_id]} for memory_id in recalled if memory_id in texts],
        "left": [{**one, "text": texts[one["id"]]} for one in dropped if one["id"] in texts],
    }
