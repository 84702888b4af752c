"""The interface between tables and a database: statements in, rows out.

Tables are written once over this protocol. A SQLite connection answers at once, so a whole unit of work
is driven to its end on one thread; a PostgreSQL connection may really wait.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import fields
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from memstone.errors import Corrupted
from memstone.model.event import Event, EventType
from memstone.model.memory import Link, Record, Status
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx, Work
from memstone.trace import log_event

# --- the seam under the tables ----------------------------------------------------------------------------------------


Row: TypeAlias = tuple[Any, ...]
Params: TypeAlias = Sequence[Any]


class SqlConnection(Protocol):
    """One connection inside one transaction. Placeholders are ``?``."""

    async def rows(self, query: str, params: Params = ()) -> list[Row]:
        """Return all rows."""
        ...

    async def one(self, query: str, params: Params = ()) -> Row | None:
        """Return the first row."""
        ...

    async def run(self, query: str, params: Params = ()) -> int:
        """Return how many rows it changed."""
        ...

    async def insert(self, query: str, params: Params) -> int:
        """Insert one row; return its integer key."""
        ...

    async def many(self, query: str, params: Iterable[Params]) -> None:
        """Run the same statement for many parameter rows; or for one, where nobody needs to know what it changed."""
        ...


def status_list(statuses: Sequence[Status]) -> str:
    """Return statuses as SQL writes them in a list, for statements that are made once."""
    return ", ".join(f"'{status}'" for status in statuses)


def placeholder_list(count: int) -> str:
    """Return ``?, ?, ?``."""
    return ", ".join("?" * count)


def split_chunks(values: Sequence[Any], size: int = 500) -> Iterable[Sequence[Any]]:
    """Yield slices small enough for one statement's parameters."""
    return (values[start : start + size] for start in range(0, len(values), size))


# --- rows to records and back -----------------------------------------------------------------------------------------


RECORD_COLUMNS: Final = tuple(item.name for item in fields(Record))
LINK_COLUMNS: Final = (
    "tenant_id",
    "user_id",
    "agent_id",
    "run_id",
    "created_at",
    "dedupe",
    "origin",
    "use_count",
    "last_used_at",
)
INSERTED: Final = tuple(name for name in RECORD_COLUMNS if name != "seq")
_values: Final = attrgetter(*INSERTED)
_DATA, _METADATA = RECORD_COLUMNS.index("data"), RECORD_COLUMNS.index("metadata")
_ID, _TEXT, _HASH = (RECORD_COLUMNS.index(name) for name in ("id", "text", "hash"))
_WIDTH: Final = len(RECORD_COLUMNS)

INSERT_RECORD: Final = f"INSERT INTO memories ({', '.join(INSERTED)}) VALUES ({', '.join('?' * len(INSERTED))})"
INSERT_NUMBERED: Final = (
    f"INSERT INTO memories ({', '.join(INSERTED)}, seq) VALUES ({', '.join('?' * len(RECORD_COLUMNS))})"
)
SELECT_RECORD: Final = ", ".join(f"m.{name}" for name in RECORD_COLUMNS)
SELECT_LINK: Final = ", ".join(f"l.{name}" for name in LINK_COLUMNS)
# Members of enumerations, stored as plain text: for each value of any other class the driver looks for an adapter.
_NAMES_AT: Final = tuple(map(INSERTED.index, ("origin", "layer", "kind", "status")))
_DATA_AT, _METADATA_AT = INSERTED.index("data"), INSERTED.index("metadata")


_scope: Final = lru_cache(maxsize=256)(Scope)
"""The rows of one answer mostly have one scope; it cannot be changed, so they may share it."""

_decode: Final = json.JSONDecoder().raw_decode
_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode


def dump_json(value: Any) -> str:
    """Return compact JSON with stable key order, so that equal values are equal text."""
    return _encode(value) if value else "{}"


def load_json_object(text: str | None) -> dict[str, Any]:
    """Return a JSON object; anything else reads as empty, so that one bad row never hides the others."""
    if not text or text == "{}":
        return {}
    try:
        value, end = _decode(text)
        if end != len(text):  # blanks may follow; nothing else may
            value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def record_params(record: Record) -> list[Any]:
    """Return the parameters of ``INSERT_RECORD``."""
    values = list(_values(record))
    for at in _NAMES_AT:
        values[at] = str(values[at])
    values[_DATA_AT] = dump_json(record.data)
    values[_METADATA_AT] = dump_json(record.metadata)
    return values


def to_record(row: Row) -> Record:
    """Read a record from a row that starts with ``SELECT_RECORD``.

    Raise ``Corrupted`` if its text is not what was stored.
    """
    refuse_damaged(row[_ID], row[_TEXT], row[_HASH])
    values = (
        *row[:_DATA],
        load_json_object(row[_DATA]),
        load_json_object(row[_METADATA]),
        *row[_METADATA + 1 : _WIDTH],
    )
    return Record(*values)


def refuse_damaged(memory_id: str, text: str, stored_hash: str) -> None:
    """Raise ``Corrupted`` if a text is not the one that was stored; where the words are gone, the hash is, too.

    A database notices when its own structure is damaged, not when a character of a text has become another.
    """
    if stored_hash and hashlib.md5(text.encode(), usedforsecurity=False).hexdigest() != stored_hash:
        raise Corrupted(
            f"the memory {memory_id} is damaged: its text is not what was stored",
            hint=f"restore a backup, or remove this one: `memstone erase --memory {memory_id}`",
        )


def to_link(row: Row) -> Link:
    """Return a link from a row of ``SELECT_LINK``."""
    tenant, user, agent, run, created_at, dedupe, origin, use_count, last_used_at = row
    return Link(_scope(tenant, user, agent, run), created_at, dedupe, origin, use_count, last_used_at)


def link_part(row: Row) -> Row:
    """Return what follows the record in a row that has both."""
    return row[_WIDTH:]


# --- files that hold what people said ---------------------------------------------------------------------------------


ONLY_ME: Final = 0o600
MY_FOLDER: Final = 0o700


def make_private(path: Path) -> None:
    """Make an empty file that only its owner may read. One that is there stays as it is, and is not even opened.

    What cannot be made is left to whoever opens it next, and says what is wrong.
    """
    with suppress(OSError):
        path.resolve().touch(ONLY_ME, exist_ok=False)


# --- a log line for every memory that was stored, changed or deleted --------------------------------------------------


T = TypeVar("T")
_ONE_BY_ONE: Final = 50
"""More than so many in one transaction are counted: an import would fill a disk with lines."""

_QUIET: Final = (EventType.FEEDBACK,)
_log: Final = logging.getLogger("memstone.store")


async def run_and_log(work: Work[T], run: Callable[[Work[T]], Awaitable[T]]) -> T:
    """Run a unit and, when it is stored, log what it did."""
    if not _log.isEnabledFor(logging.INFO):
        return await run(work)
    messages: list[Event] = []

    async def unit(tx: Tx) -> T:
        messages.clear()  # it may be run again
        events: Any = tx.events
        events.recorder = messages
        try:
            return await work(tx)
        finally:
            events.recorder = None

    answer = await run(unit)
    log_stored_events(messages)
    return answer


def log_stored_events(events: Iterable[Event]) -> None:
    """Log events that are stored, or how many of each kind when there are many."""
    done = [event for event in events if event.event not in _QUIET]
    if len(done) > _ONE_BY_ONE:
        _log_counts(done)
        return
    for event in done:
        _log_one(event)


def _log_one(event: Event) -> None:
    after, scope, memory_id = event.after or {}, event.scope, event.memory_id
    owner, kind = scope.user_id or scope.agent_id or scope.run_id, after.get("kind")
    if event.is_deleted:
        log_event("memory.deleted", logger=_log, id=memory_id)
    elif event.event == EventType.ADD:
        log_event("memory.stored", logger=_log, owner=owner, type=kind, id=memory_id)
    else:
        log_event("memory.updated", logger=_log, owner=owner, type=kind, id=memory_id, key=after.get("key"))


def _log_counts(events: Iterable[Event]) -> None:
    counts = Counter("deleted" if one.is_deleted else str(one.event) for one in events)
    deleted, stored = counts.pop("deleted", 0), counts.pop(str(EventType.ADD), 0)
    if stored:
        log_event("memory.stored", logger=_log, count=stored)
    if updated := counts.total():
        log_event("memory.updated", logger=_log, count=updated)
    if deleted:
        log_event("memory.deleted", logger=_log, count=deleted)
