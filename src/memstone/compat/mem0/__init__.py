"""mem0's interface over Memstone: change one import, and your code runs on Memstone.

    from memstone.compat.mem0 import Memory

What differs is listed in the guide "Coming from mem0".
"""

from __future__ import annotations

from memstone.compat.mem0.answers import MemoryNotFound
from memstone.compat.mem0.client import AsyncMemoryClient, MemoryClient
from memstone.compat.mem0.memory import AsyncMemory, Memory

__all__ = ["AsyncMemory", "AsyncMemoryClient", "Memory", "MemoryClient", "MemoryNotFound"]
