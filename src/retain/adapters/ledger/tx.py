"""One transaction: all tables over one connection."""

from __future__ import annotations

from retain.adapters.ledger.seam import Sql
from retain.adapters.ledger.tables.admin import AdminTable
from retain.adapters.ledger.tables.calibration import CalibrationTable
from retain.adapters.ledger.tables.entities import EntitiesTable
from retain.adapters.ledger.tables.events import EventsTable
from retain.adapters.ledger.tables.fulltext import FullTextTable
from retain.adapters.ledger.tables.inbox import IdempotencyTable, LlmCacheTable, SignalsTable, SuppressedTable
from retain.adapters.ledger.tables.links import LinksTable
from retain.adapters.ledger.tables.memories import Compile, MemoriesTable
from retain.adapters.ledger.tables.provenance import ProvenanceTable
from retain.adapters.ledger.tables.receipts import ReceiptsTable
from retain.adapters.ledger.tables.stored import StoredTexts
from retain.adapters.ledger.tables.vectors import IndexesTable, VectorsTable


class SqlTx:
    """See ``retain.ports.ledger.Tx``; made once per connection."""

    def __init__(self, sql: Sql, compile_where: Compile) -> None:
        self.memories = MemoriesTable(sql, compile_where)
        self.links = LinksTable(sql)
        self.events = EventsTable(sql)
        self.text = FullTextTable(sql)
        self.vectors = VectorsTable(sql)
        self.entities = EntitiesTable(sql)
        self.indexes = IndexesTable(sql)
        self.signals = SignalsTable(sql)
        self.suppressed = SuppressedTable(sql)
        self.idempotency = IdempotencyTable(sql)
        self.llm_cache = LlmCacheTable(sql)
        self.receipts = ReceiptsTable(sql)
        self.calibration = CalibrationTable(sql)
        self.provenance = ProvenanceTable(sql)
        self.stored = StoredTexts(sql)
        self.admin = AdminTable(sql)
