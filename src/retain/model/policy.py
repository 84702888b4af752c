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
class Curation:
    """How facts are learned from what is said.

    ``redact`` says what to do about each kind of secret; kinds that are not named keep their default. The prompts
    replace the built-in instructions of the two questions a language model is asked; '' keeps them.
    """

    roles: tuple[str, ...] = ("user", "assistant")
    assistant_first_person: bool = False
    timezone: str = "UTC"
    extraction_prompt: str = ""
    decision_prompt: str = ""
    instructions: str = ""
    redact: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Policy:
    """How a memory behaves."""

    dedupe_scope: tuple[str, ...] = ("user_id", "agent_id", "run_id")
    strategy: str = "hybrid"
    limit: int = 100
    min_score: float | None = None
    limits: Limits = Limits()
    curation: Curation = Curation()
    bare_lists: bool = False
