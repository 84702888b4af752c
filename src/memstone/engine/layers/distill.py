"""A session becomes an episode, a few facts and, now and then, something about who the user is.

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
from memstone.engine.layers.derived import keep_derived
from memstone.engine.layers.episodes import Made, Session, episode_id, is_of_turn, own_words, session_of, store_episode
from memstone.engine.learning.by_model import (
    Asked,
    Metered,
    ask_model,
    embed_turns,
    fact_of,
    forgotten_by_rule,
    known_of,
    meter_model_usage,
    near_memories,
)
from memstone.engine.learning.commit import Plan, apply_plan
from memstone.engine.learning.extract import PATTERN, extract_facts
from memstone.engine.learning.ingest import describe_outcomes as session_log_decided
from memstone.engine.learning.lessons import idle_turns, note_idle
from memstone.engine.learning.neighbours import Fact, find_neighbours, read_changes, read_neighbours
from memstone.engine.learning.reconcile import decide_actions
from memstone.engine.runtime import Parts
from memstone.engine.storing.store import Space, Vectors, ensure_space
from memstone.engine.storing.turns import Turn, as_heard
from memstone.engine.storing.write import Outcome, current_space
from memstone.errors import BadModelOutput, LlmBudgetSpent, MemstoneError, StorageError
from memstone.language.language import ChangeRules, IdentityRules, TextGuard
from memstone.model.digest import Digest, Stated
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


def fact_from_digest(parts: Parts, asked: Asked, said: DigestFact, targets: Sequence[str]) -> Fact:
    """What a model would do, as a fact of the turn that shows it; its origin and trust are those of the turn."""
    one = said.operation
    if said.is_identity and one.category not in IDENTITY_GRADE:
        one = replace(one, category="identity")
    fact = fact_of(parts, asked, asked.turns, replace(one, kind=KINDS.get(one.category, Kind.FACTUAL.value)), targets)
    default = DISTILLED_FACTS_IDENTITY_SALIENCE if said.is_identity else parts.policy.formation.fact_salience
    fact.draft.salience = default if said.salience is None else said.salience
    fact.draft.source = "digest"
    if said.tags:
        fact.draft.metadata = {"tags": list(said.tags), **(fact.draft.metadata or {})}
    return fact


@dataclass(slots=True)
class Known:
    """Which facts only repeat what is known: by the fact, the id of the memory that says it."""

    repeated: dict[int, str] = field(default_factory=dict)


async def known_facts(parts: Parts, tx: Tx, scope: Scope, facts: Sequence[Fact], now: Instant) -> Known:
    """Hold facts that rules found against the most salient ones of their scope; what is too short is none."""
    policy = parts.policy.formation
    where = where_visible(scope, now, layers=(Layer.FACT,), extra=where_link_direct())
    rows = await tx.memories.salient(where, limit=policy.overlap_among) if facts else []
    known = Known()
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
            if parts.language.sessions.says_the_same(text, one.record.text, policy.overlap)
        )
        twin = next(same, None)
        if twin is not None:
            known.repeated[id(fact)] = twin
    return known


async def prepare_commit(
    parts: Parts, scope: Scope, turns: Sequence[Turn], facts: list[Fact], summary: str
) -> tuple[Plan, Vectors]:
    """All that a commit needs besides the ledger: vectors, neighbours, changes, and the vectors of what is revised.

    ``turns`` are those to store unless they are stored already.
    A text that cannot be embedded now is found by its words, and by its meaning after the next reindex.
    """
    space = await _find_space(parts)
    if space is None:
        return _build_plan(scope, turns, facts, await _relate_unjudged_facts(parts, scope, facts, ""), None), ()
    new = [turn.draft for turn in turns if not turn.id and turn.draft.vector is None]
    drafts = [*new, *(fact.draft for fact in facts if fact.adds or not fact.judged)]
    *vectors, own = await _embed_texts(parts, [*(draft.text for draft in drafts), summary])
    for draft, vector in zip(drafts, vectors, strict=True):
        draft.vector = vector
    plan = _build_plan(scope, turns, facts, await _relate_unjudged_facts(parts, scope, facts, space.signature), space)
    texts = await parts.ledger.read(
        partial(
            _read_revised_texts,
            rules=parts.language.changes,
            scope=scope,
            facts=facts,
            space=space,
            now=parts.now(),
        )
    )
    made = zip(texts, await _embed_texts(parts, texts), strict=True)
    plan.revised = {text: vector for text, vector in made if vector is not None}
    return plan, [(space, own)] if own is not None else ()


async def _relate_unjudged_facts(parts: Parts, scope: Scope, facts: Sequence[Fact], signature: str) -> int:
    """Find what is near the facts that no model judged, and what of it they change; gives the ledger's position."""
    ruled = [fact for fact in facts if not fact.judged]
    cursor = await find_neighbours(parts, scope, ruled, signature)
    await read_changes(parts, scope, ruled, signature)
    return cursor


def _build_plan(scope: Scope, turns: Sequence[Turn], facts: list[Fact], cursor: int, space: Space | None) -> Plan:
    return Plan(scope, list(turns), facts, cursor, space, lenient=True)


async def _find_space(parts: Parts) -> Space | None:
    try:
        return await current_space(parts) if parts.embedding.on else None
    except MemstoneError:  # the model cannot even be asked
        return None


async def _embed_texts(parts: Parts, texts: Sequence[str]) -> list[Vector | None]:
    found = await parts.embedding.many(texts) if texts else []
    return [None if isinstance(vector, MemstoneError) else vector for vector in found]


async def _read_revised_texts(
    tx: Tx, *, rules: ChangeRules, scope: Scope, facts: Sequence[Fact], space: Space, now: Instant
) -> list[str]:
    """The texts that these facts would make of what is known, as far as that can be told before."""
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
"""Stores what a session was distilled into, inside a transaction; gives the details of the job."""

_SPOKEN: Final = ("user", "assistant")
_CHANGED: Final = (EventType.ADD, EventType.UPDATE, EventType.REPLACE)


@dataclass(slots=True)
class Distilled:
    """What became of a session; ``commit`` is None when there is nothing to store."""

    outcome: str
    commit: Commit | None = None
    model: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    error: MemstoneError | None = None


@dataclass(slots=True)
class _Found:
    """What a session says: its digest, facts, and which of them say who the user is; else why there is nothing."""

    digest: Digest | None
    facts: list[Fact] = field(default_factory=list)
    identity: list[Fact] = field(default_factory=list)
    reason: str = ""
    dropped: list[DroppedFact] = field(default_factory=list)
    instead: str = ""
    """Why rules have made the digest, where a model was asked for it."""


async def distill_session(
    parts: Parts, scope: Scope, turns: list[Turn], *, occurred_at: Instant, keep_turns: bool = False
) -> Distilled:
    """Distil the turns of one session, in the order they were said; models are asked here, nothing is stored.

    Turns that are stored already are recognised. With ``keep_turns`` those that are not are stored by ``commit``;
    without, facts keep their quotes.
    """
    said = own_words([turn for turn in turns if turn.message.role in _SPOKEN and turn.text.strip()])
    chars = sum(len(turn.text.strip()) for turn in said)
    if chars < parts.policy.formation.novelty_chars or not said:
        return Distilled(f"skipped:low_novelty:{chars}chars")
    if parts.llm is None and parts.policy.formation.without_llm == "wait":
        return Distilled("skipped:core_model_unset")
    counted, meter = meter_model_usage(parts)
    model = parts.llm.model if parts.llm is not None else None
    try:
        done = await _distill_turns(counted, scope, said, occurred_at, keep_turns=keep_turns)
    except StorageError:
        raise
    except LlmBudgetSpent:  # the rules are free, unless sessions are to wait for a model
        return await distill_session(
            replace(parts, llm=None), scope, turns, occurred_at=occurred_at, keep_turns=keep_turns
        )
    except MemstoneError as error:
        done = Distilled(f"error:{error.code}", error=error)
    return _add_token_usage(done, model, meter)


def _add_token_usage(done: Distilled, model: str | None, meter: Metered | None) -> Distilled:
    if meter is None:
        return done
    return replace(done, model=model, input_tokens=meter.input_tokens, output_tokens=meter.output_tokens)


async def _distill_turns(
    parts: Parts, scope: Scope, turns: list[Turn], occurred_at: Instant, *, keep_turns: bool
) -> Distilled:
    now = parts.now()
    session = await parts.ledger.read(lambda tx: session_of(tx, scope, turns, occurred_at, now))
    found = await (_by_rules(parts, session) if parts.llm is None else _by_model(parts, session, occurred_at))
    if found.digest is None:
        return Distilled(f"empty:{found.reason}")
    facts_scope = kept_scope(scope, parts.policy.known_scope)
    known = await parts.ledger.read(lambda tx: known_facts(parts, tx, facts_scope, found.facts, now))
    facts = [_as_its_turn(fact) for fact in found.facts if id(fact) not in known.repeated]
    digest = _merge_earlier_digest(session, found.digest)
    plan, vectors = await prepare_commit(parts, facts_scope, turns if keep_turns else [], facts, digest.summary)
    model = parts.llm.model if parts.llm is not None else None
    made = Made(episode_id(session), digest, occurred_at, model, vectors)
    by_model = parts.llm is not None and not found.instead
    idle = await idle_turns(parts, session.fresh, found.facts, by_model=by_model)
    work = _Work(parts, session, found, known, plan, made, idle)
    return Distilled("distilled", work.commit)


def _as_its_turn(fact: Fact) -> Fact:
    """A fact is kept no longer than the words it comes from, with what was said about them, and for whom they are."""
    draft, said = fact.draft, fact.turn.draft
    draft.expires_at, draft.also = said.expires_at, said.also
    draft.metadata = {**(said.metadata or {}), **(draft.metadata or {})}
    return fact


def kept_scope(scope: Scope, fields: Sequence[str]) -> Scope:
    """Whose facts they are: of the fields within which a fact is known once; of all when that names nobody."""
    kept = Scope(scope.tenant_id, **{name: getattr(scope, name) for name in fields})
    return scope if kept.is_open else kept


def _merge_earlier_digest(session: Session, digest: Digest) -> Digest:
    """The digest of all of a session, also where the words of its beginning are not kept."""
    old = session.told
    if old is None or session.earlier:
        return digest
    return merge_digests(Digest.of(old.text, old.data, old.salience), digest)


# --- what a session says ----------------------------------------------------------------------------------------------


async def _by_model(parts: Parts, session: Session, occurred_at: Instant) -> _Found:
    """One question, whatever comes of it; an answer that tells nothing of the session leaves the digest to rules."""
    wanted, messages = parts.policy.formation, await parts.io.compute(partial(session.messages, parts.language.guard))
    scope = kept_scope(session.scope, parts.policy.known_scope)
    asked = Asked(scope, scope, session.turns, {})
    now = datetime_from_instant(occurred_at).astimezone(parts.zone)
    known = [known_of(one) for one in await _find_near_memories(parts, asked, session)]
    hidden = await parts.io.compute(partial(_list_hidden_texts, session, parts.language.guard))
    build = partial(
        digest_prompt,
        messages,
        now=now,
        timezone=parts.policy.curation.timezone,
        before=session.before,
        known=known,
        most_turns=wanted.turns,
        turn_chars=wanted.turn_chars,
        instructions=parts.policy.instructions,
    )
    question = await parts.io.compute(build)

    def read(text: str) -> LlmDigest:
        return parse_digest(text, messages, known, now, hidden, language=parts.language)

    try:
        answer = (await ask_model(parts, question, read)).value
    except BadModelOutput as error:  # asked twice, and nothing of it can be read: what was said is still there
        if wanted.without_llm == "wait":
            raise
        return replace(await _by_rules(parts, session), instead=error.code)
    facts = [fact_from_digest(parts, asked, one, question.targets) for one in answer.facts]
    facts += await parts.io.compute(partial(forgotten_by_rule, parts, asked, session.fresh, facts))
    identity = [fact for fact, one in zip(facts, answer.facts, strict=False) if one.is_identity and fact.adds]
    dropped = [one.as_dict() for one in answer.dropped]
    by_rules = answer.reason == INVENTED or (answer.reason == NO_EPISODE and wanted.without_llm != "wait")
    if answer.digest is None and by_rules:
        stated = [Stated(one.operation.turn - 1, one.operation.start, one.operation.end) for one in answer.facts]
        digest = await parts.io.compute(partial(parts.language.sessions.digest, messages, stated, parts.curator))
        return _Found(digest, facts, identity, answer.reason, dropped, answer.reason)
    return _Found(answer.digest, facts, identity, answer.reason, dropped)


def _list_hidden_texts(session: Session, guard: TextGuard) -> list[str]:
    """Return what turns say beside what is heard of them."""
    return [turn.text for turn in session.turns if as_heard(turn, guard) is not turn.message]


async def _find_near_memories(parts: Parts, asked: Asked, session: Session) -> list[Record]:
    """What is known near the last things that the user said in a session."""
    told = [turn for turn in session.turns if turn.message.role == "user"][-_ASKED_WITH:]
    try:
        signature = await embed_turns(parts, told)
    except MemstoneError:  # words have to do
        signature = ""
    return await near_memories(parts, asked, told, signature)


_ASKED_WITH: Final = 20
"""With so many turns of a session memories are looked for."""


async def _by_rules(parts: Parts, session: Session) -> _Found:
    """The most telling sentences, and the facts that rules find in what the user said."""
    curation = replace(parts.policy.curation, strategies=(PATTERN,), roles=("user",))
    ruled = replace(parts, policy=replace(parts.policy, curation=curation))
    scope = kept_scope(session.scope, parts.policy.known_scope)
    facts = (await extract_facts(ruled, Asked(scope, scope, session.fresh, {}))).facts
    place = {id(turn): at for at, turn in enumerate(session.turns)}
    stated = [
        Stated(place[id(fact.turn)], one.start, one.end, one.category, one.salience)
        for one, fact in ((fact.candidate, fact) for fact in facts if fact.adds)
    ]
    for fact in facts:
        fact.draft.source = "digest"
        if fact.candidate.salience == _UNSAID and fact.candidate.kind != Kind.EPISODIC:
            fact.draft.salience = parts.policy.formation.fact_salience
    identity = [fact for fact in facts if _says_who(fact, parts.language.identity)]
    digest = await parts.io.compute(
        lambda: parts.language.sessions.digest(session.messages(parts.language.guard), stated, parts.curator)
    )
    return _Found(digest, facts, identity, EMPTY_SUMMARY)


_UNSAID: Final = 0.5
"""The salience of a rule that does not say how much its facts matter."""


def _says_who(fact: Fact, rules: IdentityRules) -> bool:
    """Whether a fact says who the user is; a quotation is too unsure to stand for that."""
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

    parts: Parts
    session: Session
    found: _Found
    known: Known
    plan: Plan
    made: Made
    idle: list[Turn]
    """What tells nothing to remember."""

    async def commit(self, tx: Tx, now: Instant) -> dict[str, Any]:
        """Store facts, episode and identity facts; may be run again."""
        for fact in self.plan.facts:
            fact.draft.data = {**(fact.draft.data or {}), "episode": self.made.id}
        if self.plan.space is not None:
            await ensure_space(tx, self.parts.tenant_id, self.plan.space)
        outcomes = await apply_plan(self.parts, tx, self.plan, now)
        spoken_of = await self._spoken_of(tx, outcomes)
        self.made.facts = list(dict.fromkeys([*self._told_before(), *(record.id for record in spoken_of)]))
        episode = await store_episode(tx, self.parts.language, self.session, self.made, now)
        await self._count(tx, spoken_of)
        await note_idle(tx, self.idle)
        kept = await self._identity(tx, spoken_of, outcomes, now)
        return {
            "episode_id": episode.id if episode is not None else None,
            "episode_seq": episode.seq if episode is not None else None,
            "episode_version": episode.version if episode is not None else None,
            "facts": sum(outcome.event in _CHANGED for outcome in outcomes),
            "retracted": sum(outcome.event == EventType.DELETE for outcome in outcomes),
            "repeated": len(self.known.repeated),
            "identity": kept,
            "dropped": list(self.found.dropped),
            **({"degraded": [{"step": "digest", "code": self.found.instead}]} if self.found.instead else {}),
            **session_log_decided([*outcomes, *self._repeated_outcomes()]),
        }

    def _repeated_outcomes(self) -> list[Outcome]:
        """What only repeats a known fact, as a decision like the others."""
        facts = [fact.draft for fact in self.found.facts if id(fact) in self.known.repeated]
        return [Outcome("NONE", None, draft, reason="says no more than what is known") for draft in facts]

    async def _spoken_of(self, tx: Tx, outcomes: Sequence[Outcome]) -> list[Record]:
        """The facts that the session mentions, each once, as they are now."""
        ended = {outcome.record.id for outcome in outcomes if outcome.event == EventType.DELETE and outcome.record}
        ids = [outcome.record.id for outcome in outcomes if outcome.record is not None]
        ids += self.known.repeated.values()
        found = [await tx.memories.current(self.parts.tenant_id, one) for one in dict.fromkeys(ids) if one not in ended]
        return [record for record in found if record is not None and record.layer == Layer.FACT]

    async def _count(self, tx: Tx, spoken_of: Sequence[Record]) -> None:
        """Count this episode for every fact that others have told, once however often the session is distilled."""
        before = self._told_before()
        new = [record.seq for record in spoken_of if record.id not in before and not self._is_own(record)]
        await tx.memories.sourced(new, 1)

    def _told_before(self) -> list[str]:
        """The facts that the session was known to mention."""
        old = self.session.episode
        return list(map(str, old.data.get("facts") or ())) if old is not None else []

    def _is_own(self, record: Record) -> bool:
        """Whether a fact began in this session: then it counts it from the start.

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
        return await keep_derived(self.parts, tx, self.session.scope, [one for one in spoken_of if one.id in ids], now)
