"""Values that differ by profile or by wish; never a code path."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """How large things may be. Beyond a limit there is an error, never a silent cut."""

    text_chars: int = 50_000
    key_chars: int = 512
    metadata_bytes: int = 65_536
    messages: int = 1_000
    batch: int = 1_000
    page: int = 10_000


@dataclass(frozen=True, slots=True)
class Policy:
    """How a memory behaves."""

    dedupe_scope: tuple[str, ...] = ("user_id", "agent_id", "run_id")
    strategy: str = "hybrid"
    limit: int = 100
    min_score: float | None = None
    limits: Limits = Limits()
