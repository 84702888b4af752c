"""Pages for people and agents: identity, episodes, sessions and graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import JSONResponse, RedirectResponse, Response

from memstone.engine.activity import list_sessions
from memstone.engine.browse import find_mentioned
from memstone.errors import InvalidInput, NotFoundError
from memstone.model.access import Verb
from memstone.model.instant import to_instant
from memstone.server.background_jobs import Progress, works_of
from memstone.server.console.templates import link_to
from memstone.server.console.visit import PAGE_HEADERS, NobodyNamed, Pages, Visit

if TYPE_CHECKING:
    from memstone.results import EntityItem, RelationItem

pages = Pages()

PATH: Final = "/console/people"
PERSON: Final = f"{PATH}/person"
AGENT: Final = f"{PATH}/agent"
VIEWS: Final = ("identity", "timeline", "sessions", "graph", "past")
MOST_NODES: Final = 300
FIRST_NODES: Final = 60
_MOST_EDGES: Final = 1_000
_PAGE: Final = 50
_TURNS: Final = 100


# --- who there is -----------------------------------------------------------------------------------------------------


@pages.page(PATH)
async def show_people(visit: Visit) -> Response:
    """List everybody; who sees one person only is led to them."""
    if wanted := visit.query("user") or visit.person:
        return RedirectResponse(link_to(PERSON, user=wanted), HTTPStatus.SEE_OTHER, headers=PAGE_HEADERS)
    if not visit.sees_everybody:
        raise NobodyNamed("your account sees the memory of one person at a time")
    kind, page = visit.query("kind"), visit.number("page", 1, 1, 10_000)
    offset = _PAGE * (page - 1)
    if kind == "agent":
        listed = await visit.memory.agents.list(limit=_PAGE, offset=offset)
        values: dict[str, Any] = {"agents": listed["agents"], "people": [], "more": offset + _PAGE < listed["total"]}
    else:
        found = (await visit.memory.admin.list_scopes("user", limit=_PAGE + 1, offset=offset))["results"]
        values = {"agents": [], "people": found[:_PAGE], "more": len(found) > _PAGE}
    return visit.render("people.html", title="People", kind="agent" if kind == "agent" else "", page=page, **values)


# --- one person -------------------------------------------------------------------------------------------------------


@pages.page(PERSON)
async def show_person(visit: Visit) -> Response:
    """Show one person: who they are, what happened, what was said, how things are related, and how it was."""
    user = _named_person(visit)
    view = visit.query("view")
    view = view if view in VIEWS else VIEWS[0]
    summary = await visit.memory.admin.dashboard(user_id=user, limit=1)
    pauses = (await visit.memory.settings.pauses(user_id=user))["paused"]
    paused = [one for one in pauses if one.get("user_id") == user and not one.get("agent_id") and not one.get("run_id")]
    sessions = await visit.caller.engine.run(list_sessions, _scope(user), 1, 0)
    values = {
        "user": user,
        "view": view,
        "counts": summary["counts"],
        "paused": paused[0] if paused else None,
        "last_seen": sessions[0].last_at if sessions else None,
        **await _READERS[view](visit, user),
    }
    return visit.render("person.html", title=user, **values)


def _named_person(visit: Visit) -> str:
    user = visit.query("user") or visit.person
    if not user:
        raise NobodyNamed("no person was named")
    return user


def _scope(user: str, session: str | None = None) -> dict[str, Any]:
    return {"user_id": user, "agent_id": None, "run_id": session}


async def _read_identity(visit: Visit, user: str) -> dict[str, Any]:
    facts = await visit.memory.profile.facts(user_id=user, limit=12)
    return {"identity": await visit.memory.identity.get(user_id=user), "facts": facts["results"]}


async def _read_timeline(visit: Visit, user: str) -> dict[str, Any]:
    page = visit.number("page", 1, 1, 10_000)
    offset = 20 * (page - 1)
    found = (await visit.memory.sessions.episodes(user_id=user, limit=21, offset=offset))["results"]
    return {"episodes": found[:20], "page": page, "more": len(found) > 20}  # noqa: PLR2004 - a page


async def _read_sessions(visit: Visit, user: str) -> dict[str, Any]:
    page = visit.number("page", 1, 1, 10_000)
    found = await visit.caller.engine.run(list_sessions, _scope(user), _PAGE + 1, _PAGE * (page - 1))
    return {"sessions": found[:_PAGE], "page": page, "more": len(found) > _PAGE}


async def _read_graph(visit: Visit, user: str) -> dict[str, Any]:
    day = await _read_day(visit, user)
    relations = await _relations_at(visit, user, day["day"])
    return {**day, "relations": relations, "entities": await _entities_at(visit, user, day["day"])}


async def _read_past(visit: Visit, user: str) -> dict[str, Any]:
    day = await _read_day(visit, user)
    moment = _end_of(day["day"])
    found = await visit.memory.review.list(
        None, user_id=user, layers=["identity", "fact"], as_of=moment, statuses=["active", "deleted"], limit=200
    )
    now = await visit.memory.review.list(
        None, user_id=user, layers=["identity", "fact"], statuses=["active"], limit=250
    )
    current = {one["id"]: one["preview"] for one in now["results"]}
    return {**day, "memories": found["results"], "current": current, "more": found["more"]}


_READERS: Final = {
    "identity": _read_identity,
    "timeline": _read_timeline,
    "sessions": _read_sessions,
    "graph": _read_graph,
    "past": _read_past,
}


# --- any day ----------------------------------------------------------------------------------------------------------


async def _read_day(visit: Visit, user: str) -> dict[str, Any]:
    """Return the day that the slider stands at, and the first and last it can stand at."""
    today = datetime.now(UTC).date()
    oldest = (await visit.memory.sessions.transcript(user_id=user, limit=1))["results"]
    first = min(date.fromisoformat(oldest[0]["occurred_at"][:10]) if oldest else today, today)
    text = visit.query("day")
    try:
        day = date.fromisoformat(text) if text else today
    except ValueError:
        raise InvalidInput(f"{text[:40]!r} is not a day", hint="write it as 2026-05-31") from None
    return {"day": day, "first_day": first, "today": today, "days": max((today - first).days, 1)}


def _end_of(day: date) -> str:
    """Return the end of a day; of today, a moment that is still to come."""
    return datetime(day.year, day.month, day.day, 23, 59, 59, tzinfo=UTC).isoformat()


# --- how things are related -------------------------------------------------------------------------------------------


async def _entities_at(visit: Visit, user: str, day: date) -> list[EntityItem]:
    """Return what had been mentioned on a day; the own name of a person is the person, unless related to something."""
    found = (await visit.memory.graph.entities(user_id=user, limit=MOST_NODES))["results"]
    if day < datetime.now(UTC).date():
        known = await visit.run(find_mentioned, user, to_instant(datetime.fromisoformat(_end_of(day))))
        found = [one for one in found if one["id"] in known]
    return [one for one in found if one["name"].casefold() != user.casefold()]


async def _relations_at(visit: Visit, user: str, day: date) -> list[RelationItem]:
    """Return the relations that held on a day, the newest first."""
    end = _end_of(day)
    found = (await visit.memory.graph.relations(user_id=user, limit=_MOST_EDGES))["results"]
    return [one for one in found if one["valid_from"][:19] <= end[:19] and (one["valid_to"] or "9")[:19] > end[:19]]


@pages.page(f"{PATH}/graph.json")
async def send_graph(visit: Visit) -> Response:
    """Send a part of the graph: what is mentioned most, or what stands around one entity."""
    user = _named_person(visit)
    day = (await _read_day(visit, user))["day"]
    relations = await _relations_at(visit, user, day)
    known = {one["id"]: one for one in await _entities_at(visit, user, day)}
    around = visit.query("around")
    chosen = _neighbours(relations, around) if around else _most_related(relations, known.values())
    return JSONResponse(_format_graph(user, relations, known, chosen), headers=PAGE_HEADERS)


def _most_related(relations: Iterable[RelationItem], known: Iterable[EntityItem]) -> set[str]:
    """Return the entities that a first look shows: those with the most relations, then the most mentioned."""
    weights: dict[str, float] = {one["id"]: one["mentions"] / 100 for one in known}
    for one in relations:
        for end in (one["source_id"], one["target_id"]):
            weights[end] = weights.get(end, 0) + 1
    return set(sorted(weights, key=lambda name: -weights[name])[:FIRST_NODES])


def _neighbours(relations: Iterable[RelationItem], around: str) -> set[str]:
    near = {around}
    for one in relations:
        if around in (one["source_id"], one["target_id"]):
            near |= {one["source_id"], one["target_id"]}
    return set(sorted(near)[:MOST_NODES]) | {around}


def _format_graph(
    user: str, relations: Sequence[RelationItem], known: dict[str, EntityItem], chosen: set[str]
) -> dict[str, Any]:
    names = {one["source_id"]: one["source"] for one in relations}
    names |= {one["target_id"]: one["target"] for one in relations}
    degrees: dict[str, int] = {}
    for one in relations:
        for end in (one["source_id"], one["target_id"]):
            degrees[end] = degrees.get(end, 0) + 1
    nodes = [
        {
            "id": name,
            "name": user if names.get(name) == "user" else (known[name]["name"] if name in known else names[name]),
            "type": "self" if names.get(name) == "user" else known[name]["type"] if name in known else "other",
            "mentions": known[name]["mentions"] if name in known else 0,
            "degree": degrees.get(name, 0),
        }
        for name in sorted(chosen)
        if name in known or name in names
    ]
    edges = [
        {"source": one["source_id"], "target": one["target_id"], "label": one["relation"].replace("_", " ")}
        for one in relations
        if one["source_id"] in chosen and one["target_id"] in chosen
    ]
    return {"nodes": nodes, "edges": edges, "most": MOST_NODES}


# --- what was said ----------------------------------------------------------------------------------------------------


@pages.page(f"{PATH}/session")
async def show_session(visit: Visit) -> Response:
    """Show one conversation, word for word, and what it was about."""
    user, session, page = _named_person(visit), visit.query("session"), visit.number("page", 1, 1, 10_000)
    if not session:
        raise InvalidInput("no session was named", hint="choose one in the list of sessions")
    found = await visit.memory.sessions.transcript(
        user_id=user, run_id=session, limit=_TURNS, offset=_TURNS * (page - 1)
    )
    if not found["total"]:
        raise NotFoundError("there is no such session", hint="it may have been deleted, or belong to somebody else")
    episodes = (await visit.memory.sessions.episodes(user_id=user, run_id=session, limit=1))["results"]
    more = _TURNS * page < found["total"]
    values: dict[str, Any] = {"user": user, "session": session, "turns": found["results"], "total": found["total"]}
    return visit.render(
        "session.html", title=session, **values, episode=episodes[0] if episodes else None, page=page, more=more
    )


# --- acts -------------------------------------------------------------------------------------------------------------


@pages.act(f"{PATH}/pause", Verb.WRITE)
async def pause_person(visit: Visit) -> Response:
    """Stop memory for a person, or let it go on."""
    user = visit.field("user")
    back = link_to(PERSON, user=user)
    if visit.field("wanted") == "resume":
        await visit.memory.settings.resume(user_id=user)
        return visit.done(f"Memory goes on for {user}", back)
    await visit.memory.settings.pause(user_id=user)
    return visit.done(f"Memory is paused for {user}: nothing is stored and nothing is shown", back)


@pages.act(f"{PATH}/merge", Verb.ADMIN, tenant=True)
async def merge_people(visit: Visit) -> Response:
    """Hand everything of one person over to another, as work that shows its progress."""
    source, target = visit.field("user").strip(), visit.field("into").strip()
    if not target or source == target:
        raise InvalidInput("name another person", hint="type the id of the person who gets everything")
    if visit.field("confirm") != source:
        raise InvalidInput("the merge was not confirmed", hint=f"type {source} to confirm that it goes away")

    async def work(progress: Progress) -> Any:
        return await visit.memory.sharing.reassign({"user_id": source}, {"user_id": target}, progress)

    job = works_of(visit.request).start(visit.caller.key.tenant_id, "merge", work)
    return visit.leave(link_to(f"/console/work/{job.id}", then=link_to(PERSON, user=target)))


# --- agents -----------------------------------------------------------------------------------------------------------


@pages.page(AGENT, Verb.ADMIN, tenant=True)
async def show_agent(visit: Visit) -> Response:
    """Show one agent: its settings and what it remembers."""
    agent = await visit.memory.agents.get(visit.query("agent"))
    if agent is None:
        raise NotFoundError(
            "there is no such agent", hint="an agent appears when a request names it for the first time"
        )
    episodes = (await visit.memory.sessions.episodes(agent_id=agent["id"], limit=10))["results"]
    return visit.render("agent.html", title=agent["name"] or agent["id"], agent=agent, episodes=episodes)


@pages.act(f"{AGENT}/save", Verb.ADMIN, tenant=True)
async def save_agent(visit: Visit) -> Response:
    """Change an agent's name, model, instructions and switches."""
    agent = await visit.memory.agents.get(visit.field("agent"))
    if agent is None:
        raise NotFoundError("there is no such agent", hint="somebody has deleted it meanwhile")
    flags = {
        "disableMemory": visit.field("memory") != "on",
        "searchMemoryEnabled": visit.field("search") == "on",
    }
    text = {"name": visit.field("name").strip(), "model": visit.field("model").strip()}
    await visit.memory.agents.save(
        agent["id"], **text, system_prompt=visit.field("prompt").strip(), settings={**agent["settings"], **flags}
    )
    return visit.done("Saved", link_to(AGENT, agent=agent["id"]))


@pages.act(f"{AGENT}/delete", Verb.ADMIN, tenant=True)
async def delete_agent(visit: Visit) -> Response:
    """Remove an agent with all that belongs to it."""
    name = visit.field("agent")
    if visit.field("confirm") != name:
        raise InvalidInput("the deletion was not confirmed", hint=f"type {name} to confirm it")
    gone = await visit.memory.agents.delete(name)
    return visit.done(f"Deleted {gone['id']} with {gone['deleted']} memories", link_to(PATH, kind="agent"))
