"""Work on a claimed session: formed outside any transaction, stored in one.

What was learned, the signals it was learned from, the row in the log and the proof that the session is still ours are
one transaction. So a session is formed once, however many work on it and whoever is killed; a model may be asked again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import Any, Final

from memstone.engine.layers.distill import Distilled, distill
from memstone.engine.learning.converse import Conversation, Learned, converse, recognised
from memstone.engine.learning.metered import metered
from memstone.engine.learning.queueing import is_on
from memstone.engine.learning.retold import conversation_of, is_session, lessons, verbatim_of
from memstone.engine.learning.session_log import decisions, feed_project, told
from memstone.engine.parts import Parts
from memstone.engine.storing.turn_vectors import TurnVectors, turn_vectors
from memstone.engine.storing.write import Prepared, commit, prepare
from memstone.engine.work.claims import Claim, LostClaim, give_back, hold_on
from memstone.engine.work.jobs import (
    CANCELLED,
    DISABLED,
    DISTILLED,
    NO_EPISODE,
    NO_SIGNALS,
    UNSET,
    Failure,
    Patience,
    Work,
    ends,
    failure_of,
    is_low,
    low_novelty,
)
from memstone.errors import BadModelOutput, StorageError
from memstone.model.event import Signal
from memstone.model.instant import Instant, instant, moment
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx

SETTLE: Final = timedelta(seconds=5)
"""What failed is tried again after so long: a model that came back gets a moment to settle."""

_EARLIER: Final = 500
"""So many signals of a session that said too little are looked at again when it goes on."""

_SLOWER: Final = 12
"""Every failure that counts makes that so many times longer."""


@dataclass(slots=True)
class Formed:
    """What became of a session: how its last piece of work ended, how many signals are done, and what came of them."""

    scope: Scope
    outcome: str = NO_SIGNALS
    ended: int = 0
    details: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """It as callers see it."""
        who = {name: getattr(self.scope, name) for name in ("user_id", "agent_id", "run_id")}
        episode = {"episode_id": self.details["episode_seq"]} if self.details.get("episode_seq") else {}
        return {**who, "distillation": self.outcome, **episode}


class SessionWork:
    """A claimed session under way."""

    def __init__(self, parts: Parts, claimed: Claim, patience: Patience) -> None:
        self._parts, self._claim, self._patience = parts, claimed, patience
        self._result = Formed(claimed.scope)
        self._work, self._vectors = Work("facts", claimed.scope), TurnVectors()

    async def formed(self) -> Formed:
        """Do all there is to do, piece by piece; whatever happens, others may have the session afterwards."""
        try:
            await self._pieces()
        except LostClaim:  # whoever has it now does it
            self._claim.released, self._result.outcome = True, CANCELLED
        except Exception:
            await give_back(self._parts, self._claim)
            raise
        except BaseException:  # cancelled, or Ctrl-C: nothing was stored, and it speaks against nothing
            await self._failed(self._claim.signals, Failure(CANCELLED, CANCELLED, counts=False), last=True)
            raise
        await give_back(self._parts, self._claim)
        return self._result

    async def _pieces(self) -> None:
        signals = self._claim.signals
        if verbatim := [one for one in signals if not one.data.get("infer")]:
            await self._store(verbatim)
        told = [one for one in signals if one.data.get("infer")]
        digest = [one for one in told if is_session(one)] if self._parts.policy.formation.digest else []
        pieces = list(lessons([one for one in told if one not in digest]))
        for at, piece in enumerate(pieces):
            await self._piece(piece, self._learn, "facts", last=not digest and at == len(pieces) - 1)
            if self._patience.over:
                return
        if digest:
            await self._piece(digest, self._distil, "distill", last=True)

    async def _piece(self, signals: Sequence[Signal], do: Any, task: str, *, last: bool) -> None:
        """One piece of work; what nobody foresaw counts against it, so that nothing is tried for ever."""
        self._work, self._vectors = Work(task, self._claim.scope), TurnVectors()
        try:
            failure = self._refusal(signals) or await do(signals, last=last)
        except (LostClaim, StorageError):
            raise
        except Exception as error:  # noqa: BLE001 - nobody waits for it: the log and the inbox are where it goes
            failure = failure_of(error)
        self._patience.met(failure)
        if failure is not None:
            await self._failed(signals, failure, last=last)

    def _refusal(self, signals: Sequence[Signal]) -> Failure | None:
        """Why a session is not formed now, whatever is in it."""
        policy = self._parts.policy
        if not is_on(self._parts):
            return Failure(DISABLED, DISABLED, counts=False)
        by_rules = self._parts.llm is not None or "pattern" in policy.curation.strategies
        if policy.formation.without_llm == "wait" and not by_rules and is_session(signals[0]):
            return Failure(UNSET, UNSET, counts=False)
        return None

    async def _recalled(self, signals: Sequence[Signal], earlier: Sequence[Signal] = ()) -> Conversation:
        """What was said, as it lies in the store; the vectors it lacks are made, whatever comes of the rest.

        ``earlier`` was too little to make anything of when it was said.
        """
        said = await self._parts.io.compute(partial(conversation_of, signals))
        if earlier:
            said.turns = [*(await self._parts.io.compute(partial(conversation_of, earlier))).turns, *said.turns]
        await self._parts.ledger.read(partial(recognised, said=said))
        self._vectors = await turn_vectors(self._parts, said.kept)
        return said

    # --- what was to be stored as it is -------------------------------------------------------------------------------

    async def _store(self, signals: Sequence[Signal]) -> None:
        parts = self._parts
        numbered = list(enumerate(signals))
        drafts = await parts.io.compute(lambda: [verbatim_of(parts, signal, at) for at, signal in numbered])
        prepared = await prepare(parts, drafts)
        errors = {signals[outcome.draft.item].id: str(outcome.error) for outcome in prepared.failed}
        ready = Prepared(prepared.drafts, space=prepared.space)

        async def work(tx: Tx) -> int:
            now = parts.now()
            await hold_on(tx, parts, self._claim, last=False)
            for signal in signals:
                status, problem = ("pending" if signal.id in errors else "processed"), errors.get(signal.id)
                await self._mark(tx, [signal], status, problem, due_at=_later(now, 0))
            return len(await commit(parts, tx, ready, now))

        self._result.ended += await parts.ledger.write(work)

    # --- facts --------------------------------------------------------------------------------------------------------

    async def _learn(self, signals: Sequence[Signal], *, last: bool) -> Failure | None:
        said, (asking, meter) = await self._recalled(signals), metered(self._parts)
        stored: list[Failure | None] = []

        async def closing(tx: Tx, learned: Learned, now: Instant) -> None:
            self._work.metered(meter)
            failure = None if learned.error is None else failure_of(learned.error, session=is_session(signals[0]))
            if failure is None:
                await self._end(tx, signals, DISTILLED, decisions(said, learned), now, last=last)
            else:
                await self._keep(tx, signals, failure, decisions(said, learned), now, last=last)
            stored.append(failure)

        learned = await converse(asking, said, again=True, closing=closing)
        self._work.metered(meter)
        if not stored and learned.error is not None:
            return failure_of(learned.error, session=is_session(signals[0]))
        self._done(signals, stored[-1], last=last)
        return None

    # --- a digest -----------------------------------------------------------------------------------------------------

    async def _distil(self, signals: Sequence[Signal], *, last: bool) -> Failure | None:
        earlier = await self._parts.ledger.read(lambda tx: tx.signals.passed_over(self._claim.scope, _EARLIER))
        said = await self._recalled(signals, earlier)
        chars = sum(len(turn.text) for turn in said.turns)
        if chars < self._parts.policy.formation.novelty_chars or not said.turns:
            made = Distilled(low_novelty(chars))
        else:
            made = _usable(await distill(self._parts, said.scope, said.turns, occurred_at=said.turns[-1].occurred_at))
        self._work.model, self._work.input_tokens = made.model, made.input_tokens
        self._work.output_tokens = made.output_tokens
        if not ends(made.outcome):
            return _unmade(made)

        async def work(tx: Tx) -> dict[str, Any]:
            now = self._parts.now()
            details = {} if made.commit is None else await made.commit(tx, now)
            await feed_project(tx, said, details, now)
            await self._end(tx, signals, made.outcome, {**told(said), **details}, now, last=last)
            if not is_low(made.outcome):
                await tx.signals.take_up(self._claim.scope.tenant_id, [one.id for one in earlier])
            return details

        details = await self._parts.ledger.write(work)
        self._done(signals, None, last=last)
        self._result.outcome, self._result.details = made.outcome, details
        return None

    # --- how a piece of work ends -------------------------------------------------------------------------------------

    async def _hold(self, tx: Tx, *, last: bool) -> None:
        await hold_on(tx, self._parts, self._claim, last=last)
        await self._vectors.store(tx, self._claim.scope.tenant_id)

    async def _end(
        self, tx: Tx, signals: Sequence[Signal], outcome: str, details: dict[str, Any], now: Instant, *, last: bool
    ) -> None:
        await self._hold(tx, last=last)
        await self._mark(tx, signals, "processed", outcome if is_low(outcome) else None)
        unkept = [one.id for one in signals if not one.data.get("keep_turns", True)]
        await tx.signals.remove(self._claim.scope.tenant_id, unkept)  # what was said is not kept, here neither
        await tx.jobs.put(self._work.row(outcome, {"signals": len(signals), **details}, now))

    async def _keep(
        self, tx: Tx, signals: Sequence[Signal], failure: Failure, details: dict[str, Any], now: Instant, *, last: bool
    ) -> None:
        """Leave signals for another try, or give them up; a state that lasts is logged once."""
        await self._hold(tx, last=last)
        status, outcome = self._verdict(signals, failure)
        problem = failure.error if failure.counts or failure.error != failure.outcome else outcome
        tried = max(one.attempts for one in signals) if failure.counts else 0
        await self._mark(tx, signals, status, problem, counts=failure.counts, due_at=_later(now, tried))
        if failure.counts or any(one.last_error != problem for one in signals):
            await tx.jobs.put(self._work.row(outcome, {"signals": len(signals), **details}, now))

    def _verdict(self, signals: Sequence[Signal], failure: Failure) -> tuple[str, str]:
        attempts = max(one.attempts for one in signals) + 1
        if failure.counts and attempts >= self._parts.policy.formation.max_attempts:
            return "dead", f"dead_letter:{attempts}"
        return "pending", failure.outcome

    async def _failed(self, signals: Sequence[Signal], failure: Failure, *, last: bool) -> None:
        async def work(tx: Tx) -> None:
            await self._keep(tx, signals, failure, {}, self._parts.now(), last=last)

        await self._parts.ledger.write(work)
        self._done(signals, failure, last=last)

    def _done(self, signals: Sequence[Signal], failure: Failure | None, *, last: bool) -> None:
        """Take note of what was committed."""
        self._claim.released = last
        self._result.ended += 0 if failure is not None else len(signals)
        self._result.outcome = DISTILLED if failure is None else self._verdict(signals, failure)[1]

    async def _mark(
        self,
        tx: Tx,
        signals: Sequence[Signal],
        status: str,
        problem: str | None,
        *,
        counts: bool = True,
        due_at: Instant | None = None,
    ) -> None:
        """Exactly these, and only if all of them still wait: what somebody deleted meanwhile is not learned."""
        ids, tenant = [one.id for one in signals], self._claim.scope.tenant_id
        if await tx.signals.mark(tenant, ids, status, problem, counts=counts, due_at=due_at) != len(ids):
            raise LostClaim(self._claim.name)


def _later(now: Instant, tried: int) -> Instant:
    return instant(moment(now) + SETTLE * min(_SLOWER**tried, _SLOWER**2))


def _usable(made: Distilled) -> Distilled:
    """An answer that cannot be used is the end of it: the same question would hardly bring a better one."""
    return replace(made, outcome=NO_EPISODE, commit=None) if isinstance(made.error, BadModelOutput) else made


def _unmade(made: Distilled) -> Failure:
    """Why a session was not distilled."""
    if made.error is not None:
        return failure_of(made.error)
    return Failure(made.outcome, made.outcome, counts=not made.outcome.startswith("skipped:"))
