"""Policies: values that differ by preset or by setting."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from memstone.literals import PresetName

# --- rules of a configuration's own -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OwnPattern:
    """A way to say a fact. ``fact`` is the sentence to keep, with ``{subject}`` and the named groups of ``match``."""

    match: re.Pattern[str]
    fact: str
    category: str
    slot: str = ""


@dataclass(frozen=True, slots=True)
class OwnSlot:
    """Something people have one of at a time, or ``many`` of; ``patterns`` find its value in a kept sentence."""

    name: str
    many: bool = False
    patterns: tuple[re.Pattern[str], ...] = ()


@dataclass(frozen=True, slots=True)
class OwnRules:
    """All rules of a configuration."""

    patterns: tuple[OwnPattern, ...] = ()
    slots: tuple[OwnSlot, ...] = ()


# --- values that differ by preset or by wish; never a code path -------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Limits:
    """How large things may be. Beyond a limit there is an error, never a silent cut."""

    text_chars: int = 50_000
    key_chars: int = 512
    metadata_bytes: int = 65_536
    messages: int = 1_000
    batch: int = 1_000
    page: int = 10_000
    import_bytes: int = 268_435_456
    import_items: int = 1_000_000


@dataclass(frozen=True, slots=True)
class Curation:
    """How facts are learned from what is said.

    ``strategies`` are the extractors that run: ``pattern`` (rules), ``facts`` (a language model); none named means the
    model where there is one, else the rules. ``redact`` says what to do about each kind of secret; kinds that are not
    named keep their default. The prompts replace the built-in instructions of the two questions a language model is
    asked; '' keeps them. Without ``keep_turns`` what was said is not kept beside what was learned from it. ``own`` are
    the patterns and slots that a configuration adds to the shipped ones. ``categories`` are names with a description
    each, of which every fact gets one; none means the built-in ones. ``attachments`` says what becomes of pictures and
    files in messages: ``reference`` keeps them by name, ``refuse`` raises. A model that decides about a fact is shown
    ``neighbours`` memories near it, and three times as many where one question is asked for all of a conversation.
    ``questions``: 1 asks what the new turns do to the memory, 2 asks for facts first and then what becomes of each; a
    prompt of one's own always asks twice. Rules read at most ``message_chars`` of one message and ``call_chars`` of all
    messages of a call, the newest, and at most ``call_facts`` facts come of a call: the rest is kept as turns alone.
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
    categories: tuple[tuple[str, str], ...] = ()
    attachments: str = "reference"
    neighbours: int = 5
    questions: int = 1
    message_chars: int = 65_536
    call_chars: int = 262_144
    call_facts: int = 256


@dataclass(frozen=True, slots=True)
class RetrievalPolicy:
    """How much of the memory a model is shown; what bites first decides.

    ``strategy`` and ``min_score`` are those of every search unless they are given. At most ``candidates`` memories are
    looked at and ``limit`` of them shown; with ``sections`` the budget also says how many there may be of each layer.
    ``transcript_days`` is how far back turns are looked for (0: without end). ``override_tokens`` is how much of what
    the user told us to keep in mind is shown, whatever the budget. Of unrelated questions only the share
    ``false_injection`` is shown anything (0: whatever was found is shown). A block is kept for ``cache_seconds``; the
    newest ``receipts`` are kept, for ``receipt_days``. ``scope`` is how far a chat looks: in its ``session``, at all
    of the ``owner``'s, or with ``global`` also at what is everybody's.
    ``turn_min_score`` is the minimum for turns, and ``min_scores`` are those of embedders by ``provider:model``: a
    cosine of one model says little about that of another.
    """

    token_budget: int = 1_400
    profile_tokens: int = 1_000
    recalled_turns: int = 10
    recall_score: float = 0.43
    recall_scores: tuple[tuple[str, float], ...] = ()
    """By ``provider:model``; for any other embedder ``recall_score`` is moved to where its cosines begin."""

    excerpt_chars: int = 400
    embed_seconds: float = 1.0
    strategy: str = ""
    min_score: float | None = None
    candidates: int = 40
    limit: int = 100
    transcript_days: int = 365
    override_tokens: int = 2_000
    gate: str = "profile"
    scope: str = "owner"
    false_injection: float = 0.05
    cache_seconds: float = 10.0
    receipts: int = 1_000
    receipt_days: int = 30
    turn_min_score: float | None = None
    min_scores: tuple[tuple[str, float], ...] = ()
    sections: bool = True

    def recall_minimum(self, embedder: str) -> float | None:
        """Return how near to a message something must be to be recalled, where that was measured for this embedder."""
        return dict(self.recall_scores).get(embedder)

    def minimum(self, embedder: str, *, turns: bool = False) -> float | None:
        """Return how near in meaning something must be, by the words of this embedder (``provider:model``)."""
        if turns and self.turn_min_score is not None:
            return self.turn_min_score
        return dict(self.min_scores).get(embedder, self.min_score)


@dataclass(frozen=True, slots=True)
class Recall:
    """How a search ranks what it finds.

    ``fusion`` is ``sum`` (see ``memstone.core.ranking.fusion``) or ``rrf`` (reciprocal ranks with ``rrf_k``).
    ``decay_days`` lets what was not used for long fade with this time constant, ``salience`` lets the weight of a
    memory count, ``mmr`` spreads hits that say the same; None leaves each out. ``visible_days`` hides what was stored
    before, unless it was said again or used since. ``layers`` is what a search looks at. ``bootstrap_min``: a user with
    fewer facts of their own also sees those of the user ``*``, which are everybody's.
    """

    fusion: str = "sum"
    rrf_k: int = 60
    decay_days: float | None = None
    salience: bool = False
    mmr: float | None = None
    visible_days: int | None = None
    bootstrap_min: int = 5
    layers: tuple[str, ...] = ("fact", "turn")


@dataclass(frozen=True, slots=True)
class Formation:
    """When what was said becomes memory, and how often that is tried.

    ``mode``: ``inline`` (inside the call), ``background`` (soon after it), ``session_end`` (after ``debounce_seconds``
    of silence, or when the user turns to another session) or ``manual`` (when told to). With ``digest`` a session is
    also distilled into an episode; one with fewer than ``novelty_chars`` is not worth it. A worker holds a session for
    ``lease_seconds`` at a time. ``without_llm``: ``rules`` distil, or sessions ``wait`` for a model. A model is shown
    ``turns`` turns of at most ``turn_chars``. Without ``remote_llm`` a model outside this machine is told nothing.
    ``shutdown_seconds`` is how long closing may take to finish what waits,
    ``idle_seconds`` how long background work steps aside for calls. A fact from a session is left out when it shares
    more than ``overlap`` of its words with one of the ``overlap_among`` most salient facts; without a word on how
    salient it is, it is ``fact_salience``. At most ``derived`` facts about who the user is are kept beside what the
    user wrote, and the text about the user is made of ``portrait_facts`` facts in at most ``portrait_tokens``.
    """

    mode: str = "inline"
    debounce_seconds: float = 60.0
    digest: bool = False
    novelty_chars: int = 80
    max_attempts: int = 3
    lease_seconds: float = 60.0
    without_llm: str = "rules"
    remote_llm: bool = True
    turns: int = 60
    turn_chars: int = 2_000
    shutdown_seconds: float = 5.0
    idle_seconds: float = 8.0
    overlap: float = 0.6
    overlap_among: int = 200
    fact_salience: float = 0.6
    derived: int = 40
    portrait_facts: int = 24
    portrait_tokens: int = 200


@dataclass(frozen=True, slots=True)
class Upkeep:
    """How memory is kept small and true to what matters.

    ``retain_days`` is how long a layer is kept at all (a layer that is not named: for ever). ``evict`` puts aside facts
    whose effective salience fell under ``salience_floor`` and that nobody used for ``idle_days``. ``merge_episodes``
    and ``merge_facts`` are how alike two must be to become one (0: never). What ``promote_at`` episodes of the last
    ``promote_days`` mention gains ``promote_boost``. ``ttl`` drops kinds that were not used for so many days, unless
    they were used ``immune_uses`` times. ``summarize_tokens`` is how much is left as it is when old memories are
    summarised, which ``auto_summarize`` does by itself. ``keep_vectors`` keeps those of earlier embedders after a
    reindex, so that going back costs nothing.
    """

    interval_hours: float = 24.0
    evict: bool = False
    salience_floor: float = 0.2
    idle_days: float = 30.0
    merge_episodes: float = 0.9
    merge_facts: float = 0.0
    promote_at: int = 3
    promote_days: float = 60.0
    promote_overlap: float = 0.4
    promote_boost: float = 0.05
    retain_days: tuple[tuple[str, int], ...] = ()
    log_days: int = 30
    deleted_keep_days: int = 30
    ttl: tuple[tuple[str, int], ...] = ()
    immune_uses: int = 3
    ttl_scan: int = 5_000
    auto_summarize: bool = False
    summarize_tokens: int = 4_000
    keep_vectors: bool = False


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a request is about, for services: where that is looked for, in order, and what happens when nobody is named.

    ``sources``: ``body``, ``header:<name>`` or ``api_key``. ``nobody``: ``error``, ``off`` (no memory for that request)
    or ``owner`` (it is ``owner``'s).
    """

    sources: tuple[str, ...] = ("body",)
    nobody: str = "error"
    owner: str = "owner"


@dataclass(frozen=True, slots=True)
class Injection:
    """Where services put what a model is shown, and which of them do.

    ``position``: ``split`` (what is stable leads, what changes stands before the last message of the user),
    ``system_first``, ``system_merge`` or ``prefix_last_user``. ``chat`` is the plain chat route, ``agents`` the running
    of an agent. ``extras`` are what an answer also carries: ``memories`` or ``events``.
    """

    position: str = "split"
    chat: bool = True
    agents: bool = True
    extras: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Quotas:
    """How much may be stored: memories, turns, and characters of both; None is without end."""

    user_memories: int | None = None
    user_turns: int | None = None
    user_chars: int | None = None
    tenant_memories: int | None = None
    tenant_turns: int | None = None
    tenant_chars: int | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """How a memory behaves.

    ``enabled`` is the switch for all of it; ``learns`` and ``shows`` are those of its two halves. ``language`` is the
    user's, '' when it is not known. ``search_tool`` lets a model search by itself, ``skills`` is kept for services that
    offer tools beside memory. ``paused`` says who wants no memory now, and until when ('' is until told otherwise).
    ``preset`` is what these values began as. ``dedupe_scope`` are the ids within which a text that is stored as it is
    is kept once, ``known_scope`` those within which what is learned is compared with what is known: all that a user
    says, in whichever conversation. Where none of them is given, all that are given count.
    """

    dedupe_scope: tuple[str, ...] = ("user_id", "agent_id", "run_id")
    known_scope: tuple[str, ...] = ("user_id",)
    strategy: str = "hybrid"
    min_score: float | None = None
    limits: Limits = Limits()
    curation: Curation = Curation()
    recall: Recall = Recall()
    retrieval: RetrievalPolicy = RetrievalPolicy()
    graph_llm: bool = False
    prices: tuple[tuple[str, float, float], ...] = ()
    """What a million tokens read and a million tokens written cost, by the name of the model."""
    bare_lists: bool = False
    enabled: bool = True
    learns: bool = True
    shows: bool = True
    language: str = ""
    formation: Formation = Formation()
    upkeep: Upkeep = Upkeep()
    search_tool: bool = False
    skills: bool = False
    identity: Identity = Identity()
    inject: Injection = Injection()
    quotas: Quotas = Quotas()
    paused: tuple[tuple[str, str], ...] = ()
    preset: PresetName = "facts"

    @property
    def instructions(self) -> str:
        """Additional instructions for a language model: the configured ones, and the user's language."""
        spoken = f"The user's language is {self.language}: write what you learn in it." if self.language else ""
        return "\n".join(part for part in (self.curation.instructions, spoken) if part)


# --- ready-made ways to behave, as values -----------------------------------------------------------------------------


# A minimum counts as reached when it is met. "Above 0.8" is a little more, because vectors hold 32-bit numbers: their
# cosine of 0.8 comes out as 0.80000001.
_ABOVE_EIGHT_TENTHS: Final = 0.8 + 1e-6
BUILT_IN: Final = "local:all-minilm-l6-v2-int8"


@dataclass(frozen=True, slots=True)
class Preset:
    """How a memory forms and fades, how it is searched, what a model is shown of it, and how a service uses it.

    What is stored as it is, is known once within ``dedupe_scope``; what is learned, within ``known_scope``.
    ``strategies`` are the extractors: none named is a language model where there is one, else rules. ``neighbours`` is
    how many memories near a fact a model is shown that decides about it. ``embedder`` and ``store`` are the defaults of
    the preset, ``env_embedder`` the model that ``from_env`` chooses.
    """

    retrieval: RetrievalPolicy = field(default_factory=RetrievalPolicy)
    recall: Recall = field(default_factory=Recall)
    formation: Formation = field(default_factory=Formation)
    upkeep: Upkeep = field(default_factory=Upkeep)
    dedupe_scope: tuple[str, ...] = ("user_id", "agent_id", "run_id")
    known_scope: tuple[str, ...] = ("user_id",)
    roles: tuple[str, ...] = ("user", "assistant")
    strategies: tuple[str, ...] = ()
    neighbours: int = 5
    identity: Identity = field(default_factory=Identity)
    inject: Injection = field(default_factory=Injection)
    embedder: str = "local"
    env_embedder: str = "text-embedding-3-small"
    store: str = "sqlite"


PRESETS: Final[dict[str, Preset]] = {
    "facts": Preset(
        inject=Injection(extras=("events",)),
    ),
    "gateway": Preset(
        RetrievalPolicy(token_budget=2_000, candidates=100, limit=100, sections=False),
        Recall(visible_days=30, bootstrap_min=0),
        Formation(mode="background"),
        dedupe_scope=("user_id",),
        strategies=("pattern",),
        identity=Identity(("api_key",), nobody="off"),
    ),
    "companion": Preset(
        # By the built-in model where one lives and what one likes to hear are strangers; whether a question is about
        # the user at all is told by other means.
        RetrievalPolicy(
            token_budget=800,
            gate="heuristic",
            min_score=0.1,
            turn_min_score=0.01,
            min_scores=((BUILT_IN, 0.0),),
        ),
        Recall(decay_days=30.0, salience=True, mmr=0.85, bootstrap_min=0, layers=("fact",)),
        Formation(mode="session_end", digest=True),
        Upkeep(evict=True, merge_facts=0.9, retain_days=(("episode", 365), ("turn", 365))),
        dedupe_scope=("user_id", "agent_id"),
        known_scope=("user_id", "agent_id"),
        identity=Identity(("body",), nobody="owner"),
        inject=Injection(chat=False),
    ),
    "shared": Preset(
        # Ten rows are the limit here, not tokens: the budget is as large as it may be.
        RetrievalPolicy(
            token_budget=16_000,
            strategy="vector",
            candidates=10,
            limit=10,
            min_score=_ABOVE_EIGHT_TENTHS,
            min_scores=((BUILT_IN, 0.3),),
            sections=False,
        ),
        formation=Formation(mode="background"),
        dedupe_scope=("user_id",),
        roles=("user",),
        neighbours=10,
        identity=Identity(("header:x-openwebui-user-id",), nobody="off"),
        inject=Injection("system_merge", extras=("memories",)),
        env_embedder="mistral-embed",
    ),
}
"""``facts``: a store of facts (the default). ``gateway``: the profile and what is near, up to 2,000 tokens.
``companion``: behind a gate, 800 tokens, what is old fades. ``shared``: the profile, and the ten nearest."""


@dataclass(frozen=True, slots=True)
class SuggestedSettings:
    """What a team would set."""

    domains: tuple[str, ...]
    instructions: str
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    categories: tuple[tuple[str, str], ...]
    mask: tuple[str, ...] = ()

    def settings(self) -> dict[str, Any]:
        """Return the same as settings, as a configuration holds them."""
        extract: dict[str, Any] = {"instructions": self.instructions, "categories": dict(self.categories)}
        if self.mask:
            extract["redact"] = dict.fromkeys(self.mask, "mask")
        return {"extract": extract}
