"""From turns to what became of the facts in them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

from memstone.adapters.ledger.codec import load
from memstone.adapters.ledger.seam import Sql, chunks, marks
from memstone.model.instant import Instant
from memstone.model.scope import Scope
from memstone.ports.tables import Overtaken, TurnFact

# A version that only got other metadata, or was put aside, says what its successor says, and is not overtaken.
_OVERTAKEN: Final = """
SELECT m.origin_id, m.id, c.text, m.data
FROM memories m
LEFT JOIN memories c ON c.tenant_id = m.tenant_id AND c.id = m.id AND c.valid_to IS NULL AND c.status = 'active'
     AND (c.expires_at IS NULL OR c.expires_at > ?) AND {c_seen}
WHERE m.tenant_id = ? AND m.origin_id IN ({ids}) AND m.layer = 'fact' AND m.status = 'superseded' AND {m_seen}
  AND (c.hash IS NULL OR c.hash <> m.hash)
  AND NOT EXISTS (SELECT 1 FROM memories a WHERE a.tenant_id = m.tenant_id AND a.id = m.id AND a.valid_to IS NULL
                    AND a.status <> 'active' AND a.hash = m.hash)
ORDER BY m.seq"""

# Every version that was learned from a turn, and what its memory says now.
_FACTS: Final = """
SELECT m.origin_id, m.id, m.data, m.hash, c.hash, c.status, c.expires_at, c.data
FROM memories m
LEFT JOIN memories c ON c.tenant_id = m.tenant_id AND c.id = m.id AND c.valid_to IS NULL
WHERE m.tenant_id = ? AND m.origin_id IN ({ids}) AND m.layer = 'fact' AND {m_seen}
ORDER BY m.seq"""

_CURRENT: Final = """
SELECT id, hash, status, expires_at, data FROM memories
WHERE tenant_id = ? AND id IN ({ids}) AND valid_to IS NULL"""

# What ended a memory last, and what the memory that took its place says.
_SUCCESSORS: Final = """
SELECT e.memory_id, e.new_id, c.text
FROM events e
LEFT JOIN memories c ON c.tenant_id = e.tenant_id AND c.id = e.new_id AND c.valid_to IS NULL AND c.status = 'active'
     AND (c.expires_at IS NULL OR c.expires_at > ?) AND {c_seen}
WHERE e.tenant_id = ? AND e.memory_id IN ({ids}) AND e.event = 'DELETE'
ORDER BY e.seq"""
_STEPS: Final = 8
"""So often what took a place may itself have been followed by another memory."""


class _Now(NamedTuple):
    """What a memory says now; nothing where it has ended."""

    hash: str | None = None
    status: str | None = None
    expires_at: Instant | None = None
    data: str | None = None


class _Learned(NamedTuple):
    """A version that was learned from a turn: what is noted of it, and what its memory says now."""

    turn: str
    fact: str
    data: str
    hash: str
    now: _Now

    @property
    def notes(self) -> Mapping[str, Any]:
        return load(self.data)

    @property
    def has_evidence(self) -> bool:
        return isinstance(self.notes.get("evidence"), dict)

    @property
    def into(self) -> str:
        """The memory that it became a part of, and that says what it said."""
        return str(self.notes.get("into") or "")

    def as_fact(self, holder: _Now, now: Instant) -> TurnFact:
        """As a fact of its turn, which ``holder`` holds now."""
        visibility = None if holder.data is None else load(holder.data).get("visibility")
        same = holder.hash is not None if self.into else holder.hash == self.hash
        lives = holder.status == "active" and (holder.expires_at is None or holder.expires_at > now)
        evidence = self.notes.get("evidence")
        return TurnFact(
            self.turn,
            self.fact,
            str(evidence.get("quote") or "") if isinstance(evidence, dict) else "",
            holds=same and lives and visibility != "private",
            in_profile=visibility != "hidden",
            is_private=visibility == "private",
            expires_at=holder.expires_at,
        )


class ProvenanceTable:
    """See ``memstone.ports.tables.Provenance``."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def facts_of(self, scope: Scope, turn_ids: Sequence[str], now: Instant) -> list[TurnFact]:
        seen, who = _seen("m", scope)
        found: dict[tuple[str, str], _Learned] = {}
        for part in chunks(turn_ids):
            query = _FACTS.format(m_seen=seen, ids=marks(len(part)))
            for row in await self._sql.rows(query, (scope.tenant_id, *part, *who)):
                turn, fact, data, said, *holds = row
                learned = _Learned(turn, fact, data, said, _Now(*holds))
                # A version that somebody wrote by hand is not what was said; the one it took the place of is.
                if learned.has_evidence or (learned.turn, learned.fact) not in found:
                    found[learned.turn, learned.fact] = learned
        others = await self._now(scope.tenant_id, {one.into for one in found.values() if one.into})
        return [one.as_fact(others.get(one.into, one.now), now) for one in found.values()]

    async def _now(self, tenant_id: str, ids: Collection[str]) -> dict[str, _Now]:
        """What memories say now into which others were merged."""
        found: dict[str, _Now] = {}
        for part in chunks(sorted(ids)):
            query = _CURRENT.format(ids=marks(len(part)))
            found |= {row[0]: _Now(*row[1:]) for row in await self._sql.rows(query, (tenant_id, *part))}
        return found

    async def overtaken(self, scope: Scope, turn_ids: Sequence[str], now: Instant) -> list[Overtaken]:
        found: list[Overtaken] = []
        c_seen, who = _seen("c", scope)
        m_seen, _ = _seen("m", scope)
        for part in chunks(turn_ids):
            query = _OVERTAKEN.format(c_seen=c_seen, m_seen=m_seen, ids=marks(len(part)))
            rows = await self._sql.rows(query, (now, *who, scope.tenant_id, *part, *who))
            # What became part of another memory, or was shortened, is not overtaken: that one says it.
            found += [Overtaken(*row[:3]) for row in rows if row[2] is not None or "into" not in load(row[3])]
        for _ in range(_STEPS):
            ended = {one.fact_id for one in found if one.text is None}
            after = await self._successors(scope, sorted(ended), now) if ended else {}
            if not after:
                break
            found = [Overtaken(one.turn_id, *after.get(one.fact_id, (one.fact_id, one.text))) for one in found]
        return found

    async def _successors(self, scope: Scope, ids: Sequence[str], now: Instant) -> dict[str, tuple[str, str | None]]:
        """For each memory that ended because another took its place: that one, and what it says."""
        c_seen, who = _seen("c", scope)
        last: dict[str, tuple[str | None, str | None]] = {}
        for part in chunks(ids):
            query = _SUCCESSORS.format(c_seen=c_seen, ids=marks(len(part)))
            rows = await self._sql.rows(query, (now, *who, scope.tenant_id, *part))
            last |= {memory_id: (new_id, text) for memory_id, new_id, text in rows}
        return {memory_id: (new_id, text) for memory_id, (new_id, text) in last.items() if new_id is not None}


def _seen(row: str, scope: Scope) -> tuple[str, list[str]]:
    """That a row is seen through a link of the scope, and the values it takes."""
    given = [(name, getattr(scope, name)) for name in ("user_id", "agent_id", "run_id") if getattr(scope, name)]
    narrowed = "".join(f" AND l.{name} = ?" for name, _ in given)
    linked = f"l.tenant_id = {row}.tenant_id AND l.memory_seq = {row}.seq{narrowed}"
    return f"EXISTS (SELECT 1 FROM links l WHERE {linked})", [value for _, value in given]
