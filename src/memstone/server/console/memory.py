"""The page of one memory: text, versions, origin, history, and who was shown it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, get_args

from starlette.responses import Response

from memstone.core.redact import redact_preview
from memstone.engine.browse import BrowseRow, conversation_around, find_by_ids, inspect_memory
from memstone.engine.results import format_memory
from memstone.errors import InvalidInput, NotFoundError
from memstone.literals import VisibilityName
from memstone.model.access import Verb
from memstone.model.context import SelectedMemory
from memstone.server.console.activity_feed import title_of
from memstone.server.console.memories import LIST, last_event
from memstone.server.console.templates import link_to
from memstone.server.console.visit import Pages, Visit

if TYPE_CHECKING:
    from memstone.results import HistoryEvent

pages = Pages()

VISIBILITIES: Final[tuple[str, ...]] = get_args(VisibilityName)
RECEIPTS: Final = 20
_MOST_LATER: Final = 5
_PAGE: Final = "/console/memories/{memory_id}"


@dataclass(frozen=True, slots=True)
class SourceLine:
    """One line of the conversation that a memory comes from; ``quote`` is the part that says it."""

    who: str
    text: str
    when: str
    before: str = ""
    quote: str = ""
    after: str = ""


@pages.page(_PAGE)
async def show_memory(visit: Visit, memory_id: str) -> Response:
    """Show everything about a memory."""
    details = await visit.run(inspect_memory, memory_id, RECEIPTS)
    item: Mapping[str, Any] = format_memory(details.found)
    history = await visit.memory.history(memory_id)
    record = details.found.record
    receipts = [_describe_receipt(one, record.id) for one in details.receipts]
    return visit.render(
        "memory.html",
        title="Memory",
        item=item,
        record=record,
        text=record.text if visit.sees_texts else redact_preview(record.text),
        links=details.links,
        holders=list({(one.scope.user_id, one.scope.agent_id): one for one in details.links}.values()),
        receipts=receipts,
        in_profile=sum(one["in_profile"] for one in receipts),
        more_receipts=len(receipts) == RECEIPTS,
        source=await _source_lines(visit, item),
        history=[_describe_event(visit, one) for one in reversed(history)],
        last=history[-1]["id"] if history else "",
        visibilities=VISIBILITIES,
        is_deleted=record.status == "deleted" or record.valid_to is not None,
    )


def _describe_event(visit: Visit, event: HistoryEvent) -> dict[str, Any]:
    """Return an event with its name in words; texts as the visitor may see them."""
    show = str if visit.sees_texts else redact_preview
    texts = {name: show(text) if text else "" for name in ("old_value", "new_value") for text in [event[name]]}
    version = (event["before"] or {}).get("version")
    return {**event, **texts, "label": title_of(event), "old_version": version}


def _describe_receipt(body: Mapping[str, Any], memory_id: str) -> dict[str, Any]:
    """Return what a receipt says about one memory."""
    chosen = next((SelectedMemory(*one) for one in body.get("chosen", ()) if one[0] == memory_id), None)
    dropped = next((reason for reason, ids in body.get("dropped", ()) if memory_id in ids), "")
    used = body.get("used")
    return {
        "id": body["id"],
        "created_at": body["created_at"],
        "user_id": body.get("user_id") or "",
        "query": redact_preview(body.get("query") or ""),
        "recalled": chosen is not None and chosen.counts,
        "in_profile": chosen is not None and not chosen.counts,
        "reason": dropped,
        "used": None if used is None else memory_id in used,
    }


async def _source_lines(visit: Visit, item: Mapping[str, Any]) -> list[SourceLine]:
    """Return the conversation around the words that a memory comes from, and what was said about it later."""
    evidence = item.get("evidence")
    if not evidence:
        return []
    rows = await visit.run(conversation_around, evidence["turn"])
    shown = {row.id for row in rows}
    more = [one for one in evidence.get("also", ()) if one not in shown][-_MOST_LATER:]
    found = (await visit.run(find_by_ids, more)).values() if rows and more else ()
    later = sorted(found, key=lambda row: row.seq)
    return [
        *(_source_line(visit, row, evidence) for row in rows),
        *(_source_line(visit, row, {"turn": row.id, "start": 0, "end": len(row.record.text)}) for row in later),
    ]


def _source_line(visit: Visit, row: BrowseRow, evidence: Mapping[str, Any]) -> SourceLine:
    show = str if visit.sees_texts else redact_preview
    who, text = str(row.item.get("actor") or row.item.get("role") or "user"), row.record.text
    when = row.record.occurred_at
    start, end = int(evidence["start"]), int(evidence["end"])
    if row.id != evidence["turn"] or not 0 <= start < end <= len(text):
        return SourceLine(who, show(text), when)
    return SourceLine(who, show(text), when, show(text[:start]), show(text[start:end]), show(text[end:]))


# --- acts -------------------------------------------------------------------------------------------------------------


@pages.act(f"{_PAGE}/visibility")
async def choose_visibility(visit: Visit, memory_id: str) -> Response:
    """Pin, hide, keep private, or leave it to the rules."""
    chosen = visit.field("visibility")
    if chosen not in VISIBILITIES:
        raise InvalidInput("choose how models see this memory", hint="one of " + ", ".join(VISIBILITIES))
    done = await visit.memory.profile.set_visibility(memory_id, chosen)  # type: ignore[arg-type]  # one of them
    events = await last_event(visit, memory_id) if done["event"] != "NONE" else []
    return visit.finish(_VISIBLE[chosen], _page_of(memory_id), events=events)


_VISIBLE: Final = {
    "default": "Shown when the rules say so",
    "pinned": "Pinned: models always see it",
    "hidden": "Hidden from the profile",
    "private": "Private: models never see it",
}


@pages.act(f"{_PAGE}/status")
async def change_status(visit: Visit, memory_id: str) -> Response:
    """Disable, enable or quarantine a memory."""
    review, wanted = visit.memory.review, visit.field("act")
    verbs = {"disable": review.disable, "enable": review.enable, "quarantine": review.quarantine}
    if wanted not in verbs:
        raise InvalidInput("choose what to do with this memory", hint="one of " + ", ".join(verbs))
    done = await verbs[wanted](memory_id, visit.field("reason").strip() or None)
    events = await last_event(visit, memory_id) if done["event"] != "NONE" else []
    return visit.finish(f"Now {done['status']}", _page_of(memory_id), events=events)


@pages.act(f"{_PAGE}/decide", Verb.ADMIN)
async def decide_quarantine(visit: Visit, memory_id: str) -> Response:
    """Release a memory from quarantine, or delete it there."""
    review, wanted = visit.memory.review, visit.field("act")
    if wanted not in {"approve", "reject"}:
        raise InvalidInput("choose what to do with this memory", hint="approve or reject")
    reason = visit.field("reason").strip() or None
    done = await (review.approve if wanted == "approve" else review.reject)(memory_id, reason)
    events = await last_event(visit, memory_id) if done["event"] != "NONE" else []
    told = "Approved: it is recalled again" if wanted == "approve" else "Rejected: it does not come back by itself"
    return visit.finish(told, _page_of(memory_id), events=events)


@pages.act(f"{_PAGE}/forget")
async def forget_memory(visit: Visit, memory_id: str) -> Response:
    """Delete a memory; its history stays."""
    await visit.memory.delete(memory_id)
    return visit.finish("Deleted 1 memory", _page_of(memory_id), events=await last_event(visit, memory_id))


@pages.act(f"{_PAGE}/restore")
async def restore_version(visit: Visit, memory_id: str) -> Response:
    """Bring a memory back, or the text of an earlier version."""
    wanted = visit.field("version")
    version = int(wanted) if wanted.isascii() and wanted.isdigit() else None
    done = await visit.memory.review.restore(memory_id, version)
    return visit.finish("Restored", _page_of(memory_id), events=[done["event_id"]])


@pages.act(f"{_PAGE}/undo")
async def undo_event(visit: Visit, memory_id: str) -> Response:
    """Undo one change of a memory; that can be undone as well."""
    done = await visit.memory.undo(visit.field("event"))
    return visit.finish("Undone", _page_of(memory_id), events=[one["event_id"] for one in done["results"]])


@pages.act(f"{_PAGE}/erase", Verb.ADMIN, tenant=True)
async def erase_memory(visit: Visit, memory_id: str) -> Response:
    """Erase a memory for good; the word is typed first."""
    if visit.field("confirm").strip().lower() != "erase":
        raise InvalidInput("type the word erase to erase a memory for good", hint="it cannot be undone")
    await visit.run(inspect_memory, memory_id, 0)  # nobody is told that something was erased which was not there
    report = await visit.memory.admin.erase(memory_id=memory_id)
    sealed = f"; the report is signed with {report['sha256'][:12]}" if report.get("sha256") else ""
    return visit.finish(f"Erased for good{sealed}", LIST)


@pages.act(f"{_PAGE}/judge")
async def judge_memory(visit: Visit, memory_id: str) -> Response:
    """Say that a memory was useful, or not."""
    await visit.memory.review.feedback(useful=visit.field("useful") == "yes", memory_id=memory_id)
    return visit.finish("Thank you: its weight follows", _page_of(memory_id), events=await last_event(visit, memory_id))


def _page_of(memory_id: str) -> str:
    return link_to(f"{LIST}/{memory_id}")


# --- receipts ---------------------------------------------------------------------------------------------------------


@pages.page("/console/receipts/{receipt_id}")
async def show_receipt(visit: Visit, receipt_id: str) -> Response:
    """Show what a model was given for a message: which memories, at what cost, and which were left out and why."""
    receipt = await visit.memory.receipt(receipt_id)
    if receipt is None:
        raise NotFoundError("there is no such receipt", hint="receipts are kept for a while; this one may be gone")
    ids = [one["id"] for one in (*receipt["chosen"], *receipt["dropped"])]
    return visit.render(
        "receipt.html", title="Receipt", receipt=receipt, texts=await texts_of(visit, ids[:200]),
        query=redact_preview(receipt["query"]),
    )  # fmt: skip


async def texts_of(visit: Visit, ids: Sequence[str]) -> dict[str, str]:
    """Return the texts of memories by id, as the visitor may see them; those that are gone are missing."""
    show = str if visit.sees_texts else redact_preview
    return {name: show(row.record.text) for name, row in (await visit.run(find_by_ids, ids)).items()}
