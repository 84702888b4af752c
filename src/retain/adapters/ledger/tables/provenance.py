"""From turns to what became of the facts in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from retain.adapters.ledger.codec import load
from retain.adapters.ledger.seam import Sql, chunks, marks
from retain.model.instant import Instant
from retain.model.scope import Scope
from retain.ports.provenance import Overtaken

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


class ProvenanceTable:
    """See ``retain.ports.provenance.Provenance``."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def overtaken(self, scope: Scope, turn_ids: Sequence[str], now: Instant) -> list[Overtaken]:
        found: list[Overtaken] = []
        c_seen, who = _seen("c", scope)
        m_seen, _ = _seen("m", scope)
        for part in chunks(turn_ids):
            query = _OVERTAKEN.format(c_seen=c_seen, m_seen=m_seen, ids=marks(len(part)))
            rows = await self._sql.rows(query, (now, *who, scope.tenant_id, *part, *who))
            # What became part of another memory, or was shortened, is not overtaken: that one says it.
            found += [Overtaken(*row[:3]) for row in rows if row[2] is not None or "into" not in load(row[3])]
        return found


def _seen(row: str, scope: Scope) -> tuple[str, list[str]]:
    """That a row is seen through a link of the scope, and the values it takes."""
    given = [(name, getattr(scope, name)) for name in ("user_id", "agent_id", "run_id") if getattr(scope, name)]
    narrowed = "".join(f" AND l.{name} = ?" for name, _ in given)
    linked = f"l.tenant_id = {row}.tenant_id AND l.memory_seq = {row}.seq{narrowed}"
    return f"EXISTS (SELECT 1 FROM links l WHERE {linked})", [value for _, value in given]
