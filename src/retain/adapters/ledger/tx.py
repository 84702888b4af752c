"""One transaction: all tables over one connection."""

from __future__ import annotations

from retain.adapters.ledger.seam import Sql
from retain.adapters.ledger.tables.accounts import AccountsTable
from retain.adapters.ledger.tables.admin import AdminTable
from retain.adapters.ledger.tables.agents import AgentsTable
from retain.adapters.ledger.tables.bulk import BulkTables
from retain.adapters.ledger.tables.calibration import CalibrationTable
from retain.adapters.ledger.tables.continuations import ContinuationsTable
from retain.adapters.ledger.tables.entities import EntitiesTable
from retain.adapters.ledger.tables.erasure import ErasureTable
from retain.adapters.ledger.tables.events import EventsTable
from retain.adapters.ledger.tables.fulltext import FullTextTable
from retain.adapters.ledger.tables.inbox import IdempotencyTable, LlmCacheTable, SignalsTable, SuppressedTable
from retain.adapters.ledger.tables.jobs import JobsTable
from retain.adapters.ledger.tables.keys import ApiKeysTable
from retain.adapters.ledger.tables.leases import LeasesTable
from retain.adapters.ledger.tables.links import LinksTable
from retain.adapters.ledger.tables.memories import Compile, MemoriesTable
from retain.adapters.ledger.tables.metrics import MetricsTable
from retain.adapters.ledger.tables.owned import OwnedRows
from retain.adapters.ledger.tables.preferences import PreferencesTable
from retain.adapters.ledger.tables.provenance import ProvenanceTable
from retain.adapters.ledger.tables.receipts import ReceiptsTable
from retain.adapters.ledger.tables.stored import StoredTexts
from retain.adapters.ledger.tables.upkeep import UpkeepTable
from retain.adapters.ledger.tables.vault import VaultTable
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
        self.jobs = JobsTable(sql)
        self.leases = LeasesTable(sql)
        self.suppressed = SuppressedTable(sql)
        self.idempotency = IdempotencyTable(sql)
        self.llm_cache = LlmCacheTable(sql)
        self.continuations = ContinuationsTable(sql)
        self.receipts = ReceiptsTable(sql)
        self.calibration = CalibrationTable(sql)
        self.provenance = ProvenanceTable(sql)
        self.api_keys = ApiKeysTable(sql)
        self.accounts = AccountsTable(sql)
        self.metrics = MetricsTable(sql)
        self.owned = OwnedRows(sql)
        self.erasure = ErasureTable(sql)
        self.vault = VaultTable(sql)
        self.preferences = PreferencesTable(sql)
        self.agents = AgentsTable(sql)
        self.stored = StoredTexts(sql)
        self.upkeep = UpkeepTable(sql)
        self.bulk = BulkTables(sql)
        self.admin = AdminTable(sql)
