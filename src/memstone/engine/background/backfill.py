"""``backfill``: learn from chats from before Memstone was used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sized
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from memstone.core.checks.filters import where_current, where_in_scope
from memstone.engine.background.jobs import FORMING
from memstone.engine.background.sessions import SessionRequest, filter_spoken_turns, ingest_session
from memstone.engine.request_scope import report_progress
from memstone.engine.runtime import Runtime
from memstone.errors import InvalidInput, MemstoneError, StorageError
from memstone.model.memory import Layer
from memstone.model.query import And, Condition, Op
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx

if TYPE_CHECKING:
    from memstone.results import BackfillItem, BackfillResult

MayStop: TypeAlias = Callable[[int, int], object]
"""Called with how many are done and how many there are; ``False`` ends it."""

_RUN: Final = ("run_id", "conversation_id", "session_id", "id")
_TURNS: Final = ("turns", "messages")
_TIME: Final = ("occurred_at", "date", "session_date", "created_at")
_WHO: Final = ("user_id", "agent_id")
_FIELDS: Final = frozenset({*_RUN, *_TURNS, *_TIME, *_WHO, "title"})


async def backfill_conversations(
    runtime: Runtime, conversations: Iterable[Mapping[str, Any]], values: Mapping[str, Any], progress: MayStop | None
) -> BackfillResult:
    """Ingest one conversation after the other, each in a transaction of its own; what is known is left alone."""
    if isinstance(conversations, (str, bytes, Mapping)) or not isinstance(conversations, Iterable):
        raise InvalidInput(f"conversations must be a list, not {type(conversations).__name__}")
    runtime.scope(values)  # whoever is named wrongly is so for all of them
    total = len(conversations) if isinstance(conversations, Sized) else 0
    counts, results, stopped = Counter[str](), list["BackfillItem"](), False
    for done, item in enumerate(conversations, 1):
        result = await _ingest_conversation(runtime, item, values, done - 1)
        counts[result["status"]] += 1
        results.append(result)
        if await report_progress(progress, done, total) is False:
            stopped = done != total
            break
    known, failed = counts.pop("known", 0), counts.pop("error", 0)
    return {"ingested": counts.total(), "known": known, "failed": failed, "cancelled": stopped, "results": results}


async def _ingest_conversation(
    runtime: Runtime, item: Mapping[str, Any], values: Mapping[str, Any], at: int
) -> BackfillItem:
    """Return a conversation that is wrong has its own error and does not hold the others up."""
    run = _first_value(item, _RUN) if isinstance(item, Mapping) else None
    try:
        request = _build_request(item, values, at)
        scope = runtime.scope({name: getattr(request, name) for name in (*_WHO, "run_id")})
        if await runtime.ledger.read(lambda tx: _is_known(tx, scope)):
            return {"run_id": scope.run_id, "status": "known"}
        return {"run_id": scope.run_id, **await ingest_session(runtime, request)}
    except StorageError:  # it is not about this one
        raise
    except MemstoneError as error:
        return {"run_id": _replace_surrogates(run), "status": "error", "error": error.as_dict()}


def _replace_surrogates(run: Any) -> Any:
    """Return an id as it was given, with a mark in place of half characters, which no answer can carry."""
    return run.encode("utf-8", "replace").decode() if isinstance(run, str) else run


def _build_request(item: object, values: Mapping[str, Any], at: int) -> SessionRequest:
    if not isinstance(item, Mapping):
        raise InvalidInput(f"conversations[{at}] must be a mapping, not {type(item).__name__}")
    unknown = set(item) - _FIELDS
    if unknown:
        raise InvalidInput(f"conversations[{at}] has an unknown field: {', '.join(sorted(map(str, unknown)))}")
    turns = _first_value(item, _TURNS)
    if not isinstance(turns, Iterable) or isinstance(turns, (str, bytes, Mapping)):
        raise InvalidInput(f"conversations[{at}] has no turns", hint="give a list of messages or of pairs")
    user_id, agent_id = (values.get(name) if item.get(name) is None else item[name] for name in _WHO)
    return SessionRequest(
        filter_spoken_turns(list(turns)), user_id, agent_id, _first_value(item, _RUN), _first_value(item, _TIME)
    )


def _first_value(item: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((item[name] for name in names if item.get(name) is not None), None)


async def _is_known(tx: Tx, scope: Scope) -> bool:
    """Return whether a conversation was distilled, or waits for it."""
    if await tx.signals.is_known(scope):
        return True
    for task in FORMING:
        if await tx.jobs.find(scope, task=task, limit=1):
            return True
    episodes = And((where_in_scope(scope), Condition("layer", Op.EQ, str(Layer.EPISODE)), where_current()))
    return bool(await tx.memories.find(episodes, limit=1))
