"""A transaction: all tables over one connection."""

from __future__ import annotations

from memstone.adapters.sql.access import (
    AccountsTable,
    AdminTable,
    AgentsTable,
    ApiKeysTable,
    PreferencesTable,
    VaultTable,
)
from memstone.adapters.sql.browse import BrowseTable
from memstone.adapters.sql.entities import EntitiesTable
from memstone.adapters.sql.erasure import ErasureTable
from memstone.adapters.sql.events import EventsTable, MetricsTable, UpkeepTable
from memstone.adapters.sql.indexes import FullTextTable, IndexesTable, OwnedRows, StoredTexts, VectorsTable
from memstone.adapters.sql.memories import BulkTables, Compile, LinksTable, MemoriesTable, ProvenanceTable
from memstone.adapters.sql.rows import SqlConnection
from memstone.adapters.sql.work import (
    CalibrationTable,
    ContinuationsTable,
    IdempotencyTable,
    JobsTable,
    LeasesTable,
    LlmCacheTable,
    ReceiptsTable,
    SignalsTable,
    SuppressedTable,
)


class SqlTx:
    """See ``memstone.ports.ledger.Tx``; made once per connection."""

    def __init__(self, sql: SqlConnection, compile_where: Compile) -> None:
        self.memories = MemoriesTable(sql, compile_where)
        self.browse = BrowseTable(sql, compile_where, self.memories)
        self.links = LinksTable(sql)
        self.events = EventsTable(sql)
        self.text = FullTextTable(sql)
        self.vectors = VectorsTable(sql)
        self.entities = EntitiesTable(sql)
        self.indexes = IndexesTable(sql)
        self.signals = SignalsTable(sql)
        self.jobs = JobsTable(sql)
        self.leases = LeasesTable(sql)
        self.suppressions = SuppressedTable(sql)
        self.idempotency = IdempotencyTable(sql)
        self.llm_cache = LlmCacheTable(sql)
        self.continuations = ContinuationsTable(sql)
        self.receipts = ReceiptsTable(sql)
        self.calibration = CalibrationTable(sql)
        self.provenance = ProvenanceTable(sql)
        self.api_keys = ApiKeysTable(sql)
        self.accounts = AccountsTable(sql)
        self.metrics = MetricsTable(sql)
        self.rows_by_owner = OwnedRows(sql)
        self.erasure = ErasureTable(sql)
        self.vault = VaultTable(sql)
        self.preferences = PreferencesTable(sql)
        self.agents = AgentsTable(sql)
        self.stored_rows = StoredTexts(sql)
        self.upkeep = UpkeepTable(sql)
        self.bulk = BulkTables(sql)
        self.admin = AdminTable(sql)
