"""Pages for import, export, backup and erasure."""

from __future__ import annotations

import json
import secrets
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from memstone.config import store_path
from memstone.core.importers import FORMATS
from memstone.core.redact import preview_text
from memstone.engine.transfer.archives import SourceFormat, read_source
from memstone.errors import ConfigError, InvalidInput, NotFoundError
from memstone.model.access import Verb
from memstone.registry import load_adapter
from memstone.server.access import needs_operator
from memstone.server.background_jobs import Progress, works_of
from memstone.server.console.templates import link_to
from memstone.server.console.visit import PAGE_HEADERS, Pages, Visit

if TYPE_CHECKING:
    from pathlib import Path

pages = Pages()

PATH: Final = "/console/settings/data"
_ALL: Final = "everything"
_UPLOADS: Final = 20
_SAMPLES: Final = 8


# --- uploads that wait for a decision ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that somebody sent, and what is in it."""

    name: str
    content: bytes
    format: str
    counts: dict[str, int]
    people: dict[str, int]
    samples: list[tuple[str, str]]
    skipped: dict[str, int]


class Uploads:
    """Files that wait until whoever sent them says yes; a few, and in this process."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[tuple[str, str], Upload] = OrderedDict()

    def add(self, session_id: str, upload: Upload) -> str:
        """Keep a file, and return what it is found by."""
        name = secrets.token_urlsafe(9)
        self._waiting[session_id, name] = upload
        while len(self._waiting) > _UPLOADS:
            self._waiting.popitem(last=False)
        return name

    def get(self, session_id: str, name: str) -> Upload:
        """Return a file of a session; nobody sees another's."""
        found = self._waiting.get((session_id, name))
        if found is None:
            raise NotFoundError("this file is no longer here", hint="choose it again")
        return found

    def remove(self, session_id: str, name: str) -> None:
        """Forget a file."""
        self._waiting.pop((session_id, name), None)


def _uploads(request: Request) -> Uploads:
    app = request.app
    if getattr(app.state, "console_uploads", None) is None:
        app.state.console_uploads = Uploads()
    uploads: Uploads = app.state.console_uploads
    return uploads


# --- the page ---------------------------------------------------------------------------------------------------------


@pages.page(PATH, Verb.ADMIN, tenant=True)
async def show_data(visit: Visit) -> Response:
    """Show what can be brought in, taken out and erased."""
    running = [job for job in works_of(visit.request).of(visit.caller.key.tenant_id) if job.state == "running"]
    settings = visit.console.state.settings
    values: dict[str, Any] = {"running": running, "backup_folder": settings.server.backup_folder, "formats": FORMATS}
    values["most_bytes"] = settings.server.body_bytes
    values["is_operator"] = visit.caller.key.tenant_id == settings.tenant
    values["store_bytes"] = await _measure_store(visit) if values["is_operator"] else None
    return visit.render("data.html", title="Data", **values)


async def _measure_store(visit: Visit) -> int:
    """Return how large the store is; of a file without looking into it."""
    path = store_path(visit.console.state.settings)
    if path is not None and path.is_file():
        return path.stat().st_size
    return (await visit.memory.admin.check())["bytes"]


# --- import -----------------------------------------------------------------------------------------------------------


@pages.act(f"{PATH}/import/preview", Verb.ADMIN, tenant=True)
async def preview_import(visit: Visit) -> Response:
    """Read a file and show what is in it; nothing is stored yet."""
    file = visit.form.get("file")
    if not isinstance(file, UploadFile) or not file.filename:
        raise InvalidInput("no file was chosen", hint="choose the file that another system exported")
    content = await file.read()
    upload = await run_in_threadpool(partial(_read_upload, visit, file.filename, content, visit.field("format")))
    name = _uploads(visit.request).add(visit.caller.key.id, upload)
    return visit.render("import.html", title="Import", upload=upload, name=name)


def _read_upload(visit: Visit, filename: str, content: bytes, wanted: str) -> Upload:
    limits = visit.caller.engine.runtime.policy.limits
    how = SourceFormat(wanted or "auto", limits, load_adapter("source", "sqlite"), _is_never_own)
    read = read_source(content, how)
    sorts = Counter(str(item.sort) for item in read.items)
    people = Counter(item.owner.user_id or "nobody named" for item in read.items)
    samples = [(str(item.sort), preview_text(item.text)) for item in read.items[:_SAMPLES]]
    return Upload(filename, content, read.format, dict(sorts), dict(people.most_common(6)), samples, dict(read.skipped))


def _is_never_own(_: Path) -> bool:
    return False


@pages.act(f"{PATH}/import", Verb.ADMIN, tenant=True)
async def start_import(visit: Visit) -> Response:
    """Import a file that was looked at, as work that shows its progress."""
    name = visit.field("name")
    uploads = _uploads(visit.request)
    upload = uploads.get(visit.caller.key.id, name)
    user = visit.field("user").strip() or None
    trusted, learn = visit.field("trusted") == "on", visit.field("learn") == "on"

    async def work(progress: Progress) -> Any:
        return await visit.memory.admin.import_from(
            upload.content, format=upload.format, user_id=user, progress=progress, trusted=trusted, learn=learn
        )

    job = works_of(visit.request).start(visit.caller.key.tenant_id, "import", work)
    uploads.remove(visit.caller.key.id, name)
    return visit.leave(link_to(f"/console/work/{job.id}", then=PATH))


# --- export -----------------------------------------------------------------------------------------------------------


@pages.page(f"{PATH}/export")
async def send_export(visit: Visit) -> Response:
    """Send everything of somebody, or of everybody, as a file."""
    scope = visit.scope()
    lines = visit.memory.export(**scope)
    first = await anext(lines)  # what is wrong with the request shows here, while there is a page to say so
    headers = {**PAGE_HEADERS, "content-disposition": 'attachment; filename="memstone-export.jsonl"'}
    return StreamingResponse(_export_lines(first, lines), media_type="application/x-ndjson", headers=headers)


async def _export_lines(first: dict[str, Any], lines: AsyncIterator[dict[str, Any]]) -> AsyncIterator[str]:
    yield json.dumps(first, ensure_ascii=False) + "\n"
    async for one in lines:
        yield json.dumps(one, ensure_ascii=False) + "\n"


# --- backup -----------------------------------------------------------------------------------------------------------


@pages.act(f"{PATH}/backup", Verb.ADMIN, tenant=True)
async def start_backup(visit: Visit) -> Response:
    """Write the whole store into the folder for backups."""
    needs_operator(visit.request, visit.caller)
    folder = visit.console.state.settings.server.backup_folder
    if folder is None or not folder.expanduser().is_dir():
        raise ConfigError("no folder is set for backups", hint="set server.backup_folder to an existing folder")

    async def work(progress: Progress) -> Any:
        return await visit.memory.admin.backups.create(folder, progress=progress)

    job = works_of(visit.request).start(visit.caller.key.tenant_id, "backup", work)
    return visit.leave(link_to(f"/console/work/{job.id}", then=PATH))


# --- erasure ----------------------------------------------------------------------------------------------------------


@pages.act(f"{PATH}/erase", Verb.ADMIN, tenant=True)
async def start_erasure(visit: Visit) -> Response:
    """Erase everything of a person for good, or only say what that would be."""
    kind, name = visit.field("kind"), visit.field("subject").strip()
    dry_run = visit.field("trial") == "on"
    if kind == _ALL and name == _ALL:
        return _start_reset(visit, dry_run=dry_run)
    if kind not in ("user", "agent", "run", "memory") or not name:
        raise InvalidInput(
            "say who or what is to be erased", hint="choose the kind, and type the id; for everything type everything"
        )
    if not dry_run and visit.field("confirm") != name:
        raise InvalidInput("the erasure was not confirmed", hint=f"type {name} once more: it cannot be undone")
    subject: dict[str, Any] = {f"{kind}_id": name}

    async def work(progress: Progress) -> Any:
        return await visit.memory.admin.erase(**subject, progress=progress, dry_run=dry_run)

    job = works_of(visit.request).start(visit.caller.key.tenant_id, "erase", work)
    return visit.leave(link_to(f"/console/work/{job.id}", then=PATH))


def _start_reset(visit: Visit, *, dry_run: bool) -> Response:
    """Remove all memories of the tenant, or only say how many that is."""
    if not dry_run and visit.field("confirm") != _ALL:
        raise InvalidInput("this was not confirmed", hint="type everything once more: it cannot be undone")

    async def work(_: Progress) -> Any:
        counts = await visit.memory.stats()
        if not dry_run:
            await visit.memory.reset()
        return {
            "dry_run": dry_run,
            "memories": counts["memories"],
            "turns": counts["turns"],
            "events": counts["events"],
        }

    job = works_of(visit.request).start(visit.caller.key.tenant_id, "reset", work)
    return visit.leave(link_to(f"/console/work/{job.id}", then=PATH))


@pages.act(f"{PATH}/erase/verify", Verb.ADMIN, tenant=True)
async def verify_erasure(visit: Visit) -> Response:
    """Check a report: whether this store wrote it, and whether anything has come back."""
    try:
        report = json.loads(visit.field("report"))
    except (ValueError, RecursionError):
        raise InvalidInput("this is not a report", hint="paste the JSON text as it was shown") from None
    if not isinstance(report, dict):
        raise InvalidInput("this is not a report", hint="paste the JSON text as it was shown")
    answer = await visit.memory.admin.verify_erasure(report)
    return visit.render("erasure_check.html", title="Erasure report", answer=answer)
