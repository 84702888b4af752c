"""The fake of a store in a process of its own, so that its work is not counted."""

from __future__ import annotations

import sys
from typing import Any

from memstone.testing.wire import WireServer

KEY = "bench"


def main() -> None:
    """Serve one fake until standard input ends; its address is the only line it prints."""
    handler = _build_handler(sys.argv[1])
    with WireServer(handler) as server:
        if hasattr(handler, "url"):
            handler.url = server.url
        print(server.url, flush=True)
        sys.stdin.read()


def _build_handler(name: str) -> Any:
    if name == "qdrant":
        from tests.stores.fake_qdrant import FakeQdrant

        return FakeQdrant(KEY)
    if name == "pinecone":
        from tests.stores.fake_pinecone import FakePinecone

        return FakePinecone(KEY)
    from tests.stores.fake_azure_search import FakeAzureSearch

    return FakeAzureSearch(KEY)


if __name__ == "__main__":
    main()
