"""What the gateway counts, for whoever scrapes this process."""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter

SKIPPED: Final = Counter(
    "memstone_gateway_memory_skipped", "Chats that went on without memory, by why.", labelnames=("reason",)
)
ROUNDS: Final = Counter("memstone_gateway_tool_rounds", "Times a model searched the memory by itself.")
UPSTREAM: Final = Counter(
    "memstone_gateway_upstream_failures", "Attempts at an upstream that gave no answer.", labelnames=("upstream",)
)
CUT: Final = Counter("memstone_gateway_streams_cut", "Streams that ended before their end, by who ended them.", ("by",))
