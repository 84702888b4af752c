"""The list of memories: search, filter, change many, add, export and import."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import Any, Final

from starlette.responses import Response

from memstone.engine.browse import (
    SORTS,
    BrowsePage,
    BrowseRequest,
    BrowseRow,
    browse_memories,
    find_by_ids,
)
from memstone.errors import Conflict, InvalidInput, MemstoneError
from memstone.model.access import Verb
from memstone.model.memory import INDEXED, LISTED, Layer
from memstone.server.console.templates import link_to, plural
from memstone.server.console.visit import PAGE_HEADERS, Pages, Visit

pages = Pages()

LIST: Final = "/console/memories"
SIZES: Final = (20, 50, 100)
KINDS: Final = ("factual", "episodic", "procedural", "semantic")
VIEWS: Final[Mapping[str, tuple[str, Sequence[str]]]] = {
    "": ("Memories", (Layer.IDENTITY, Layer.FACT, Layer.EPISODE)),
    "facts": ("Facts", (Layer.FACT,)),
    "identity": ("Identity", (Layer.IDENTITY,)),
    "episodes": ("Episodes", (Layer.EPISODE,)),
    "said": ("What was said", (Layer.TURN,)),
    "all": ("Everything", tuple(Layer)),
}
_PARAMETERS: Final = (
    "q", "user", "agent", "session", "show", "kind", "status", "since", "until", "tag", "doubtful", "sort", "per", "by",
)  # fmt: skip
_FORMAT: Final = "memstone-memories"
_IMPORTED: Final = 1_000


# --- looking ----------------------------------------------------------------------------------------------------------


@pages.page(LIST)
async def show_memories(visit: Visit) -> Response:
    """Show a page of memories."""
    values = _page_values(visit)
    if values["by"] == "meaning" and values["q"] and _is_somebody(visit):
        found = await _by_meaning(visit, values)
        page = None
    else:
        page, found = await visit.run(browse_memories, _request_of(visit)), None
    return visit.render(
        "memories.html",
        title="Memories",
        page=page,
        found=found,
        values=values,
        url=_url_builder(values),
        choices={"show": VIEWS, "kinds": KINDS, "statuses": LISTED, "sorts": _sorts(visit), "sizes": SIZES},
        filtered=any(values[name] for name in _PARAMETERS if name not in {"sort", "per", "by", "user"}),
        somebody=_is_somebody(visit),
    )


def _page_values(visit: Visit) -> dict[str, str]:
    return {name: visit.query(name) for name in _PARAMETERS}


def _is_somebody(visit: Visit) -> bool:
    return bool(visit.person or visit.query("user"))


def _sorts(visit: Visit) -> list[tuple[str, str]]:
    """Return the orders that are fast enough: those by weight and time of one person at a time."""
    both = [("newest", "Newest first"), ("oldest", "Oldest first")]
    return [*both, ("weight", "Weight"), ("said", "When it was said")] if _is_somebody(visit) else both


def _url_builder(values: Mapping[str, str]) -> Callable[..., str]:
    def url(path: str = LIST, **changed: Any) -> str:
        return link_to(path, **{**values, **changed})

    return url


def _request_of(visit: Visit) -> BrowseRequest:
    """Return what the address asks for; raise ``InvalidInput`` for what it may not say."""
    shown = VIEWS.get(visit.query("show"))
    if shown is None:
        raise InvalidInput("there is no such view", hint="one of " + ", ".join(filter(None, VIEWS)))
    status, sort = visit.query("status"), visit.query("sort") or "newest"
    if sort not in SORTS or (not _is_somebody(visit) and sort not in {"newest", "oldest"}):
        raise InvalidInput("memories of everybody are sorted by newest or oldest", hint="choose a person first")
    return BrowseRequest(
        q=visit.query("q")[:1_000],
        **visit.scope(),
        layers=shown[1],
        kind=_one_of(visit.query("kind"), KINDS),
        statuses=(_one_of(status, LISTED),) if status else INDEXED,
        tag=visit.query("tag"),
        since=_parse_day(visit.query("since"), "since"),
        until=_parse_day(visit.query("until"), "until", after=1),
        doubtful=bool(visit.query("doubtful")),
        sort=sort,
        cursor=visit.query("at"),
        limit=visit.number("per", SIZES[0], 1, SIZES[-1]),
        masked=not visit.person,
    )


def _one_of(value: str, known: Sequence[str]) -> str:
    if value and value not in known:
        raise InvalidInput(f"{value!r} is not a choice", hint="one of " + ", ".join(known))
    return value


def _parse_day(text: str, name: str, after: int = 0) -> str | None:
    if not text:
        return None
    try:
        return (date.fromisoformat(text) + timedelta(days=after)).isoformat()
    except (ValueError, OverflowError):
        raise InvalidInput(f"{name} must be a date such as 2026-05-07") from None


async def _by_meaning(visit: Visit, values: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return what a search by meaning finds for one person, and why it found each."""
    layers = VIEWS.get(values["show"], VIEWS[""])[1]
    scope = visit.scope()
    asked = {"layers": list(map(str, layers)), "limit": visit.number("per", SIZES[0], 1, SIZES[-1])}
    statuses = [values["status"]] if values["status"] else list(map(str, INDEXED))
    answer = await visit.memory.review.list(values["q"], **scope, **asked, statuses=statuses)  # type: ignore[arg-type]  # checked by the engine
    return [dict(one) for one in answer["results"]]


@pages.page("/console/options")
async def list_options(visit: Visit) -> Response:
    """List people, agents or sessions for a field that completes what is typed."""
    kind = _one_of(visit.query("kind") or "user", ("user", "agent", "run"))
    names: list[str] = [visit.person] if visit.person and kind == "user" else []
    if visit.sees_everybody:
        found = await visit.memory.admin.list_scopes(kind, limit=100)  # type: ignore[arg-type]  # one of three
        names = [one["id"] for one in found["results"]]
    return visit.render("options.html", title="", names=names)


# --- acting upon many -------------------------------------------------------------------------------------------------


@pages.act("/console/memories/act")
async def act_upon_many(visit: Visit) -> Response:
    """Delete, disable, enable, restore, tag or move the chosen memories; the message offers to undo all of it."""
    ids, name = visit.fields("id"), visit.field("act")
    act = _ACTS.get(name)
    if act is None or not ids:
        raise InvalidInput("nothing was chosen", hint="choose memories by their boxes, then what to do with them")
    events: list[str] = []
    failures: list[MemstoneError] = []
    for memory_id in ids[: SIZES[-1]]:
        try:
            events += await act(visit, memory_id)
        except MemstoneError as error:
            failures.append(error)
    if failures and not events:
        raise failures[0]
    done = len(ids) - len(failures)
    left = f"; {plural(len(failures), 'memory', 'memories')} could not be: {failures[0].message}" if failures else ""
    return visit.finish(f"{_PAST[name]} {plural(done, 'memory', 'memories')}{left}", LIST, events=events)


async def last_event(visit: Visit, memory_id: str) -> list[str]:
    """Return the event that was done last to a memory: what to undo."""
    history = await visit.memory.history(memory_id)
    return [history[-1]["id"]] if history else []


async def _delete(visit: Visit, memory_id: str) -> list[str]:
    await visit.memory.delete(memory_id)
    return await last_event(visit, memory_id)


async def _disable(visit: Visit, memory_id: str) -> list[str]:
    done = await visit.memory.review.disable(memory_id, "in the console")
    return await last_event(visit, memory_id) if done["event"] != "NONE" else []


async def _enable(visit: Visit, memory_id: str) -> list[str]:
    done = await visit.memory.review.enable(memory_id, "in the console")
    return await last_event(visit, memory_id) if done["event"] != "NONE" else []


async def _restore(visit: Visit, memory_id: str) -> list[str]:
    return [(await visit.memory.review.restore(memory_id))["event_id"]]


async def _tag(visit: Visit, memory_id: str) -> list[str]:
    tag = visit.field("tag").strip()
    if not tag or len(tag) > 100:  # noqa: PLR2004 - a word or two
        raise InvalidInput("a tag must have 1 to 100 characters")
    memory = await visit.memory.get(memory_id)
    if memory is None:
        raise InvalidInput("only an active memory can be tagged", hint="enable or restore it first")
    metadata = memory["metadata"]
    tags = metadata["tags"] if isinstance(metadata.get("tags"), list) else []
    if tag in tags:
        return []
    await visit.memory.update(memory_id, metadata={**metadata, "tags": [*tags, tag]})
    return await last_event(visit, memory_id)


async def _move(visit: Visit, memory_id: str) -> list[str]:
    """Give a memory to somebody else: they hold it first, then the one before no longer does."""
    wanted = visit.field("to").strip()
    memory = await visit.memory.get(memory_id)
    if memory is None or not wanted:
        raise InvalidInput("a memory is moved to a person", hint="type their id; restore the memory if it is deleted")
    if memory["user_id"] == wanted:
        return []
    await visit.memory.sharing.share(memory_id, user_id=wanted, reason="moved in the console")
    events = await last_event(visit, memory_id)
    await visit.memory.sharing.unshare(
        memory_id,
        user_id=memory["user_id"],
        agent_id=memory["agent_id"],
        run_id=memory["run_id"],
        reason="moved in the console",
    )
    return [*events, *await last_event(visit, memory_id)]


_ACTS: Final[Mapping[str, Callable[[Visit, str], Awaitable[list[str]]]]] = {
    "delete": _delete,
    "disable": _disable,
    "enable": _enable,
    "restore": _restore,
    "tag": _tag,
    "move": _move,
}
_PAST: Final = {
    "delete": "Deleted",
    "disable": "Disabled",
    "enable": "Enabled",
    "restore": "Restored",
    "tag": "Tagged",
    "move": "Moved",
}


# --- adding and editing -----------------------------------------------------------------------------------------------


@pages.act("/console/memories/add")
async def add_memory(visit: Visit) -> Response:
    """Store a memory that somebody typed, as it is."""
    user = visit.person or visit.field("user").strip()
    if not user:
        raise InvalidInput("a memory belongs to a person", hint="type whose memory it is")
    kind = _one_of(visit.field("kind") or KINDS[0], KINDS)
    added = await visit.memory.add(
        visit.field("text"),
        user_id=user,
        infer=False,
        kind=kind,  # type: ignore[arg-type]  # one of four
        key=visit.field("key").strip() or None,
    )
    if not added["results"]:  # memory is paused or switched off for this person
        raise Conflict(added.get("reason", "nothing was stored"), hint="switch memory on for this person, in Settings")
    first = added["results"][0]
    if first["event"] == "NONE":
        return visit.finish("That is known already", link_to(LIST, user=user))
    return visit.finish("Added 1 memory", link_to(LIST, user=user), events=await last_event(visit, first["id"]))


@pages.page("/console/memories/{memory_id}/edit", Verb.WRITE)
async def show_editor(visit: Visit, memory_id: str) -> Response:
    """Show the text of a memory in a form, in its place in the list."""
    memory = await visit.memory.get(memory_id)
    if memory is None:
        raise InvalidInput("only an active memory can be edited", hint="enable or restore it first")
    return visit.render("editor.html", title="Edit", memory=memory, back=visit.query("back") or LIST)


@pages.act("/console/memories/{memory_id}/edit")
async def edit_memory(visit: Visit, memory_id: str) -> Response:
    """Change the text of a memory; the old text stays in its history."""
    text = visit.field("text").strip()
    known = await visit.memory.get(memory_id)
    if known is not None and known["memory"] == text:
        return visit.finish("Nothing was changed", LIST)
    changed = await visit.memory.update(memory_id, text)
    return visit.finish("Saved", LIST, events=await last_event(visit, changed["id"]))


# --- export and import ------------------------------------------------------------------------------------------------


@pages.page("/console/memories/export")
async def export_page(visit: Visit) -> Response:
    """Send what the page shows as a file of JSON; texts as they are, for who may see them so."""
    request = replace(_request_of(visit), masked=not visit.sees_texts)
    page: BrowsePage = await visit.run(browse_memories, request)
    memories = [
        {
            "memory": row.text,
            "user_id": row.scope["user_id"],
            "agent_id": row.scope["agent_id"],
            "run_id": row.scope["run_id"],
            **{name: row.item[name] for name in ("id", "kind", "key", "metadata", "status", "occurred_at")},
        }
        for row in page.rows
    ]
    text = json.dumps({"format": _FORMAT, "version": 1, "memories": memories}, ensure_ascii=False, indent=2)
    name = {"content-disposition": 'attachment; filename="memories.json"'}
    return Response(text, media_type="application/json", headers={**PAGE_HEADERS, **name})


@pages.act("/console/memories/import")
async def import_file(visit: Visit) -> Response:
    """Store the memories of such a file; what is known already is skipped and counted."""
    upload = visit.form.get("file")
    content = await upload.read() if upload is not None and not isinstance(upload, str) else b""
    rows = _rows_of(content)
    items = [_item_of(visit, row) for row in rows]
    known = await visit.run(find_by_ids, [_id_of(row) for row in rows if _id_of(row)])
    new = [item for row, item in zip(rows, items, strict=True) if not _is_known(known.get(_id_of(row)), item)]
    answer = await visit.memory.add_many(new) if new else {"results": []}
    events = [event for one in answer["results"] for event in one["results"]]
    stored = [event["id"] for event in events if event["event"] not in {"NONE", "ERROR"}]
    reasons = [one["reason"] for one in answer["results"] if not one["results"] and "reason" in one]
    if reasons and len(reasons) == len(new):
        raise Conflict(reasons[0], hint="switch memory on for this person, in Settings, and import again")
    skipped = len(items) - len(stored)
    undo = [event for memory_id in stored for event in await last_event(visit, memory_id)]
    return visit.finish(f"Imported {plural(len(stored), 'memory', 'memories')}, skipped {skipped}", LIST, events=undo)


def _id_of(row: Mapping[str, Any]) -> str:
    """Return the id that a memory had where it was exported; '' for what can be none."""
    told = row.get("id")
    return told if isinstance(told, str) and told.isascii() and told.isprintable() else ""


def _is_known(found: BrowseRow | None, item: Mapping[str, Any]) -> bool:
    """Return whether a memory is here as the file has it: one that was learned is not stored by hand once more."""
    return found is not None and found.record.text == item["messages"] and found.scope["user_id"] == item["user_id"]


def _rows_of(content: bytes) -> list[dict[str, Any]]:
    """Return the memories that a file holds; raise ``InvalidInput`` for what is no such file."""
    hint = "choose a file that was exported from this page; Settings imports files of other systems"
    try:
        told = json.loads(content)
    except (ValueError, RecursionError):
        raise InvalidInput("the file is not JSON", hint=hint) from None
    rows = told.get("memories") if isinstance(told, dict) else told
    if not isinstance(rows, list) or not rows or len(rows) > _IMPORTED:
        raise InvalidInput(f"the file must hold a list of 1 to {_IMPORTED:,} memories", hint=hint)
    if not all(isinstance(row, dict) and isinstance(row.get("memory"), str) for row in rows):
        raise InvalidInput("every memory in the file needs its text in 'memory'")
    return rows


def _item_of(visit: Visit, row: Mapping[str, Any]) -> dict[str, Any]:
    user = visit.person or visit.field("user").strip() or row.get("user_id")
    item = {"messages": row["memory"], "user_id": user, "infer": False}
    named = ("agent_id", "run_id", "kind", "key", "metadata", "occurred_at")
    return {**item, **{name: row[name] for name in named if row.get(name)}}
