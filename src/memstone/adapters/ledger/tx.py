"""One transaction: all tables over one connection."""

from __future__ import annotations

from memstone.adapters.ledger.seam import Sql
from memstone.adapters.ledger.tables.accounts import AccountsTable
from memstone.adapters.ledger.tables.admin import AdminTable
from memstone.adapters.ledger.tables.agents import AgentsTable
from memstone.adapters.ledger.tables.bulk import BulkTables
from memstone.adapters.ledger.tables.calibration import CalibrationTable
from memstone.adapters.ledger.tables.continuations import ContinuationsTable
from memstone.adapters.ledger.tables.entities import EntitiesTable
from memstone.adapters.ledger.tables.erasure import ErasureTable
from memstone.adapters.ledger.tables.events import EventsTable
from memstone.adapters.ledger.tables.fulltext import FullTextTable
from memstone.adapters.ledger.tables.inbox import IdempotencyTable, LlmCacheTable, SignalsTable, SuppressedTable
from memstone.adapters.ledger.tables.jobs import JobsTable
from memstone.adapters.ledger.tables.keys import ApiKeysTable
from memstone.adapters.ledger.tables.leases import LeasesTable
from memstone.adapters.ledger.tables.links import LinksTable
from memstone.adapters.ledger.tables.memories import Compile, MemoriesTable
from memstone.adapters.ledger.tables.metrics import MetricsTable
from memstone.adapters.ledger.tables.owned import OwnedRows
from memstone.adapters.ledger.tables.preferences import PreferencesTable
from memstone.adapters.ledger.tables.provenance import ProvenanceTable
from memstone.adapters.ledger.tables.receipts import ReceiptsTable
from memstone.adapters.ledger.tables.stored import StoredTexts
from memstone.adapters.ledger.tables.upkeep import UpkeepTable
from memstone.adapters.ledger.tables.vault import VaultTable
from memstone.adapters.ledger.tables.vectors import IndexesTable, VectorsTable


class SqlTx:
    """See ``memstone.ports.ledger.Tx``; made once per connection."""

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
