"""Find, remove and count what belongs to somebody, table by table."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final

from memstone.adapters.sql.entities import EntitiesTable
from memstone.adapters.sql.indexes import FullTextTable
from memstone.adapters.sql.rows import Row, SqlConnection, load_json_object, placeholder_list, split_chunks
from memstone.model.ids import new_id
from memstone.model.instant import Instant
from memstone.model.scope import Scope
from memstone.ports.erasure import RemovedText, Subject, SubjectVersions

_FIELDS: Final = ("user_id", "agent_id", "run_id")
_SCOPED: Final = ("signals", "jobs", "receipts", "entities")
"""Tables whose rows say whose they are by all three fields; versions and events are looked at apart."""

_BY_USER: Final = ("counters",)
"""Tables that count by user: they go with the user, and say nothing of a single agent, run or memory."""

_BOUND: Final = ("accounts", "continuations")
"""Tables whose rows stand for a user: the login and the name of whoever goes, and with them their sessions; and where
answers in their chats ended."""

_OF_EVENTS: Final = ("old_text", "new_text", "reason", "before", "after")
_TEXTS: Final[dict[str, tuple[str, ...]]] = {
    "events": _OF_EVENTS,
    "signals": ("user_text", "assistant_text", "data", "last_error"),
    "jobs": ("details",),
    "receipts": ("body",),
    "entities": ("name", "description"),
}
_OF_VERSIONS: Final = ("text", "key", "data", "metadata")
_NAMING: Final = {
    "user_id": (
        *("links", "events", "signals", "jobs", "receipts", "entities"),
        *("changes", "counters", "accounts", "continuations"),
    ),
    "agent_id": ("links", "events", "signals", "jobs", "receipts", "entities"),
    "run_id": ("links", "events", "signals", "jobs", "receipts", "entities"),
    "memory_id": ("events", "suppressed"),
}
_PARTS: Final = ("vectors", "links")
_MERGED_PAGES: Final = 64
"""So much of the full text is merged in one go: some 50 ms."""


class ErasureTable:
    """See ``memstone.ports.erasure.Erasure``."""

    def __init__(self, sql: SqlConnection) -> None:
        self._sql = sql

    async def reach(self, subject: Subject, gone: Collection[str] = ()) -> SubjectVersions:
        seqs = await self._seqs(subject)
        shared = await self._seen_by_others(subject, seqs)
        own = {seq for seq in seqs if seq not in shared}
        own |= await self._find_derived(subject.tenant_id, {*gone, *await self._ids(subject.tenant_id, sorted(own))})
        ids = await self._ids(subject.tenant_id, [*seqs, *own])
        remaining = await self._find_remaining_ids(subject.tenant_id, ids, own)
        return SubjectVersions(sorted(own), sorted(shared - own), sorted(ids - remaining), sorted(ids & remaining))

    async def versions(self, tenant_id: str, ids: Sequence[str]) -> list[int]:
        query = "SELECT seq FROM memories WHERE tenant_id = ? AND id IN ({}){}"
        return [int(row[0]) for row in await self._among(query, tenant_id, ids)]

    async def drop_memories(self, subject: Subject, ids: Sequence[str]) -> dict[str, int]:
        query = "SELECT seq, id FROM memories WHERE tenant_id = ? AND id IN ({}){}"
        found = [(int(seq), str(name)) for seq, name in await self._among(query, subject.tenant_id, ids)]
        shared = await self._seen_by_others(subject, [seq for seq, _ in found])
        remaining = {name for seq, name in found if seq in shared}
        going = [one for one in ids if one not in remaining]
        counts = await self.drop_versions(subject.tenant_id, [seq for seq, name in found if name not in remaining])
        return {**counts, **await self._drop_events(subject.tenant_id, going)}

    async def _drop_events(self, tenant_id: str, ids: Sequence[str]) -> dict[str, int]:
        counts = {"events": await self._remove("events", tenant_id, "memory_id", ids)}
        counts["suppressed"] = await self._remove("suppressed", tenant_id, "memory_id", ids)
        counts["suppressed"] += await self._remove("suppressed", tenant_id, "turn_id", ids)
        return counts

    async def _find_derived(self, tenant_id: str, ids: set[str]) -> set[int]:
        """Return what was put together from memories that go says the same in other words, whoever sees it."""
        if not ids:
            return set()
        query = """SELECT seq, id, data, origin_id FROM memories WHERE tenant_id = ?
            AND (data LIKE '%"derived_from"%' OR layer IN ('identity', 'episode'))"""
        rows = await self._sql.rows(query, (tenant_id,))
        made = [
            (int(seq), str(name), _source_ids(load_json_object(data)) | {str(origin)})
            for seq, name, data, origin in rows
        ]
        gone, found = set(ids), set[int]()
        while True:
            more = {seq: name for seq, name, sources in made if seq not in found and gone & sources}
            if not more:
                return found
            found |= more.keys()
            gone |= set(more.values())

    async def _seqs(self, subject: Subject) -> list[int]:
        """Return every version that a link names, and those nobody sees any more whose history is the subject's."""
        tenant, scope = subject.tenant_id, subject.scope
        if scope.is_open:
            query = "SELECT seq FROM memories WHERE tenant_id = ? AND id = ? ORDER BY seq"
            return [int(row[0]) for row in await self._sql.rows(query, (tenant, subject.memory_id))]
        inside, values = _scope_condition(scope, "l.")
        named = " AND m.id = ?" if subject.memory_id else ""
        items = [subject.memory_id] if subject.memory_id else []
        linked = f"""SELECT l.memory_seq FROM links l JOIN memories m ON m.seq = l.memory_seq
            WHERE l.tenant_id = ?{inside}{named}"""
        inside, _ = _scope_condition(scope, "e.")
        orphans = f"""SELECT m.seq FROM events e JOIN memories m ON m.tenant_id = e.tenant_id AND m.id = e.memory_id
            WHERE e.tenant_id = ?{inside}{named}
              AND NOT EXISTS (SELECT 1 FROM links l WHERE l.tenant_id = m.tenant_id AND l.memory_seq = m.seq)"""
        params = (tenant, *values, *items)
        return sorted({int(row[0]) for row in await self._sql.rows(f"{linked} UNION {orphans}", params + params)})

    async def _seen_by_others(self, subject: Subject, seqs: Sequence[int]) -> set[int]:
        if subject.scope.is_open:
            return set()
        inside, values = _scope_condition(subject.scope, "")
        # A mirror is a second way to see what somebody said, not somebody else who keeps it.
        query = (
            "SELECT DISTINCT memory_seq FROM links "
            "WHERE tenant_id = ? AND memory_seq IN ({}) AND origin <> 'mirror' AND NOT (1 = 1{})"
        )
        return {int(row[0]) for row in await self._among(query, subject.tenant_id, seqs, inside, values)}

    async def _ids(self, tenant_id: str, seqs: Sequence[int]) -> set[str]:
        query = "SELECT DISTINCT id FROM memories WHERE tenant_id = ? AND seq IN ({}){}"
        return {str(row[0]) for row in await self._among(query, tenant_id, seqs)}

    async def _find_remaining_ids(self, tenant_id: str, ids: set[str], gone: set[int]) -> set[str]:
        query = "SELECT id, seq FROM memories WHERE tenant_id = ? AND id IN ({}){}"
        rows = await self._among(query, tenant_id, sorted(ids))
        return {str(memory_id) for memory_id, seq in rows if int(seq) not in gone}

    async def _among(
        self, query: str, tenant_id: str, keys: Sequence[Any], more: str = "", values: Sequence[str] = ()
    ) -> list[Row]:
        found: list[Row] = []
        for part in split_chunks(keys):
            found += await self._sql.rows(query.format(placeholder_list(len(part)), more), (tenant_id, *part, *values))
        return found

    async def words(self, subject: Subject, reach: SubjectVersions) -> RemovedText:
        tenant, texts = subject.tenant_id, "SELECT text FROM memories WHERE tenant_id = ? AND seq IN ({}){}"
        shared = {str(row[0]) for row in await self._among(texts, tenant, reach.shared)}
        sentences = [str(row[0]) for row in await self._among(texts, tenant, reach.own)]
        query = f"SELECT {', '.join(_OF_VERSIONS)} FROM memories WHERE tenant_id = ? AND seq IN ({{}}){{}}"
        found = await self._among(query, tenant, reach.own)
        query = f"SELECT {', '.join(_OF_EVENTS)} FROM events WHERE tenant_id = ? AND memory_id IN ({{}}){{}}"
        found += await self._among(query, tenant, reach.ids)
        if not subject.memory_id:
            waiting = await self._of_scope(subject, "signals", ("user_text", "assistant_text"))
            sentences += [str(text) for row in waiting for text in row if text]
            for table, columns in _TEXTS.items():
                found += await self._of_scope(subject, table, columns)
        every = dict.fromkeys(text for row in found for value in row for text in _column_texts(value))
        return RemovedText([text for text in dict.fromkeys(sentences) if text not in shared], list(every))

    async def _of_scope(self, subject: Subject, table: str, columns: Sequence[str]) -> list[Row]:
        inside, values = _scope_condition(subject.scope, "")
        query = f"SELECT {', '.join(columns)} FROM {table} WHERE tenant_id = ?{inside}"
        return await self._sql.rows(query, (subject.tenant_id, *values))

    async def unlink(self, subject: Subject, seqs: Sequence[int]) -> int:
        inside, values = _scope_condition(subject.scope, "")
        return await self._remove("links", subject.tenant_id, "memory_seq", seqs, inside, values)

    async def drop_versions(self, tenant_id: str, seqs: Sequence[int]) -> dict[str, int]:
        counts = {table: await self._count(table, tenant_id, seqs) for table in ("mentions", "relations")}
        before, touched = await self._entities(tenant_id), await self._find_mentioned_entities(tenant_id, seqs)
        await EntitiesTable(self._sql).leave(tenant_id, seqs)
        await self._undescribe(tenant_id, touched)
        counts["entities"] = before - await self._entities(tenant_id)
        counts["words"] = await self._remove_words(seqs)
        for table in _PARTS:
            counts[table] = await self._remove(table, tenant_id, "memory_seq", seqs)
        counts["memories"] = await self._remove("memories", tenant_id, "seq", seqs)
        return counts

    async def _count(self, table: str, tenant_id: str, seqs: Sequence[int]) -> int:
        query = f"SELECT count(*) FROM {table} WHERE tenant_id = ? AND memory_seq IN ({{}}){{}}"
        return sum(int(row[0]) for row in await self._among(query, tenant_id, seqs))

    async def _entities(self, tenant_id: str) -> int:
        row = await self._sql.one("SELECT count(*) FROM entities WHERE tenant_id = ?", (tenant_id,))
        return int(row[0]) if row else 0

    async def _find_mentioned_entities(self, tenant_id: str, seqs: Sequence[int]) -> list[str]:
        query = "SELECT DISTINCT entity_id FROM mentions WHERE tenant_id = ? AND memory_seq IN ({}){}"
        return [str(row[0]) for row in await self._among(query, tenant_id, seqs)]

    async def _undescribe(self, tenant_id: str, ids: Sequence[str]) -> None:
        """Remove the description of entities that others mention: it may be in words that go."""
        for part in split_chunks(ids):
            query = (
                f"UPDATE entities SET description = NULL WHERE tenant_id = ? AND id IN ({placeholder_list(len(part))})"
            )
            await self._sql.run(query, (tenant_id, *part))

    async def _remove_words(self, seqs: Sequence[int]) -> int:
        query = "SELECT seq FROM words WHERE seq IN ({})"
        there = [
            row[0]
            for part in split_chunks(seqs)
            for row in await self._sql.rows(query.format(placeholder_list(len(part))), part)
        ]
        await self._drop_words(there)
        return len(there)

    async def _drop_words(self, seqs: Sequence[int]) -> None:
        await FullTextTable(self._sql).drop(seqs)

    async def drop_history(self, subject: Subject, reach: SubjectVersions) -> dict[str, int]:
        tenant = subject.tenant_id
        counts = await self._drop_events(tenant, reach.ids)
        inside, values = _scope_condition(subject.scope, "")
        if not subject.memory_id:
            counts["events"] += await self._sql.run(
                f"DELETE FROM events WHERE tenant_id = ?{inside}", (tenant, *values)
            )
        elif inside:
            counts["events"] += await self._remove("events", tenant, "memory_id", [subject.memory_id], inside, values)
        return counts

    async def drop_scoped(self, subject: Subject) -> dict[str, int]:
        counts: dict[str, int] = {}
        if subject.is_a_user:
            of_user = "account_id IN (SELECT id FROM accounts WHERE tenant_id = ? AND user_id = ?)"
            items = (subject.tenant_id, subject.tenant_id, subject.scope.user_id)
            await self._sql.run(f"DELETE FROM account_sessions WHERE tenant_id = ? AND {of_user}", items)
        for table, condition, values in _table_conditions(subject):
            counts[table] = await self._sql.run(f"DELETE FROM {table} WHERE {condition}", values)
        if counts.get("settings"):  # the row without a name is their version: others must notice
            query = "UPDATE settings SET value = ? WHERE tenant_id = ? AND scope_key = '' AND key = ''"
            await self._sql.run(query, (new_id(), subject.tenant_id))
        return counts

    async def drop_answers(self, tenant_id: str) -> int:
        return await self._sql.run("DELETE FROM llm_cache WHERE tenant_id = ?", (tenant_id,))

    async def list_memories_once_seen(self, subject: Subject) -> list[str]:
        if subject.memory_id or not subject.is_a_user:
            return []
        named = (
            json.dumps(subject.scope.user_id, ensure_ascii=False)
            .replace("\\", "\\\\")
            .replace("%", "\\%")
            .replace("_", "\\_")
        )
        pattern = f'%"user_id":{named}%'
        query = """SELECT DISTINCT memory_id FROM events WHERE tenant_id = ?
            AND (before LIKE ? ESCAPE '\\' OR after LIKE ? ESCAPE '\\')"""
        return [str(row[0]) for row in await self._sql.rows(query, (subject.tenant_id, pattern, pattern))]

    async def rename_changes(self, subject: Subject) -> int:
        if not subject.is_a_user:
            return 0
        query = "UPDATE changes SET user_id = '' WHERE tenant_id = ? AND user_id = ?"
        return await self._sql.run(query, (subject.tenant_id, subject.scope.user_id))

    async def rebuild(self) -> None:
        await self._sql.run("INSERT INTO fulltext (fulltext) VALUES ('rebuild')")

    async def merge_words(self, *, first: bool) -> bool:
        # What was taken out is in the index until the part that holds it is merged with all others. A negative
        # number lets all parts take part in that; the index tells by its rows whether anything was done.
        before = await self._parts()
        pages = -_MERGED_PAGES if first else _MERGED_PAGES
        await self._sql.run("INSERT INTO fulltext (fulltext, rank) VALUES ('merge', ?)", (pages,))
        return first or before != await self._parts()

    async def _parts(self) -> Row | None:
        """Return what changes with every step: which parts there are, and how far merging has come."""
        return await self._sql.one("SELECT block FROM fulltext_data WHERE id = 10")

    async def count_rows(self, subject: Subject, until: Instant | None = None) -> dict[str, int]:
        reach = await self.reach(subject)
        counts = {"memories": await self._stored_by(subject.tenant_id, reach, until)}
        counts["events"] = await self._events_left(subject, until)
        for table, condition, values in _table_conditions(subject):
            dated = until is not None and table not in (*_BY_USER, "settings")
            moment = "updated_at" if table == "entities" else "created_at"
            query = f"SELECT count(*) FROM {table} WHERE {condition}" + (f" AND {moment} <= ?" if dated else "")
            row = await self._sql.one(query, (*values, until) if dated else values)
            counts[table] = int(row[0]) if row else 0
        if until is None and subject.is_a_user:
            query = "SELECT count(*) FROM changes WHERE tenant_id = ? AND user_id = ?"
            row = await self._sql.one(query, (subject.tenant_id, subject.scope.user_id))
            counts["changes"] = int(row[0]) if row else 0
        return counts

    async def _stored_by(self, tenant_id: str, reach: SubjectVersions, until: Instant | None) -> int:
        seqs = [*reach.own, *reach.shared]
        if until is None:
            return len(seqs)
        query = "SELECT seq FROM memories WHERE tenant_id = ? AND seq IN ({}) AND created_at <= ?{}"
        return len(await self._among(query, tenant_id, seqs, "", [until]))

    async def _events_left(self, subject: Subject, until: Instant | None) -> int:
        inside, values = _scope_condition(subject.scope, "")
        items = [subject.tenant_id, *values]
        for column, value in (("memory_id =", subject.memory_id), ("created_at <=", until)):
            if value:
                inside, items = f"{inside} AND {column} ?", [*items, value]
        row = await self._sql.one(f"SELECT count(*) FROM events WHERE tenant_id = ?{inside}", items)
        return int(row[0]) if row else 0

    async def names(self, tenant_id: str, column: str) -> list[str]:
        named = [f"SELECT {column} FROM {table} WHERE tenant_id = ? AND {column} <> ''" for table in _NAMING[column]]
        named += ["SELECT id FROM memories WHERE tenant_id = ?"] if column == "memory_id" else []
        rows = await self._sql.rows(" UNION ".join(named), (tenant_id,) * len(named))
        return [str(row[0]) for row in rows]

    async def _remove(
        self,
        table: str,
        tenant_id: str,
        column: str,
        keys: Sequence[Any],
        more: str = "",
        values: Sequence[str] = (),
    ) -> int:
        removed = 0
        for part in split_chunks(keys):
            query = f"DELETE FROM {table} WHERE tenant_id = ? AND {column} IN ({placeholder_list(len(part))}){more}"
            removed += await self._sql.run(query, (tenant_id, *part, *values))
        return removed


def _scope_condition(scope: Scope, prefix: str) -> tuple[str, list[str]]:
    """Return that a row lies within a scope; "<> ''" repeats the condition of the partial indexes."""
    items = [(name, getattr(scope, name)) for name in _FIELDS if getattr(scope, name)]
    text = "".join(f" AND {prefix}{name} = ? AND {prefix}{name} <> ''" for name, _ in items)
    return text, [value for _, value in items]


# A pause of somebody in a session or with an agent; see memstone.core.settings.lenient.
_TOGETHER: Final = "(substr(scope_key, 1, 6) = 'scope:' AND replace(scope_key, ?, '') <> scope_key)"


def _table_conditions(subject: Subject) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield the tables whose rows say whose they are: each with its condition and the values that this takes."""
    if subject.memory_id:
        return
    inside, values = _scope_condition(subject.scope, "")
    for table in _SCOPED:
        yield table, f"tenant_id = ?{inside}", (subject.tenant_id, *values)
    if subject.is_a_user:
        for table in (*_BY_USER, *_BOUND):
            yield table, "tenant_id = ? AND user_id = ?", (subject.tenant_id, subject.scope.user_id)
    if (key := _setting_key(subject)) is not None:
        kind, _, name = key.partition(":")
        together = json.dumps({kind: name}, ensure_ascii=False, separators=(",", ":"))[1:-1]
        yield "settings", f"tenant_id = ? AND (scope_key = ? OR {_TOGETHER})", (subject.tenant_id, key, together)


def _setting_key(subject: Subject) -> str | None:
    """Return the name under which the settings of one user, agent or run are kept."""
    named = [(name, value) for name in _FIELDS if (value := getattr(subject.scope, name))]
    return f"{named[0][0].removesuffix('_id')}:{named[0][1]}" if len(named) == 1 else None


def _source_ids(data: dict[str, Any]) -> set[str]:
    """Return the memories and turns that something was made from: a summary, an episode, a text about the user."""
    lists = (data.get(name) for name in ("derived_from", "facts", "turns"))
    return {one for named in lists if isinstance(named, (list, dict)) for one in named if isinstance(one, str)}


def _column_texts(value: Any) -> Iterator[str]:
    """Yield the texts in a column: itself, or what JSON in it holds, as it is and as it is written there."""
    if not isinstance(value, str) or not value:
        return
    leaves = list(_json_strings(load_json_object(value))) if value[0] in "{[" else []
    for text in leaves or [value]:
        yield text
        if leaves and (written := json.dumps(text, ensure_ascii=False)[1:-1]) != text:
            yield written


def _json_strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _json_strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from _json_strings(one)
