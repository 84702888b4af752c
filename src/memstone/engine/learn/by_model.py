"""Learn with a language model: what it is shown and asked, and what becomes of its answer.

One question brings all of it: the new turns, what was said before, and the memories near the talk, of everything that
is known of the user. Where a caller brings prompts of their own, or the policy asks for it, there are two: for the
facts first (here), then for what becomes of each (``propose``).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, zip_longest
from typing import Any, Final, Generic, Protocol, TypeVar

import numpy as np

from memstone.core.checks.filters import where_in_scope, where_visible
from memstone.core.llm.decisions import extraction_prompt, parse_extraction
from memstone.core.llm.operations import (
    EARLIER,
    MOST_REMOVED,
    KnownFact,
    Operation,
    OperationKind,
    RejectedOperation,
    Side,
    Talk,
    learn_question,
    parse_operations,
)
from memstone.core.llm.parse import How, UnreadableAnswer
from memstone.core.llm.questions import ModelQuestion, repair_prompt, safe_messages
from memstone.core.settings.forms import asked_for, sorted_into
from memstone.engine.learn.drafts import build_draft
from memstone.engine.learn.neighbours import SIDE_BY_SIDE, Fact, Proposal
from memstone.engine.runtime import Runtime
from memstone.engine.store.draft import DOUBTFUL, PASSED_ON, Draft, dedupe_value, scope_tokens, text_hash
from memstone.engine.store.embedding_context import said_before
from memstone.engine.store.turns import Turn, as_heard
from memstone.engine.store.write import current_space
from memstone.errors import AnswerCutOff, BackendError, BadModelOutput, LLMError, LlmUnavailable, MemstoneError
from memstone.language.language import FactReader, TextGuard
from memstone.language.text.tokens import query_terms
from memstone.model.fact import Candidate, FactAction, fact_key
from memstone.model.instant import datetime_from_instant
from memstone.model.memory import FoundMemory, Layer, Origin, Record, Status
from memstone.model.message import Message, speaker_name
from memstone.model.query import And, Condition, TextQuery, VectorQuery, Where
from memstone.model.query import Op as Compare
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx
from memstone.ports.models import Llm, Prompt, Reply

# --- asking a language model ------------------------------------------------------------------------------------------


_HINT: Final = "nothing was learned; try again, or leave out strict to keep the messages and retry automatically"


class CountedAnswer(Protocol):
    """An answer with its cost and how it was obtained."""

    @property
    def how(self) -> How: ...  # noqa: D102 - the class says it

    @property
    def size(self) -> int: ...  # noqa: D102 - the class says it


T = TypeVar("T", bound=CountedAnswer)


@dataclass(frozen=True, slots=True)
class ModelAnswer(Generic[T]):
    """A parsed answer; with ``cut`` it is incomplete, and only its complete parts are there."""

    value: T
    cut: LLMError | None = None


@dataclass(frozen=True, slots=True)
class _Try(Generic[T]):
    text: str
    value: T | None
    problem: LLMError | None = None

    @property
    def size(self) -> int:
        return self.value.size if self.value is not None else -1


async def ask_model(runtime: Runtime, question: ModelQuestion, read: Callable[[str], T]) -> ModelAnswer[T]:
    """Ask a question and parse the answer with ``read``; raise ``LLMError`` if it is unusable.

    The same question to the same model is asked once: an application that sends a conversation again pays nothing.
    """
    key = _cache_key(runtime, question)
    remembered = await runtime.ledger.peek(lambda tx: tx.llm_cache.get(runtime.tenant_id, key))
    if remembered is not None:
        with suppress(UnreadableAnswer):
            return ModelAnswer(await runtime.io.compute(lambda: read(remembered)))
    tried = await _ask_once(runtime, question, read)
    if tried.problem is not None:
        tried = await _try_again(runtime, question, read, tried)
    if tried.problem is None:
        now = runtime.now()
        await runtime.ledger.write(lambda tx: tx.llm_cache.put(runtime.tenant_id, key, tried.text, now))
    if tried.value is None:
        raise tried.problem or LLMError("the model returned nothing")
    return ModelAnswer(tried.value, tried.problem)


async def _ask_once(runtime: Runtime, question: ModelQuestion, read: Callable[[str], T]) -> _Try[T]:
    cut: LLMError | None = None
    try:
        text = await _generate_answer(runtime, question)
    except AnswerCutOff as error:
        text, cut = error.raw, error
    try:
        value = await runtime.io.compute(lambda: read(text))
    except UnreadableAnswer as error:
        return _Try(text, None, cut or _unreadable_error(text, error))
    if value.how != "truncated":  # it may have reached its limit, but not before it was complete
        return _Try(text, value)
    cut = cut or AnswerCutOff("the model's answer was cut off", raw=text)
    return _Try(text, value if value.size else None, cut)


def _unreadable_error(text: str, error: UnreadableAnswer) -> BadModelOutput:
    problem = f"the model's answer could not be parsed: {error}"
    unreadable = BadModelOutput(problem, raw=text, hint="use a model that supports JSON answers")
    unreadable.__cause__ = error
    return unreadable


async def _try_again(runtime: Runtime, question: ModelQuestion, read: Callable[[str], T], first: _Try[T]) -> _Try[T]:
    """Ask once more, and keep the complete parts of a first answer that was cut off."""
    text = first.problem.message if first.problem else ""
    try:
        second = await _ask_once(runtime, repair_prompt(question, first.text, text), read)
    except MemstoneError:
        if first.value is None:
            raise
        return first
    return second if second.problem is None or second.size > first.size else first


async def _generate_answer(runtime: Runtime, question: ModelQuestion) -> str:
    if runtime.llm is None:
        raise LLMError("no language model is configured")
    messages = await runtime.io.compute(lambda: safe_messages(question))
    prompt = Prompt(messages, response_format="json", schema=question.schema)
    try:
        return (await runtime.llm.generate(prompt)).text
    except MemstoneError:
        raise
    except Exception as error:  # an adapter of somebody else's: what it throws must not cost what was said
        raise LLMError(f"the language model failed: {type(error).__name__}: {error}") from error


def as_llm_error(error: MemstoneError) -> LLMError:
    """Wrap the failure of a model in an ``LLMError``, with its cause."""
    if isinstance(error, LLMError):
        error.hint = error.hint or _HINT
        return error
    kind = LlmUnavailable if error.retryable else LLMError
    failed = kind(f"the language model failed: {error.message}", hint=error.hint or _HINT)
    failed.__cause__ = error
    return failed


def _cache_owner(runtime: Runtime) -> list[str]:
    """Return the owner of a cached answer, because a fast answer would reveal others' questions."""
    return [runtime.asker] if runtime.asker else []


def _cache_key(runtime: Runtime, question: ModelQuestion) -> str:
    model = runtime.llm.model if runtime.llm else ""
    asked = json.dumps([model, question.version, list(question.messages), *_cache_owner(runtime)], ensure_ascii=False)
    return hashlib.sha256(asked.encode()).hexdigest()


# --- facts by a language model ----------------------------------------------------------------------------------------


SOURCE: Final = "facts"
_ACTIONS: Final = {
    OperationKind.UPDATE: FactAction.REVISE,
    OperationKind.REMOVE: FactAction.RETRACT,
    OperationKind.FORGET: FactAction.RETRACT,
    OperationKind.NONE: FactAction.IGNORE,
}
_REASONS: Final = {
    OperationKind.ADD: "the model's decision",
    OperationKind.UPDATE: "the model's decision",
    OperationKind.REMOVE: "the model's decision",
    OperationKind.FORGET: "asked to forget it",
    OperationKind.NONE: "already known",
}
_MOST_KNOWN: Final = 100
_MEMORIES_PER_NEIGHBOUR: Final = 3
"""So many memories are shown for each neighbour of the policy: one question has to do for all of a conversation."""


@dataclass(slots=True)
class ModelFacts:
    """The facts of a model; with an ``error``, its answer is incomplete."""

    facts: list[Fact] = field(default_factory=list)
    error: MemstoneError | None = None
    dropped: list[RejectedOperation] = field(default_factory=list)
    review: list[dict[str, Any]] = field(default_factory=list)
    """Memories that an answer would end all at once: somebody has to look at that first."""

    seen: int | None = None
    """Where the ledger was when the model was shown what is known; None when it was not asked."""


@dataclass(frozen=True, slots=True)
class ConversationQuestion:
    """A conversation to ask a model about, and the scope in which its facts are compared."""

    scope: Scope
    known_in: Scope
    turns: Sequence[Turn]
    metadata: dict[str, Any]
    prompt: str = ""
    compared_with: Where | None = None


async def by_model(runtime: Runtime, asked: ConversationQuestion) -> ModelFacts:
    """Ask the configured model what new turns do to the memory."""
    turns = await runtime.io.compute(partial(_select_turns, runtime, asked.turns))
    fresh = [turn for turn in turns if turn.retold or not turn.said_before]
    if not turns:
        return ModelFacts()
    if not fresh:
        return ModelFacts(await runtime.ledger.read(lambda tx: _learned_before(runtime, tx, asked, turns)))
    signature = await embed_turns(runtime, fresh)
    seen = await runtime.ledger.peek(lambda tx: tx.admin.cursor())
    near = await near_memories(runtime, asked, fresh, signature)
    talk = await runtime.io.compute(
        partial(_build_talk, runtime, fresh, await _read_earlier_messages(runtime, asked, fresh), near)
    )
    facts = await (
        _in_two(runtime, asked, talk, fresh) if in_two(runtime, asked.prompt) else _in_one(runtime, asked, talk, fresh)
    )
    facts.seen = seen
    facts.facts += await runtime.io.compute(partial(forgotten_by_rule, runtime, asked, fresh, facts.facts))
    return facts


async def is_overtaken(runtime: Runtime, asked: ConversationQuestion, told_at: int | None) -> bool:
    """Return whether the user's memories changed while a model was working."""
    if told_at is None:
        return False
    newer = Condition("seq", Compare.GT, told_at)
    where = where_visible(asked.known_in, runtime.now(), layers=(Layer.FACT,), extra=newer)
    return bool(await runtime.ledger.peek(lambda tx: tx.memories.find(where, limit=1)))


def _select_turns(runtime: Runtime, turns: Sequence[Turn]) -> list[Turn]:
    roles = runtime.policy.curation.roles
    return [
        turn for turn in turns if turn.message.role in roles and as_heard(turn, runtime.language.guard).text.strip()
    ]


def _build_talk(runtime: Runtime, fresh: Sequence[Turn], before: list[Message], near: Sequence[Record]) -> Talk:
    """Return what a model is shown of a conversation."""
    guard = runtime.language.guard
    return Talk(
        [as_heard(turn, guard) for turn in fresh],
        before,
        [known_of(one) for one in near],
        datetime_from_instant(fresh[-1].occurred_at).astimezone(runtime.zone),
        runtime.policy.curation.timezone,
        [turn.text for turn in fresh if as_heard(turn, guard) is not turn.message],
        language=runtime.language,
    )


def in_two(runtime: Runtime, prompt: str = "") -> bool:
    """Return whether to ask two questions: for facts first, then for decisions."""
    wanted = runtime.policy.curation
    return bool(prompt or wanted.extraction_prompt or wanted.decision_prompt or wanted.questions > 1)


async def _in_one(runtime: Runtime, asked: ConversationQuestion, talk: Talk, fresh: Sequence[Turn]) -> ModelFacts:
    side, own, more = _scope_side(asked.scope), _category_names(runtime), _join_instructions(runtime)
    build = partial(learn_question, talk, instructions=more, side=side, categories=own)
    question = await runtime.io.compute(build)
    answer = await ask_model(runtime, question, lambda text: parse_operations(text, talk, side=side, categories=own))
    read = answer.value
    facts = ModelFacts(error=answer.cut, dropped=read.dropped)
    reader = runtime.language.facts
    ending = [one for one in read.operations if _ends_by_itself(one, fresh, reader)]
    held_back = ending if len(ending) > MOST_REMOVED else []
    held_back += [
        one
        for one in read.operations
        if one.op is OperationKind.FORGET
        and reader.asks_to_forget_all(fresh[one.turn - 1].text)  # words never empty a memory
    ]
    for one in read.operations:
        if one in held_back:
            facts.review.append(_for_review(one, question.targets, talk))
        else:
            facts.facts.append(fact_of(runtime, asked, fresh, one, question.targets))
    facts.facts.sort(key=_has_retraction)  # what ends can then name what took its place
    return facts


def _ends_by_itself(one: Operation, fresh: Sequence[Turn], reader: FactReader) -> bool:
    """Return whether an operation ends a memory although the user did not ask to forget it."""
    return one.op is OperationKind.REMOVE or (
        one.op is OperationKind.FORGET and not reader.may_ask_to_forget(fresh[one.turn - 1].text)
    )


def _has_retraction(fact: Fact) -> bool:
    return any(one.action is FactAction.RETRACT for one in fact.proposals)


def _for_review(one: Operation, targets: Sequence[str], talk: Talk) -> dict[str, Any]:
    at = (one.memory or 1) - 1
    return {"seq": int(targets[at]), "memory": talk.known[at].text, "operation": str(one.op), "reason": one.reason}


async def _in_two(runtime: Runtime, asked: ConversationQuestion, talk: Talk, fresh: Sequence[Turn]) -> ModelFacts:
    """Ask for facts only; decisions follow later."""
    side, own, more = _scope_side(asked.scope), _category_names(runtime), _join_instructions(runtime)
    prompt = asked.prompt or runtime.policy.curation.extraction_prompt
    build = partial(extraction_prompt, talk, instructions=more, custom_prompt=prompt, side=side, categories=own)
    question = await runtime.io.compute(build)
    answer = await ask_model(runtime, question, lambda text: parse_extraction(text, talk, side=side, categories=own))
    facts = [fact_of(runtime, asked, fresh, one, ()) for one in answer.value.operations]
    return ModelFacts(facts, answer.cut, answer.value.dropped)


def _scope_side(scope: Scope) -> Side:
    return "agent" if scope.agent_id and not scope.user_id else "user"


def _category_names(runtime: Runtime) -> list[str]:
    return [name for name, _ in runtime.policy.curation.categories]


def _join_instructions(runtime: Runtime) -> str:
    return "\n".join(filter(None, (runtime.policy.instructions, asked_for(runtime.policy.curation.categories))))


# --- what it is shown -------------------------------------------------------------------------------------------------


async def embed_turns(runtime: Runtime, turns: Sequence[Turn]) -> str:
    """Embed new turns as far as possible; return the name of their vector space, or ''."""
    if not runtime.embedding.on:
        return ""
    space = await current_space(runtime)
    drafts = [turn.draft for turn in turns if turn.draft.vector is None]
    vectors = await runtime.embedding.many([draft.text for draft in drafts], await said_before(runtime, drafts))
    for draft, vector in zip(drafts, vectors, strict=True):
        if not isinstance(vector, MemstoneError):
            draft.vector = vector
    failed = [vector for vector in vectors if isinstance(vector, MemstoneError)]
    if failed and len(failed) == len(vectors):
        raise failed[0]
    return space.signature


async def near_memories(
    runtime: Runtime, asked: ConversationQuestion, turns: Sequence[Turn], signature: str
) -> list[Record]:
    """Return the memories most similar to any of the turns, oldest first."""
    most = _MEMORIES_PER_NEIGHBOUR * runtime.policy.curation.neighbours
    where = where_visible(asked.known_in, runtime.now(), layers=(Layer.FACT,), extra=asked.compared_with)
    among: frozenset[int] | None = None
    if asked.compared_with is not None:
        among = frozenset(await runtime.ledger.peek(lambda tx: tx.memories.seqs(where)))
    wanted: list[list[int]] = []
    for at in range(0, len(turns), SIDE_BY_SIDE):
        wave = turns[at : at + SIDE_BY_SIDE]
        wanted += await runtime.io.gather(
            *(_search_by_meaning(runtime, asked.known_in, turn, signature, most, among) for turn in wave)
        )

    async def read_nearest(tx: Tx) -> list[FoundMemory]:
        tokens = scope_tokens(asked.known_in)
        queries = [TextQuery(query_terms(turn.text), tokens, asked.known_in) for turn in turns]
        worded = [[seq for seq, _ in await tx.text.match(query, most)] for query in queries]
        ranked = chain.from_iterable(zip_longest(*wanted, *worded))
        seqs = list(dict.fromkeys(seq for seq in ranked if seq is not None))
        found = {one.record.seq: one for one in await tx.memories.among(seqs, where)} if seqs else {}
        return [found[seq] for seq in seqs if seq in found][:most]

    records = [one.record for one in await runtime.ledger.read(read_nearest)]
    return sorted(records, key=lambda one: (one.occurred_at, one.seq))


def known_of(record: Record) -> KnownFact:
    """Return a memory in the form that a model is shown."""
    return KnownFact(str(record.seq), record.text, record.occurred_at[:10])


async def _search_by_meaning(
    runtime: Runtime, scope: Scope, turn: Turn, signature: str, most: int, among: frozenset[int] | None
) -> list[int]:
    """Find similar memories by vectors; nothing if the index cannot be reached."""
    if turn.draft.vector is None or not signature:
        return []
    vector = np.frombuffer(turn.draft.vector, "<f4")
    try:
        hits = await runtime.index.search(VectorQuery(signature, vector, most, scope, (str(Layer.FACT),), among))
    except BackendError:
        return []
    return [hit.seq for hit in hits]


async def _read_earlier_messages(runtime: Runtime, asked: ConversationQuestion, fresh: Sequence[Turn]) -> list[Message]:
    """Return what was said before the new turns, so that words such as "it" can be understood."""
    at = next(at for at, turn in enumerate(asked.turns) if turn is fresh[0])
    guard = runtime.language.guard
    messages = await runtime.io.compute(
        lambda: [as_heard(turn, guard) for turn in asked.turns[max(0, at - EARLIER) : at]]
    )
    if len(messages) == EARLIER:
        return messages
    until = next((turn.place for turn in asked.turns if turn.place), 0)
    where = And((where_in_scope(asked.scope), Condition("layer", Compare.EQ, str(Layer.TURN))))
    if until:
        where = And((where, Condition("seq", Compare.LT, until)))
    rows = await runtime.ledger.peek(lambda tx: tx.memories.find(where, limit=EARLIER - len(messages)))
    return [
        *await runtime.io.compute(lambda: [_message_from_record(found.record, guard) for found in reversed(rows)]),
        *messages,
    ]


def _message_from_record(record: Record, guard: TextGuard) -> Message:
    speaker = str(record.data.get("speaker", ""))
    name = "" if speaker == record.data.get("role") else speaker
    return guard.blank_suspect_text(
        Message(str(record.data.get("role", "user")), record.text, name), own=record.origin == Origin.USER
    )


# --- what becomes of its answer ---------------------------------------------------------------------------------------


def fact_of(
    runtime: Runtime, asked: ConversationQuestion, fresh: Sequence[Turn], one: Operation, targets: Sequence[str]
) -> Fact:
    """Return an operation as a fact, in the model's words."""
    turn = fresh[one.turn - 1]
    candidate = Candidate(
        text=one.text,
        kind=one.kind,
        category=one.category,
        polarity=one.polarity,
        key=fact_key(one.category, one.text, one.polarity),
        start=one.start,
        end=one.end,
        subject="self" if one.about.casefold() in ("user", "the user") else one.about,
        forget=one.op is OperationKind.FORGET,
    )
    category = sorted_into(one.text, one.category, runtime.policy.curation.categories)
    metadata = {**assistant_metadata(runtime, candidate, turn), **asked.metadata}
    draft = build_draft(runtime, asked.scope, turn, candidate, one.text, category, metadata)
    draft.source = SOURCE
    draft.status = Status.QUARANTINED if one.waits else Status.ACTIVE
    mark_doubt(draft, one.doubt, quoted=one.quoted)
    also = [fresh[at - 1] for at in one.turns if fresh[at - 1] is not turn]
    adds = one.op in (OperationKind.ADD, OperationKind.UPDATE)
    fact = Fact(candidate, turn, draft, adds=adds, who=_user_speaker_name(turn), judged=True, also=also)
    if one.op in _ACTIONS:
        target = int(targets[one.memory - 1]) if one.memory is not None else None
        text = one.text if one.op is OperationKind.UPDATE else ""
        fact.proposals = [Proposal(_ACTIONS[one.op], target, text, one.reason or _REASONS[one.op])]
    return fact


def mark_doubt(draft: Draft, doubt: str, *, quoted: bool = False) -> None:
    """Mark a fact as doubtful, with the reason; it then replaces nothing that is more trusted."""
    if quoted:
        draft.trust = min(draft.trust, PASSED_ON)
    if doubt:
        draft.trust = min(draft.trust, DOUBTFUL)
        draft.data = {**(draft.data or {}), "doubt": doubt}


def assistant_metadata(runtime: Runtime, candidate: Candidate, turn: Turn) -> dict[str, Any]:
    """Return the metadata of a fact from an assistant's words."""
    if turn.message.role != "assistant":
        return {}
    return {"category": candidate.category, "extractedAt": runtime.now(), "source": "llm_response"}


def _user_speaker_name(turn: Turn) -> str:
    return speaker_name(turn.message.name) if turn.message.role == "user" else ""


def forgotten_by_rule(
    runtime: Runtime, asked: ConversationQuestion, fresh: Sequence[Turn], facts: Sequence[Fact]
) -> list[Fact]:
    """Return requests to forget that the model overlooked."""
    done, reader = {id(fact.turn) for fact in facts if fact.candidate.forget}, runtime.language.facts
    found: list[Fact] = []
    for turn in fresh:
        if turn.message.role != "user" or id(turn) in done or not reader.may_ask_to_forget(turn.text):
            continue
        words = reader.own_words(turn.text, turn.message.speaker)
        skipped = len(turn.text) - len(words)
        for one in reader.read_requests(words, turn.message.name):
            if one.forget:
                placed = replace(one, start=one.start + skipped, end=one.end + skipped)
                draft = build_draft(runtime, asked.scope, turn, placed, one.text, one.category, dict(asked.metadata))
                own = runtime.policy.curation.own.slots
                found.append(Fact(placed, turn, draft, own=own, who=_user_speaker_name(turn)))
    return found


async def _learned_before(runtime: Runtime, tx: Tx, asked: ConversationQuestion, turns: Sequence[Turn]) -> list[Fact]:
    """Return what was learned from turns that are sent again, as it is known now."""
    texts = {turn.id: turn for turn in turns if turn.id}
    if not texts:
        return []
    ids = {**await _same_words(tx, asked.scope, texts), **texts}
    origin = Condition("origin_id", Compare.IN, tuple(ids))
    where = where_visible(asked.known_in, runtime.now(), layers=(Layer.FACT,), extra=origin)
    rows = [one.record for one in await tx.memories.find(where, limit=_MOST_KNOWN)]
    return [_known_again(runtime, asked, ids[str(one.origin_id)], one) for one in sorted(rows, key=lambda one: one.seq)]


async def _same_words(tx: Tx, scope: Scope, texts: Mapping[str, Turn]) -> dict[str, Turn]:
    """Return older turns with the same words."""
    hashes = {text_hash(turn.text): turn for turn in texts.values()}
    words = Condition("hash", Compare.IN, tuple(hashes))
    where = And((where_in_scope(scope), Condition("layer", Compare.EQ, str(Layer.TURN)), words))
    return {one.record.id: hashes[one.record.hash] for one in await tx.memories.find(where, limit=_MOST_KNOWN)}


def _known_again(runtime: Runtime, asked: ConversationQuestion, turn: Turn, record: Record) -> Fact:
    answer = record.data.get("evidence")
    start, end = (int(answer.get("start", 0)), int(answer.get("end", 0))) if isinstance(answer, dict) else (0, 0)
    candidate = Candidate(
        record.text, record.kind, str(record.data.get("category", "")), 1, record.key or "", start, end
    )
    draft = build_draft(runtime, asked.scope, turn, candidate, record.text, candidate.category, dict(record.metadata))
    draft.dedupe = dedupe_value(asked.scope, runtime.policy.known_scope, speaker="", key=None, text=record.text)
    fact = Fact(candidate, turn, draft, adds=False, judged=True)
    fact.proposals = [Proposal(FactAction.IGNORE, record.seq, "", _REASONS[OperationKind.NONE])]
    return fact


# --- what asking a language model costs, added up over the questions of one piece of work -----------------------------


class MeteredLlm:
    """A language model that counts its use; see ``memstone.ports.models.Llm``."""

    def __init__(self, llm: Llm) -> None:
        self._llm = llm
        self.calls: int = 0
        self.input_tokens: int = 0
        self.output_tokens: int = 0

    @property
    def model(self) -> str:
        """Which model."""
        return self._llm.model

    @property
    def destination(self) -> str:
        """Where text goes."""
        return self._llm.destination

    async def generate(self, prompt: Prompt) -> Reply:
        """Generate one answer, and count it."""
        self.calls += 1
        reply = await self._llm.generate(prompt)
        self.input_tokens += reply.input_tokens
        self.output_tokens += reply.output_tokens
        return reply


def meter_model_usage(runtime: Runtime) -> tuple[Runtime, MeteredLlm | None]:
    """Return the runtime with a model that counts; None without a model."""
    if runtime.llm is None:
        return runtime, None
    meter = MeteredLlm(runtime.llm)
    return replace(runtime, llm=meter), meter
