"""Turn a session into an episode, a few facts, and parts of the user's identity.

One question to a model brings all of it; without a model the most telling sentences are the episode, and rules find the
facts. Only words of the user make a fact, whoever repeats them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from memstone.core.checks.filters import where_link_direct, where_visible
from memstone.core.llm.digest import (
    EMPTY_SUMMARY,
    INVENTED,
    NO_EPISODE,
    DigestFact,
    LlmDigest,
    digest_prompt,
    parse_digest,
)
from memstone.core.llm.operations import KINDS
from memstone.core.portrait import IDENTITY_GRADE, IDENTITY_SALIENCE, is_identity_grade, merge_digests
from memstone.engine.layers.episodes import (
    NewEpisode,
    SessionToDistill,
    episode_id,
    is_of_turn,
    own_words,
    session_of,
    store_episode,
)
from memstone.engine.layers.mirrors import keep_derived
from memstone.engine.learn.by_model import (
    ConversationQuestion,
    MeteredLlm,
    ask_model,
    embed_turns,
    fact_of,
    forgotten_by_rule,
    known_of,
    meter_model_usage,
    near_memories,
)
from memstone.engine.learn.commit import CommitPlan, apply_plan
from memstone.engine.learn.extract import CURATOR, extract_facts
from memstone.engine.learn.ingest import describe_outcomes as session_log_decided
from memstone.engine.learn.lessons import idle_turns, note_idle
from memstone.engine.learn.neighbours import Fact, find_neighbours, read_changes, read_neighbours
from memstone.engine.learn.reconcile import decide_actions
from memstone.engine.runtime import Runtime
from memstone.engine.store.turns import Turn, as_heard
from memstone.engine.store.versions import Space, Vectors, ensure_space
from memstone.engine.store.write import Outcome, current_space
from memstone.errors import BadModelOutput, LlmBudgetSpent, MemstoneError, StorageError
from memstone.language.language import ChangeRules, IdentityRules, TextGuard
from memstone.model.digest import Digest, SessionFact
from memstone.model.event import EventType
from memstone.model.instant import Instant, datetime_from_instant
from memstone.model.memory import Kind, Layer, Record, Vector
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx

if TYPE_CHECKING:
    from memstone.results import DroppedFact

# --- the facts of a session on their way into the ledger --------------------------------------------------------------


_NOTHING_LATER: Final = 2**62
_MIN_CHARS: Final = 5
"""A shorter text is no fact."""

DISTILLED_FACTS_IDENTITY_SALIENCE: Final = 0.9


def fact_from_digest(
    runtime: Runtime, asked: ConversationQuestion, digest_fact: DigestFact, targets: Sequence[str]
) -> Fact:
    """Return what a model would do, as a fact of the turn that shows it; its origin and trust are those of the turn."""
    one = digest_fact.operation
    if digest_fact.is_identity and one.category not in IDENTITY_GRADE:
        one = replace(one, category="identity")
    fact = fact_of(runtime, asked, asked.turns, replace(one, kind=KINDS.get(one.category, Kind.FACTUAL.value)), targets)
    default = DISTILLED_FACTS_IDENTITY_SALIENCE if digest_fact.is_identity else runtime.policy.formation.fact_salience
    fact.draft.salience = default if digest_fact.salience is None else digest_fact.salience
    fact.draft.source = "digest"
    if digest_fact.tags:
        fact.draft.metadata = {"tags": list(digest_fact.tags), **(fact.draft.metadata or {})}
    return fact


@dataclass(slots=True)
class RepeatedFacts:
    """Which facts only repeat what is known: by the fact, the id of the memory that says it."""

    repeated: dict[int, str] = field(default_factory=dict)


async def known_facts(runtime: Runtime, tx: Tx, scope: Scope, facts: Sequence[Fact], now: Instant) -> RepeatedFacts:
    """Hold facts that rules found against the most salient ones of their scope; what is too short is none."""
    policy = runtime.policy.formation
    where = where_visible(scope, now, layers=(Layer.FACT,), extra=where_link_direct())
    rows = await tx.memories.salient(where, limit=policy.overlap_among) if facts else []
    known = RepeatedFacts()
    for fact in facts:
        text = fact.draft.text
        if fact.judged or fact.candidate.forget or not fact.adds:
            continue
        if len(text) <= _MIN_CHARS:
            known.repeated[id(fact)] = ""
            continue
        same = (
            one.record.id
            for one in rows
            if runtime.language.sessions.says_the_same(text, one.record.text, policy.overlap)
        )
        twin = next(same, None)
        if twin is not None:
            known.repeated[id(fact)] = twin
    return known


async def prepare_commit(
    runtime: Runtime, scope: Scope, turns: Sequence[Turn], facts: list[Fact], summary: str
) -> tuple[CommitPlan, Vectors]:
    """Prepare what a commit needs besides the ledger: vectors, neighbours, changes, and vectors of what is revised.

    ``turns`` are those to store unless they are stored already.
    A text that cannot be embedded now is found by its words, and by its meaning after the next reindex.
    """
    space = await _find_space(runtime)
    if space is None:
        return _build_plan(scope, turns, facts, await _relate_unjudged_facts(runtime, scope, facts, ""), None), ()
    new = [turn.draft for turn in turns if not turn.id and turn.draft.vector is None]
    drafts = [*new, *(fact.draft for fact in facts if fact.adds or not fact.judged)]
    *vectors, own = await _embed_texts(runtime, [*(draft.text for draft in drafts), summary])
    for draft, vector in zip(drafts, vectors, strict=True):
        draft.vector = vector
    plan = _build_plan(scope, turns, facts, await _relate_unjudged_facts(runtime, scope, facts, space.signature), space)
    texts = await runtime.ledger.read(
        partial(
            _read_revised_texts,
            rules=runtime.language.changes,
            scope=scope,
            facts=facts,
            space=space,
            now=runtime.now(),
        )
    )
    made = zip(texts, await _embed_texts(runtime, texts), strict=True)
    plan.revised = {text: vector for text, vector in made if vector is not None}
    return plan, [(space, own)] if own is not None else ()


async def _relate_unjudged_facts(runtime: Runtime, scope: Scope, facts: Sequence[Fact], signature: str) -> int:
    """Find what is near the facts that no model judged, and what of it they change; return the ledger's position."""
    ruled = [fact for fact in facts if not fact.judged]
    cursor = await find_neighbours(runtime, scope, ruled, signature)
    await read_changes(runtime, scope, ruled, signature)
    return cursor


def _build_plan(scope: Scope, turns: Sequence[Turn], facts: list[Fact], cursor: int, space: Space | None) -> CommitPlan:
    return CommitPlan(scope, list(turns), facts, cursor, space, lenient=True)


async def _find_space(runtime: Runtime) -> Space | None:
    try:
        return await current_space(runtime) if runtime.embedding.on else None
    except MemstoneError:  # the model cannot even be asked
        return None


async def _embed_texts(runtime: Runtime, texts: Sequence[str]) -> list[Vector | None]:
    found = await runtime.embedding.many(texts) if texts else []
    return [None if isinstance(vector, MemstoneError) else vector for vector in found]


async def _read_revised_texts(
    tx: Tx, *, rules: ChangeRules, scope: Scope, facts: Sequence[Fact], space: Space, now: Instant
) -> list[str]:
    """Return the texts that these facts would make of what is known, as far as that can be told before."""
    texts: dict[str, None] = {}
    for fact in facts:
        if fact.judged:
            texts |= {one.text: None for one in fact.proposals if one.text}
            continue
        near = await read_neighbours(tx, rules, scope, fact, _NOTHING_LATER, space.signature, now)
        texts |= {one.text: None for one in decide_actions(fact, near, rules) if one.text}
    return [text for text in texts if text not in {fact.draft.text for fact in facts}]


# --- a session becomes an episode, a few facts and, now and then, something about who the user is ---------------------


Commit: TypeAlias = Callable[[Tx, Instant], Awaitable[dict[str, Any]]]
"""Stores what a session was distilled into, inside a transaction; return the details of the job."""

_SPOKEN: Final = ("user", "assistant")
_CHANGED: Final = (EventType.ADD, EventType.UPDATE, EventType.REPLACE)


@dataclass(slots=True)
class DistillResult:
    """What became of a session; ``commit`` is None when there is nothing to store."""

    outcome: str
    commit: Commit | None = None
    model: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    error: MemstoneError | None = None


@dataclass(slots=True)
class _SessionFindings:
    """What a session says: its digest, facts, and which of them say who the user is; else why there is nothing."""

    digest: Digest | None
    facts: list[Fact] = field(default_factory=list)
    identity: list[Fact] = field(default_factory=list)
    reason: str = ""
    dropped: list[DroppedFact] = field(default_factory=list)
    instead: str = ""
    """Why rules have made the digest, where a model was asked for it."""


async def distill_session(
    runtime: Runtime, scope: Scope, turns: list[Turn], *, occurred_at: Instant, keep_turns: bool = False
) -> DistillResult:
    """Distil the turns of one session, in the order they were said; models are asked here, nothing is stored.

    Turns that are stored already are recognised. With ``keep_turns`` those that are not are stored by ``commit``;
    without, facts keep their quotes.
    """
    texts = own_words([turn for turn in turns if turn.message.role in _SPOKEN and turn.text.strip()])
    chars = sum(len(turn.text.strip()) for turn in texts)
    if chars < runtime.policy.formation.novelty_chars or not texts:
        return DistillResult(f"skipped:low_novelty:{chars}chars")
    if runtime.llm is None and runtime.policy.formation.without_llm == "wait":
        return DistillResult("skipped:core_model_unset")
    counted, meter = meter_model_usage(runtime)
    model = runtime.llm.model if runtime.llm is not None else None
    try:
        done = await _distill_turns(counted, scope, texts, occurred_at, keep_turns=keep_turns)
    except StorageError:
        raise
    except LlmBudgetSpent:  # the rules are free, unless sessions are to wait for a model
        return await distill_session(
            replace(runtime, llm=None, withheld_llm=None), scope, turns, occurred_at=occurred_at, keep_turns=keep_turns
        )
    except MemstoneError as error:
        done = DistillResult(f"error:{error.code}", error=error)
    return _add_token_usage(done, model, meter)


def _add_token_usage(done: DistillResult, model: str | None, meter: MeteredLlm | None) -> DistillResult:
    if meter is None:
        return done
    return replace(done, model=model, input_tokens=meter.input_tokens, output_tokens=meter.output_tokens)


async def _distill_turns(
    runtime: Runtime, scope: Scope, turns: list[Turn], occurred_at: Instant, *, keep_turns: bool
) -> DistillResult:
    now = runtime.now()
    session = await runtime.ledger.read(lambda tx: session_of(tx, scope, turns, occurred_at, now))
    found = await (_by_curator(runtime, session) if runtime.llm is None else _by_model(runtime, session, occurred_at))
    if found.digest is None:
        return DistillResult(f"empty:{found.reason}")
    facts_scope = kept_scope(scope, runtime.policy.known_scope)
    known = await runtime.ledger.read(lambda tx: known_facts(runtime, tx, facts_scope, found.facts, now))
    facts = [_as_its_turn(fact) for fact in found.facts if id(fact) not in known.repeated]
    digest = _merge_earlier_digest(session, found.digest)
    plan, vectors = await prepare_commit(runtime, facts_scope, turns if keep_turns else [], facts, digest.summary)
    model = runtime.llm.model if runtime.llm is not None else None
    made = NewEpisode(episode_id(session), digest, occurred_at, model, vectors)
    by_model = runtime.llm is not None and not found.instead
    idle = await idle_turns(runtime, session.fresh, found.facts, by_model=by_model)
    work = _Work(runtime, session, found, known, plan, made, idle)
    return DistillResult("distilled", work.commit)


def _as_its_turn(fact: Fact) -> Fact:
    """Keep a fact no longer than the words it comes from, with what was said about them, and for whom they are."""
    draft, message = fact.draft, fact.turn.draft
    draft.expires_at, draft.also = message.expires_at, message.also
    draft.metadata = {**(message.metadata or {}), **(draft.metadata or {})}
    return fact


def kept_scope(scope: Scope, fields: Sequence[str]) -> Scope:
    """Return whose facts they are: of the fields within which a fact is known once; of all when that names nobody."""
    stored = Scope(scope.tenant_id, **{name: getattr(scope, name) for name in fields})
    return scope if stored.is_open else stored


def _merge_earlier_digest(session: SessionToDistill, digest: Digest) -> Digest:
    """Return the digest of all of a session, also where the words of its beginning are not kept."""
    old = session.visible_episode
    if old is None or session.earlier:
        return digest
    return merge_digests(Digest.of(old.text, old.data, old.salience), digest)


# --- what a session says ----------------------------------------------------------------------------------------------


async def _by_model(runtime: Runtime, session: SessionToDistill, occurred_at: Instant) -> _SessionFindings:
    """Ask one question, whatever comes of it.

    An answer that tells nothing of the session leaves the digest to rules.
    """
    wanted, messages = (
        runtime.policy.formation,
        await runtime.io.compute(partial(session.messages, runtime.language.guard)),
    )
    scope = kept_scope(session.scope, runtime.policy.known_scope)
    asked = ConversationQuestion(scope, scope, session.turns, {})
    now = datetime_from_instant(occurred_at).astimezone(runtime.zone)
    known = [known_of(one) for one in await _find_near_memories(runtime, asked, session)]
    hidden = await runtime.io.compute(partial(_list_hidden_texts, session, runtime.language.guard))
    build = partial(
        digest_prompt,
        messages,
        now=now,
        timezone=runtime.policy.curation.timezone,
        before=session.before,
        known=known,
        most_turns=wanted.turns,
        turn_chars=wanted.turn_chars,
        instructions=runtime.policy.instructions,
    )
    question = await runtime.io.compute(build)

    def read(text: str) -> LlmDigest:
        return parse_digest(text, messages, known, now, hidden, language=runtime.language)

    try:
        answer = (await ask_model(runtime, question, read)).value
    except BadModelOutput as error:  # asked twice, and nothing of it can be read: what was said is still there
        if wanted.without_llm == "wait":
            raise
        return replace(await _by_curator(runtime, session), instead=error.code)
    facts = [fact_from_digest(runtime, asked, one, question.targets) for one in answer.facts]
    facts += await runtime.io.compute(partial(forgotten_by_rule, runtime, asked, session.fresh, facts))
    identity = [fact for fact, one in zip(facts, answer.facts, strict=False) if one.is_identity and fact.adds]
    dropped = [one.as_dict() for one in answer.dropped]
    by_rules = answer.reason == INVENTED or (answer.reason == NO_EPISODE and wanted.without_llm != "wait")
    if answer.digest is None and by_rules:
        stated = [SessionFact(one.operation.turn - 1, one.operation.start, one.operation.end) for one in answer.facts]
        digest = await runtime.io.compute(partial(runtime.language.sessions.digest, messages, stated, runtime.curator))
        return _SessionFindings(digest, facts, identity, answer.reason, dropped, answer.reason)
    return _SessionFindings(answer.digest, facts, identity, answer.reason, dropped)


def _list_hidden_texts(session: SessionToDistill, guard: TextGuard) -> list[str]:
    """Return what turns say beside what is heard of them."""
    return [turn.text for turn in session.turns if as_heard(turn, guard) is not turn.message]


async def _find_near_memories(runtime: Runtime, asked: ConversationQuestion, session: SessionToDistill) -> list[Record]:
    """Return what is known near the last things that the user said in a session."""
    turns = [turn for turn in session.turns if turn.message.role == "user"][-_ASKED_WITH:]
    try:
        signature = await embed_turns(runtime, turns)
    except MemstoneError:  # words have to do
        signature = ""
    return await near_memories(runtime, asked, turns, signature)


_ASKED_WITH: Final = 20
"""With so many turns of a session memories are looked for."""


async def _by_curator(runtime: Runtime, session: SessionToDistill) -> _SessionFindings:
    """Return the most telling sentences, and the facts that rules find in what the user said."""
    curation = replace(runtime.policy.curation, strategies=(CURATOR,), roles=("user",))
    ruled = replace(runtime, policy=replace(runtime.policy, curation=curation))
    scope = kept_scope(session.scope, runtime.policy.known_scope)
    facts = (await extract_facts(ruled, ConversationQuestion(scope, scope, session.fresh, {}))).facts
    place = {id(turn): at for at, turn in enumerate(session.turns)}
    stated = [
        SessionFact(place[id(fact.turn)], one.start, one.end, one.category, one.salience)
        for one, fact in ((fact.candidate, fact) for fact in facts if fact.adds)
    ]
    for fact in facts:
        fact.draft.source = "digest"
        if fact.candidate.salience == _UNSAID and fact.candidate.kind != Kind.EPISODIC:
            fact.draft.salience = runtime.policy.formation.fact_salience
    identity = [fact for fact in facts if _says_who(fact, runtime.language.identity)]
    digest = await runtime.io.compute(
        lambda: runtime.language.sessions.digest(session.messages(runtime.language.guard), stated, runtime.curator)
    )
    return _SessionFindings(digest, facts, identity, EMPTY_SUMMARY)


_UNSAID: Final = 0.5
"""The salience of a rule that does not say how much its facts matter."""


def _says_who(fact: Fact, rules: IdentityRules) -> bool:
    """Return whether a fact says who the user is; a quotation is too unsure to stand for that."""
    one = fact.candidate
    states = fact.adds and not one.forget and not one.is_quote and one.kind != Kind.EPISODIC
    category = rules.category_of(one.category, one.text)
    salience = one.salience if category == one.category else IDENTITY_SALIENCE
    grade = is_identity_grade(category, salience, one.subject, one.polarity)
    return states and grade and rules.is_lasting(one.text)


# --- inside the transaction -------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Work:
    """Everything that is stored of a session, in a transaction of whoever keeps the session's signals."""

    runtime: Runtime
    session: SessionToDistill
    found: _SessionFindings
    known: RepeatedFacts
    plan: CommitPlan
    made: NewEpisode
    idle: list[Turn]
    """What tells nothing to remember."""

    async def commit(self, tx: Tx, now: Instant) -> dict[str, Any]:
        """Store facts, episode and identity facts; may be run again."""
        for fact in self.plan.facts:
            fact.draft.data = {**(fact.draft.data or {}), "episode": self.made.id}
        if self.plan.space is not None:
            await ensure_space(tx, self.runtime.tenant_id, self.plan.space)
        outcomes = await apply_plan(self.runtime, tx, self.plan, now)
        spoken_of = await self._spoken_of(tx, outcomes)
        self.made.facts = list(dict.fromkeys([*self._told_before(), *(record.id for record in spoken_of)]))
        episode = await store_episode(tx, self.runtime.language, self.session, self.made, now)
        await self._count(tx, spoken_of)
        await note_idle(tx, self.idle)
        stored_count = await self._identity(tx, spoken_of, outcomes, now)
        return {
            "episode_id": episode.id if episode is not None else None,
            "episode_seq": episode.seq if episode is not None else None,
            "episode_version": episode.version if episode is not None else None,
            "facts": sum(outcome.event in _CHANGED for outcome in outcomes),
            "retracted": sum(outcome.event == EventType.DELETE for outcome in outcomes),
            "repeated": len(self.known.repeated),
            "identity": stored_count,
            "dropped": list(self.found.dropped),
            **({"degraded": [{"step": "digest", "code": self.found.instead}]} if self.found.instead else {}),
            **session_log_decided([*outcomes, *self._repeated_outcomes()]),
        }

    def _repeated_outcomes(self) -> list[Outcome]:
        """Return what only repeats a known fact, as a decision like the others."""
        facts = [fact.draft for fact in self.found.facts if id(fact) in self.known.repeated]
        return [Outcome("NONE", None, draft, reason="says no more than what is known") for draft in facts]

    async def _spoken_of(self, tx: Tx, outcomes: Sequence[Outcome]) -> list[Record]:
        """Return the facts that the session mentions, each once, as they are now."""
        ended = {outcome.record.id for outcome in outcomes if outcome.event == EventType.DELETE and outcome.record}
        ids = [outcome.record.id for outcome in outcomes if outcome.record is not None]
        ids += self.known.repeated.values()
        found = [
            await tx.memories.current(self.runtime.tenant_id, one) for one in dict.fromkeys(ids) if one not in ended
        ]
        return [record for record in found if record is not None and record.layer == Layer.FACT]

    async def _count(self, tx: Tx, spoken_of: Sequence[Record]) -> None:
        """Count this episode for every fact that others have told, once however often the session is distilled."""
        before = self._told_before()
        new = [record.seq for record in spoken_of if record.id not in before and not self._is_own(record)]
        await tx.memories.add_source_count(new, 1)

    def _told_before(self) -> list[str]:
        """Return the facts that the session was known to mention."""
        old = self.session.episode
        return list(map(str, old.data.get("facts") or ())) if old is not None else []

    def _is_own(self, record: Record) -> bool:
        """Return whether a fact began in this session: then it counts it from the start.

        Unless it was told by an episode that this one takes the place of, for then the count was taken back with it.
        """
        here = {turn.id for turn in self.session.turns if turn.id}
        is_new = record.version == 1 and record.data.get("episode") == self.made.id
        return is_new or (is_of_turn(record) and record.origin_id in here)

    async def _identity(self, tx: Tx, spoken_of: Sequence[Record], outcomes: Sequence[Outcome], now: Instant) -> int:
        """Keep what says who the user is, as the mirror of the facts that say it."""
        drafts = {id(fact.draft) for fact in self.found.identity}
        ids = {outcome.record.id for outcome in outcomes if outcome.record and id(outcome.draft) in drafts}
        ids |= {self.known.repeated.get(id(fact), "") for fact in self.found.identity}
        return await keep_derived(
            self.runtime, tx, self.session.scope, [one for one in spoken_of if one.id in ids], now
        )
