"""All pages of the console. A new family of pages is one line here."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from memstone.errors import MemstoneError, NotFoundError
from memstone.model.access import Verb
from memstone.server.console import (
    accounts,
    activity,
    assets,
    connections,
    data,
    health,
    memories,
    memory,
    overview,
    people,
    playground,
    profile,
    reference,
    review,
    settings,
    sign_in,
    work,
)
from memstone.server.console.visit import PAGE_HEADERS, Console, NavItem, PageRoute, Pages, Toast, Visit, error_page

if TYPE_CHECKING:
    from memstone.server.state import ServiceState

shared = Pages()

FAMILIES: Final = (
    shared,
    sign_in.pages,
    overview.pages,
    memories.pages,
    memory.pages,
    profile.pages,
    playground.pages,
    people.pages,
    activity.pages,
    review.pages,
    settings.pages,
    connections.pages,
    accounts.pages,
    data.pages,
    work.pages,
)

NAVIGATION: Final = (
    NavItem("Overview", "/", "overview"),
    NavItem("Memories", "/console/memories", "memories"),
    NavItem("Profile", "/console/profile", "profile"),
    NavItem("Playground", "/console/playground", "playground", verb=Verb.WRITE),
    NavItem("People", "/console/people", "people"),
    NavItem("Activity", "/console/activity", "activity"),
    NavItem("Review", "/console/review", "review", verb=Verb.ADMIN),
    NavItem("Settings", "/console/settings", "settings"),
)
"""What the navigation offers, in order; a page without an entry is reached from another."""


@shared.act("/console/undo")
async def undo_act(visit: Visit) -> Response:
    """Take back what a message offers to take back, the last change first."""
    name = visit.field("toast")
    toast = visit.console.toasts.get(visit.caller.key.id, name)
    if toast is None or not toast.can_undo:
        raise NotFoundError(
            "this can no longer be undone here", hint="open the memory, and undo the change in its history"
        )
    for event in reversed(toast.events):
        await visit.memory.undo(event)
    if toast.job_id:
        await visit.memory.undo(job_id=toast.job_id)
    visit.console.toasts.remove(visit.caller.key.id, name)
    return visit.leave("/", Toast("Undone"))


@shared.page("/console", Verb.READ)
async def show_start(_: Visit) -> Response:
    """Lead to the first page, from the address that people guess."""
    return RedirectResponse("/", HTTPStatus.SEE_OTHER, headers=PAGE_HEADERS)


async def _send_asset(request: Request) -> Response:
    try:
        return await assets.send_asset(request)
    except MemstoneError as error:
        return error_page(request, error)


@shared.page("/console/{rest:path}", Verb.READ)
async def show_missing(_: Visit, rest: str) -> Response:
    """Say that there is no such page."""
    raise NotFoundError(f"there is no page /console/{rest[:100]}", hint="use the navigation to find what you want")


def declared_pages() -> list[PageRoute]:
    """Return every page and act, with what each takes."""
    return [one for family in FAMILIES for one in family.declared]


def console_routes() -> list[BaseRoute]:
    """Return the routes of the console; the one for what is missing comes last."""
    asset = Route(f"{assets.PREFIX}/{{digest}}/{{name:path}}", _send_asset, methods=["GET"], name="console")
    routes = [route for family in FAMILIES for route in family.routes]
    ordered = sorted(routes, key=lambda route: route.path == "/console/{rest:path}")
    return [asset, *sign_in.ROUTES, *health.ROUTES, *reference.ROUTES, *ordered]


def install_console(app: FastAPI, state: ServiceState) -> None:
    """Give an application its console."""
    app.state.console = Console(state, NAVIGATION)
    app.router.routes.extend(console_routes())
