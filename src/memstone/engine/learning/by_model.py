"""Facts by a language model: what it is shown, what it is asked, and how its answer becomes facts.

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
    Dropped,
    Known,
    Op,
    Operation,
    Side,
    Talk,
    learn_question,
    parse_operations,
)
from memstone.core.llm.parse import How, UnreadableAnswer
from memstone.core.llm.questions import Question, repair_prompt, safe_messages
from memstone.core.settings.forms import asked_for, sorted_into
from memstone.engine.learning.drafting import build_draft
from memstone.engine.learning.neighbours import SIDE_BY_SIDE, Fact, Proposal
from memstone.engine.runtime import Parts
from memstone.engine.storing.draft import DOUBTFUL, PASSED_ON, Draft, dedupe_value, scope_tokens, text_hash
from memstone.engine.storing.embedding_context import said_before
from memstone.engine.storing.turns import Turn, as_heard
from memstone.engine.storing.write import current_space
from memstone.errors import AnswerCutOff, BackendError, BadModelOutput, LLMError, LlmUnavailable, MemstoneError
from memstone.language.language import FactReader, TextGuard
from memstone.language.text.tokens import query_terms
from memstone.model.fact import Action, Candidate, fact_key
from memstone.model.instant import datetime_from_instant
from memstone.model.memory import Found, Layer, Origin, Record, Status
from memstone.model.message import Message, speaker_name
from memstone.model.query import And, Condition, TextQuery, VectorQuery, Where
from memstone.model.query import Op as Compare
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx
from memstone.ports.models import Llm, Prompt, Reply

# --- asking a language model ------------------------------------------------------------------------------------------


_HINT: Final = "nothing was learned; try again, or leave out strict to keep the messages and retry automatically"


class Readable(Protocol):
    """An answer that was read: how it was obtained, and how much there is in it."""

    @property
    def how(self) -> How: ...  # noqa: D102 - the class says it

    @property
    def size(self) -> int: ...  # noqa: D102 - the class says it


T = TypeVar("T", bound=Readable)


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """An answer as it was understood; with ``cut`` it breaks off, and only what is complete in it is there."""

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


async def ask_model(parts: Parts, question: Question, read: Callable[[str], T]) -> Answer[T]:
    """The answer to a question as ``read`` understands it; ``LLMError`` when the model cannot be understood.

    The same question to the same model is asked once: an application that sends a conversation again pays nothing.
    """
    key = _cache_key(parts, question)
    remembered = await parts.ledger.peek(lambda tx: tx.llm_cache.get(parts.tenant_id, key))
    if remembered is not None:
        with suppress(UnreadableAnswer):
            return Answer(await parts.io.compute(lambda: read(remembered)))
    tried = await _ask_once(parts, question, read)
    if tried.problem is not None:
        tried = await _try_again(parts, question, read, tried)
    if tried.problem is None:
        now = parts.now()
        await parts.ledger.write(lambda tx: tx.llm_cache.put(parts.tenant_id, key, tried.text, now))
    if tried.value is None:
        raise tried.problem or LLMError("the model returned nothing")
    return Answer(tried.value, tried.problem)


async def _ask_once(parts: Parts, question: Question, read: Callable[[str], T]) -> _Try[T]:
    cut: LLMError | None = None
    try:
        text = await _generate_answer(parts, question)
    except AnswerCutOff as error:
        text, cut = error.raw, error
    try:
        value = await parts.io.compute(lambda: read(text))
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


async def _try_again(parts: Parts, question: Question, read: Callable[[str], T], first: _Try[T]) -> _Try[T]:
    """Ask once more; what is complete in an answer that breaks off is kept whatever becomes of that."""
    said = first.problem.message if first.problem else ""
    try:
        second = await _ask_once(parts, repair_prompt(question, first.text, said), read)
    except MemstoneError:
        if first.value is None:
            raise
        return first
    return second if second.problem is None or second.size > first.size else first


async def _generate_answer(parts: Parts, question: Question) -> str:
    if parts.llm is None:
        raise LLMError("no language model is configured")
    messages = await parts.io.compute(lambda: safe_messages(question))
    prompt = Prompt(messages, response_format="json", schema=question.schema)
    try:
        return (await parts.llm.generate(prompt)).text
    except MemstoneError:
        raise
    except Exception as error:  # an adapter of somebody else's: what it throws must not cost what was said
        raise LLMError(f"the language model failed: {type(error).__name__}: {error}") from error


def as_llm_error(error: MemstoneError) -> LLMError:
    """The failure of a model as the one error that callers wait for; what went wrong underneath is its cause."""
    if isinstance(error, LLMError):
        error.hint = error.hint or _HINT
        return error
    kind = LlmUnavailable if error.retryable else LLMError
    failed = kind(f"the language model failed: {error.message}", hint=error.hint or _HINT)
    failed.__cause__ = error
    return failed


def _cache_owner(parts: Parts) -> list[str]:
    """Who has an answer to themselves: how soon it comes would tell others that the same was asked before."""
    return [parts.asker] if parts.asker else []


def _cache_key(parts: Parts, question: Question) -> str:
    model = parts.llm.model if parts.llm else ""
    asked = json.dumps([model, question.version, list(question.messages), *_cache_owner(parts)], ensure_ascii=False)
    return hashlib.sha256(asked.encode()).hexdigest()


# --- facts by a language model ----------------------------------------------------------------------------------------


SOURCE: Final = "facts"
_ACTIONS: Final = {
    Op.UPDATE: Action.REVISE,
    Op.REMOVE: Action.RETRACT,
    Op.FORGET: Action.RETRACT,
    Op.NONE: Action.IGNORE,
}
_REASONS: Final = {
    Op.ADD: "the model's decision",
    Op.UPDATE: "the model's decision",
    Op.REMOVE: "the model's decision",
    Op.FORGET: "asked to forget it",
    Op.NONE: "already known",
}
_MOST_KNOWN: Final = 100
_SHOWN: Final = 3
"""So many memories are shown for each neighbour of the policy: one question has to do for all of a conversation."""


@dataclass(slots=True)
class Told:
    """What a model made of a conversation; with an ``error`` its answer breaks off, and these are not all."""

    facts: list[Fact] = field(default_factory=list)
    error: MemstoneError | None = None
    dropped: list[Dropped] = field(default_factory=list)
    review: list[dict[str, Any]] = field(default_factory=list)
    """Memories that an answer would end all at once: somebody has to look at that first."""

    seen: int | None = None
    """Where the ledger was when the model was shown what is known; None when it was not asked."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A conversation that a model is asked about, and within which scope its facts are known."""

    scope: Scope
    known_in: Scope
    turns: Sequence[Turn]
    metadata: dict[str, Any]
    prompt: str = ""
    compared_with: Where | None = None


async def by_model(parts: Parts, asked: Asked) -> Told:
    """What the new turns of a conversation do to the memory, by the configured model."""
    heard = await parts.io.compute(partial(_select_turns, parts, asked.turns))
    fresh = [turn for turn in heard if turn.retold or not turn.said_before]
    if not heard:
        return Told()
    if not fresh:
        return Told(await parts.ledger.read(lambda tx: _learned_before(parts, tx, asked, heard)))
    signature = await embed_turns(parts, fresh)
    seen = await parts.ledger.peek(lambda tx: tx.admin.cursor())
    near = await near_memories(parts, asked, fresh, signature)
    talk = await parts.io.compute(
        partial(_build_talk, parts, fresh, await _read_earlier_messages(parts, asked, fresh), near)
    )
    told = await (
        _in_two(parts, asked, talk, fresh) if in_two(parts, asked.prompt) else _in_one(parts, asked, talk, fresh)
    )
    told.seen = seen
    told.facts += await parts.io.compute(partial(forgotten_by_rule, parts, asked, fresh, told.facts))
    return told


async def is_overtaken(parts: Parts, asked: Asked, told_at: int | None) -> bool:
    """Whether something has become known of the same user while a model thought about it."""
    if told_at is None:
        return False
    newer = Condition("seq", Compare.GT, told_at)
    where = where_visible(asked.known_in, parts.now(), layers=(Layer.FACT,), extra=newer)
    return bool(await parts.ledger.peek(lambda tx: tx.memories.find(where, limit=1)))


def _select_turns(parts: Parts, turns: Sequence[Turn]) -> list[Turn]:
    roles = parts.policy.curation.roles
    return [turn for turn in turns if turn.message.role in roles and as_heard(turn, parts.language.guard).text.strip()]


def _build_talk(parts: Parts, fresh: Sequence[Turn], before: list[Message], near: Sequence[Record]) -> Talk:
    """Return what a model is shown of a conversation."""
    guard = parts.language.guard
    return Talk(
        [as_heard(turn, guard) for turn in fresh],
        before,
        [known_of(one) for one in near],
        datetime_from_instant(fresh[-1].occurred_at).astimezone(parts.zone),
        parts.policy.curation.timezone,
        [turn.text for turn in fresh if as_heard(turn, guard) is not turn.message],
        language=parts.language,
    )


def in_two(parts: Parts, prompt: str = "") -> bool:
    """Whether facts are asked for first, and what becomes of them then."""
    wanted = parts.policy.curation
    return bool(prompt or wanted.extraction_prompt or wanted.decision_prompt or wanted.questions > 1)


async def _in_one(parts: Parts, asked: Asked, talk: Talk, fresh: Sequence[Turn]) -> Told:
    side, own, more = _scope_side(asked.scope), _category_names(parts), _join_instructions(parts)
    build = partial(learn_question, talk, instructions=more, side=side, categories=own)
    question = await parts.io.compute(build)
    answer = await ask_model(parts, question, lambda text: parse_operations(text, talk, side=side, categories=own))
    read = answer.value
    told = Told(error=answer.cut, dropped=read.dropped)
    reader = parts.language.facts
    ending = [one for one in read.operations if _ends_by_itself(one, fresh, reader)]
    held_back = ending if len(ending) > MOST_REMOVED else []
    held_back += [
        one
        for one in read.operations
        if one.op is Op.FORGET and reader.asks_to_forget_all(fresh[one.turn - 1].text)  # words never empty a memory
    ]
    for one in read.operations:
        if one in held_back:
            told.review.append(_for_review(one, question.targets, talk))
        else:
            told.facts.append(fact_of(parts, asked, fresh, one, question.targets))
    told.facts.sort(key=_has_retraction)  # what ends can then name what took its place
    return told


def _ends_by_itself(one: Operation, fresh: Sequence[Turn], reader: FactReader) -> bool:
    """Whether an operation ends a memory, and no plain wish of the user to forget something stands behind it."""
    return one.op is Op.REMOVE or (one.op is Op.FORGET and not reader.may_ask_to_forget(fresh[one.turn - 1].text))


def _has_retraction(fact: Fact) -> bool:
    return any(one.action is Action.RETRACT for one in fact.proposals)


def _for_review(one: Operation, targets: Sequence[str], talk: Talk) -> dict[str, Any]:
    at = (one.memory or 1) - 1
    return {"seq": int(targets[at]), "memory": talk.known[at].text, "operation": str(one.op), "reason": one.reason}


async def _in_two(parts: Parts, asked: Asked, talk: Talk, fresh: Sequence[Turn]) -> Told:
    """The facts, with nothing decided about them yet."""
    side, own, more = _scope_side(asked.scope), _category_names(parts), _join_instructions(parts)
    prompt = asked.prompt or parts.policy.curation.extraction_prompt
    build = partial(extraction_prompt, talk, instructions=more, custom_prompt=prompt, side=side, categories=own)
    question = await parts.io.compute(build)
    answer = await ask_model(parts, question, lambda text: parse_extraction(text, talk, side=side, categories=own))
    facts = [fact_of(parts, asked, fresh, one, ()) for one in answer.value.operations]
    return Told(facts, answer.cut, answer.value.dropped)


def _scope_side(scope: Scope) -> Side:
    return "agent" if scope.agent_id and not scope.user_id else "user"


def _category_names(parts: Parts) -> list[str]:
    return [name for name, _ in parts.policy.curation.categories]


def _join_instructions(parts: Parts) -> str:
    return "\n".join(filter(None, (parts.policy.instructions, asked_for(parts.policy.curation.categories))))


# --- what it is shown -------------------------------------------------------------------------------------------------


async def embed_turns(parts: Parts, turns: Sequence[Turn]) -> str:
    """Give new turns their vectors, as far as there are any; gives the name of their space, '' without one."""
    if not parts.embedding.on:
        return ""
    space = await current_space(parts)
    drafts = [turn.draft for turn in turns if turn.draft.vector is None]
    vectors = await parts.embedding.many([draft.text for draft in drafts], await said_before(parts, drafts))
    for draft, vector in zip(drafts, vectors, strict=True):
        if not isinstance(vector, MemstoneError):
            draft.vector = vector
    failed = [vector for vector in vectors if isinstance(vector, MemstoneError)]
    if failed and len(failed) == len(vectors):
        raise failed[0]
    return space.signature


async def near_memories(parts: Parts, asked: Asked, turns: Sequence[Turn], signature: str) -> list[Record]:
    """The memories nearest to any of the turns, by meaning and by words, the oldest first."""
    most = _SHOWN * parts.policy.curation.neighbours
    where = where_visible(asked.known_in, parts.now(), layers=(Layer.FACT,), extra=asked.compared_with)
    among: frozenset[int] | None = None
    if asked.compared_with is not None:
        among = frozenset(await parts.ledger.peek(lambda tx: tx.memories.seqs(where)))
    meant: list[list[int]] = []
    for at in range(0, len(turns), SIDE_BY_SIDE):
        wave = turns[at : at + SIDE_BY_SIDE]
        meant += await parts.io.gather(
            *(_search_by_meaning(parts, asked.known_in, turn, signature, most, among) for turn in wave)
        )

    async def read_nearest(tx: Tx) -> list[Found]:
        tokens = scope_tokens(asked.known_in)
        queries = [TextQuery(query_terms(turn.text), tokens, asked.known_in) for turn in turns]
        worded = [[seq for seq, _ in await tx.text.match(query, most)] for query in queries]
        ranked = chain.from_iterable(zip_longest(*meant, *worded))
        seqs = list(dict.fromkeys(seq for seq in ranked if seq is not None))
        found = {one.record.seq: one for one in await tx.memories.among(seqs, where)} if seqs else {}
        return [found[seq] for seq in seqs if seq in found][:most]

    records = [one.record for one in await parts.ledger.read(read_nearest)]
    return sorted(records, key=lambda one: (one.occurred_at, one.seq))


def known_of(record: Record) -> Known:
    """A memory as a model is shown it."""
    return Known(str(record.seq), record.text, record.occurred_at[:10])


async def _search_by_meaning(
    parts: Parts, scope: Scope, turn: Turn, signature: str, most: int, among: frozenset[int] | None
) -> list[int]:
    """What means something like a turn; nothing while the index is out of reach, and words have to do."""
    if turn.draft.vector is None or not signature:
        return []
    vector = np.frombuffer(turn.draft.vector, "<f4")
    try:
        hits = await parts.index.search(VectorQuery(signature, vector, most, scope, (str(Layer.FACT),), among))
    except BackendError:
        return []
    return [hit.seq for hit in hits]


async def _read_earlier_messages(parts: Parts, asked: Asked, fresh: Sequence[Turn]) -> list[Message]:
    """What was said before the new turns: in the same call, else in the same scope, so that "it" can be understood."""
    at = next(at for at, turn in enumerate(asked.turns) if turn is fresh[0])
    guard = parts.language.guard
    told = await parts.io.compute(lambda: [as_heard(turn, guard) for turn in asked.turns[max(0, at - EARLIER) : at]])
    if len(told) == EARLIER:
        return told
    until = next((turn.place for turn in asked.turns if turn.place), 0)
    where = And((where_in_scope(asked.scope), Condition("layer", Compare.EQ, str(Layer.TURN))))
    if until:
        where = And((where, Condition("seq", Compare.LT, until)))
    rows = await parts.ledger.peek(lambda tx: tx.memories.find(where, limit=EARLIER - len(told)))
    return [
        *await parts.io.compute(lambda: [_message_from_record(found.record, guard) for found in reversed(rows)]),
        *told,
    ]


def _message_from_record(record: Record, guard: TextGuard) -> Message:
    speaker = str(record.data.get("speaker", ""))
    name = "" if speaker == record.data.get("role") else speaker
    return guard.blank_suspect_text(
        Message(str(record.data.get("role", "user")), record.text, name), own=record.origin == Origin.USER
    )


# --- what becomes of its answer ---------------------------------------------------------------------------------------


def fact_of(parts: Parts, asked: Asked, fresh: Sequence[Turn], one: Operation, targets: Sequence[str]) -> Fact:
    """An operation as a fact on its way into the ledger, in the words of the model."""
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
        forget=one.op is Op.FORGET,
    )
    category = sorted_into(one.text, one.category, parts.policy.curation.categories)
    metadata = {**assistant_metadata(parts, candidate, turn), **asked.metadata}
    draft = build_draft(parts, asked.scope, turn, candidate, one.text, category, metadata)
    draft.source = SOURCE
    draft.status = Status.QUARANTINED if one.waits else Status.ACTIVE
    mark_doubt(draft, one.doubt, quoted=one.quoted)
    also = [fresh[at - 1] for at in one.turns if fresh[at - 1] is not turn]
    adds = one.op in (Op.ADD, Op.UPDATE)
    fact = Fact(candidate, turn, draft, adds=adds, who=_user_speaker_name(turn), judged=True, also=also)
    if one.op in _ACTIONS:
        target = int(targets[one.memory - 1]) if one.memory is not None else None
        text = one.text if one.op is Op.UPDATE else ""
        fact.proposals = [Proposal(_ACTIONS[one.op], target, text, one.reason or _REASONS[one.op])]
    return fact


def mark_doubt(draft: Draft, doubt: str, *, quoted: bool = False) -> None:
    """Note on a fact why it is doubted; what is doubted, or only passed on, replaces nothing that is more trusted."""
    if quoted:
        draft.trust = min(draft.trust, PASSED_ON)
    if doubt:
        draft.trust = min(draft.trust, DOUBTFUL)
        draft.data = {**(draft.data or {}), "doubt": doubt}


def assistant_metadata(parts: Parts, candidate: Candidate, turn: Turn) -> dict[str, Any]:
    """What a fact from an assistant's words says of itself; readers of a gateway's memories look for it."""
    if turn.message.role != "assistant":
        return {}
    return {"category": candidate.category, "extractedAt": parts.now(), "source": "llm_response"}


def _user_speaker_name(turn: Turn) -> str:
    return speaker_name(turn.message.name) if turn.message.role == "user" else ""


def forgotten_by_rule(parts: Parts, asked: Asked, fresh: Sequence[Turn], told: Sequence[Fact]) -> list[Fact]:
    """What the user plainly asks to be forgotten where the model has not: the rule for it runs beside the model."""
    done, reader = {id(fact.turn) for fact in told if fact.candidate.forget}, parts.language.facts
    found: list[Fact] = []
    for turn in fresh:
        if turn.message.role != "user" or id(turn) in done or not reader.may_ask_to_forget(turn.text):
            continue
        words = reader.own_words(turn.text, turn.message.speaker)
        skipped = len(turn.text) - len(words)
        for one in reader.read_requests(words, turn.message.name):
            if one.forget:
                placed = replace(one, start=one.start + skipped, end=one.end + skipped)
                draft = build_draft(parts, asked.scope, turn, placed, one.text, one.category, dict(asked.metadata))
                own = parts.policy.curation.own.slots
                found.append(Fact(placed, turn, draft, own=own, who=_user_speaker_name(turn)))
    return found


async def _learned_before(parts: Parts, tx: Tx, asked: Asked, turns: Sequence[Turn]) -> list[Fact]:
    """What was learned from turns that are sent again, as it is known now: no model need be asked once more."""
    said = {turn.id: turn for turn in turns if turn.id}
    if not said:
        return []
    ids = {**await _same_words(tx, asked.scope, said), **said}
    origin = Condition("origin_id", Compare.IN, tuple(ids))
    where = where_visible(asked.known_in, parts.now(), layers=(Layer.FACT,), extra=origin)
    rows = [one.record for one in await tx.memories.find(where, limit=_MOST_KNOWN)]
    return [_known_again(parts, asked, ids[str(one.origin_id)], one) for one in sorted(rows, key=lambda one: one.seq)]


async def _same_words(tx: Tx, scope: Scope, said: Mapping[str, Turn]) -> dict[str, Turn]:
    """Older turns in the words of these: what was learned from the first of them was known when it was said again."""
    hashes = {text_hash(turn.text): turn for turn in said.values()}
    words = Condition("hash", Compare.IN, tuple(hashes))
    where = And((where_in_scope(scope), Condition("layer", Compare.EQ, str(Layer.TURN)), words))
    return {one.record.id: hashes[one.record.hash] for one in await tx.memories.find(where, limit=_MOST_KNOWN)}


def _known_again(parts: Parts, asked: Asked, turn: Turn, record: Record) -> Fact:
    told = record.data.get("evidence")
    start, end = (int(told.get("start", 0)), int(told.get("end", 0))) if isinstance(told, dict) else (0, 0)
    candidate = Candidate(
        record.text, record.kind, str(record.data.get("category", "")), 1, record.key or "", start, end
    )
    draft = build_draft(parts, asked.scope, turn, candidate, record.text, candidate.category, dict(record.metadata))
    draft.dedupe = dedupe_value(asked.scope, parts.policy.known_scope, speaker="", key=None, text=record.text)
    fact = Fact(candidate, turn, draft, adds=False, judged=True)
    fact.proposals = [Proposal(Action.IGNORE, record.seq, "", _REASONS[Op.NONE])]
    return fact


# --- what asking a language model costs, added up over the questions of one piece of work -----------------------------


class Metered:
    """A language model that counts; see ``memstone.ports.models.Llm``."""

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
        """One answer, counted."""
        self.calls += 1
        reply = await self._llm.generate(prompt)
        self.input_tokens += reply.input_tokens
        self.output_tokens += reply.output_tokens
        return reply


def meter_model_usage(parts: Parts) -> tuple[Parts, Metered | None]:
    """The same parts with a model that counts; None without a model."""
    if parts.llm is None:
        return parts, None
    meter = Metered(parts.llm)
    return replace(parts, llm=meter), meter
