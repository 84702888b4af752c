"""Values that differ by profile or by wish; never a code path."""

from __future__ import annotations

from dataclasses import dataclass, field

from retain.model.own import OwnRules


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

    ``strategies`` are the extractors that run: ``pattern`` (rules), ``facts`` (a language model); none named means the
    model where there is one, else the rules. ``redact`` says what to do about each kind of secret; kinds that are not
    named keep their default. The prompts replace the built-in instructions of the two questions a language model is
    asked; '' keeps them. Without ``keep_turns`` what was said is not kept beside what was learned from it. ``own`` are
    the patterns and slots that a configuration adds to the shipped ones.
    """

    strategies: tuple[str, ...] = ()
    roles: tuple[str, ...] = ("user", "assistant")
    assistant_first_person: bool = False
    timezone: str = "UTC"
    extraction_prompt: str = ""
    decision_prompt: str = ""
    instructions: str = ""
    redact: tuple[tuple[str, str], ...] = ()
    keep_turns: bool = True
    own: OwnRules = field(default_factory=OwnRules)


@dataclass(frozen=True, slots=True)
class RetrievalPolicy:
    """How much of the memory a model is shown; what bites first decides.

    ``strategy`` and ``min_score`` are those of every search unless they are given. At most ``candidates`` memories are
    looked at and ``limit`` of them shown, as far as the sections have room. ``transcript_days`` is how far back turns
    are looked for (0: without end). ``override_tokens`` is how much of what the user told us to keep in mind is shown,
    whatever the budget. Of unrelated questions only the share ``false_injection`` is shown anything (0: whatever was
    found is shown). A block is kept for ``cache_seconds``; the newest ``receipts`` are kept, for ``receipt_days``.
    """

    token_budget: int = 800
    strategy: str = ""
    min_score: float | None = None
    candidates: int = 40
    limit: int = 100
    transcript_days: int = 365
    override_tokens: int = 2_000
    gate: str = "always"
    false_injection: float = 0.05
    cache_seconds: float = 10.0
    receipts: int = 1_000
    receipt_days: int = 30


@dataclass(frozen=True, slots=True)
class Recall:
    """How a search ranks what it finds.

    ``fusion`` is ``sum`` (see ``retain.core.fusion``) or ``rrf`` (reciprocal ranks with ``rrf_k``). ``decay_days``
    lets what was not used for long fade with this time constant, ``salience`` lets the weight of a memory count,
    ``mmr`` spreads hits that say the same; None leaves each out. ``visible_days`` hides what was stored before.
    ``bootstrap_min``: a user with fewer facts of their own also sees those of the user ``*``, which are everybody's.
    """

    fusion: str = "sum"
    rrf_k: int = 60
    decay_days: float | None = None
    salience: bool = False
    mmr: float | None = None
    visible_days: int | None = None
    bootstrap_min: int = 5


@dataclass(frozen=True, slots=True)
class Policy:
    """How a memory behaves."""

    dedupe_scope: tuple[str, ...] = ("user_id", "agent_id", "run_id")
    strategy: str = "hybrid"
    limit: int = 100
    min_score: float | None = None
    limits: Limits = Limits()
    curation: Curation = Curation()
    recall: Recall = Recall()
    retrieval: RetrievalPolicy = RetrievalPolicy()
    graph_llm: bool = False
    bare_lists: bool = False
