"""The first page: how much is known, what happened lately, whether everything works, and how to connect."""

from __future__ import annotations

from starlette.responses import Response

from memstone.server.console.visit import Pages, Visit

pages = Pages()


@pages.page("/")
async def show_overview(visit: Visit) -> Response:
    """Show how much is known."""
    return visit.render("overview.html", title="Overview", stats=await visit.memory.admin.dashboard(**visit.scope()))
